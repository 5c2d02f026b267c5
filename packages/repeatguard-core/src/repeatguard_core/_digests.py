"""Digests: enough to tell texts and calls apart, and nothing of what they say."""

from __future__ import annotations

import hashlib
import json
import marshal
from operator import itemgetter
from typing import Any, Final

from repeatguard_core._arguments import canonical_arguments
from repeatguard_core._numbers import TOO_MANY_ZEROS, number_of
from repeatguard_core._texts import JSON_SPACE, means_nothing, not_json, on_a_deep_stack

__all__ = ["digest_of", "digest_of_call"]

#: In hexadecimal digits; enough that two different texts never share a digest.
_LENGTH: Final = 32
#: The version of the format that spells a value the same whoever else holds it.
_PLAIN: Final = 2

_KEY: Final = itemgetter(0)


def digest_of(text: str) -> str:
    """Give a text's digest.

    Args:
        text: Any text, lone surrogates included.
    """
    return _hexadecimal(_encoded(text))


def digest_of_call(tool_name: str, arguments: str) -> str:
    """Give a call's digest. Two calls share one exactly if their tools and canonical arguments are the same.

    To decode arguments takes a third of the time that it takes to write them anew, and most calls
    are never quoted.

    Args:
        tool_name: The tool's name.
        arguments: JSON text, or any other, as `canonical_arguments` takes it.

    Fulfils D2, D3, D4 and D5.
    """
    return _hexadecimal(_packed(arguments) + _encoded(tool_name))  # what is packed says itself where it ends


def _packed(arguments: str) -> bytes:
    try:
        return marshal.dumps(_meaning(arguments.strip(JSON_SPACE)), _PLAIN)
    except ValueError:  # deeper than that can go
        return marshal.dumps(_encoded(canonical_arguments(arguments)), _PLAIN)


def _meaning(text: str) -> Any:
    """Decode arguments so that equal ones are the same down to their types; of what is not JSON, give bytes."""
    if means_nothing(text):
        return {}
    try:
        return on_a_deep_stack(_decoded, text)
    except RecursionError:
        return _encoded(text)


def _decoded(text: str) -> object:
    try:
        if TOO_MANY_ZEROS not in text:
            return _decode(_DECODER, text)
    except json.JSONDecodeError:
        return _encoded(not_json(text))
    except ValueError:
        pass
    try:
        return _decode(_EXACT_DECODER, text)
    except ValueError:
        return _encoded(not_json(text))


def _decode(decoder: json.JSONDecoder, text: str) -> object:
    meaning, end = decoder.raw_decode(text)
    if end != len(text):
        msg = "more than one value"
        raise json.JSONDecodeError(msg, text, end)
    return meaning


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return dict(sorted(pairs, key=_KEY))


_DECODER: Final = json.JSONDecoder(parse_float=number_of, object_pairs_hook=_members)
_EXACT_DECODER: Final = json.JSONDecoder(parse_float=number_of, parse_int=number_of, object_pairs_hook=_members)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hexadecimal(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_LENGTH]
