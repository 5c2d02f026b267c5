"""What stands behind what in the contents of a request to Google's models.

Gemini's API and Vertex AI differ: only the latter is reported to refuse a content with responses
and anything else in it. The strict one is imitated, and so are the models that want the last
content to be the user's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NoReturn

from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from tests.wire.shapes import Refusal

__all__ = ["check_contents"]

#: What a part can be; the other fields of a part say more about it.
_KINDS: Final = (
    "text",
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)


def check_contents(contents: Sequence[Content]) -> None:
    """Check the `contents` of a request.

    Raises:
        Refusal: A content is of no known role, or has no parts, or a part that is not one thing; the
            user's do not begin and end them; a content with calls is not answered by the next one,
            with as many responses of the same names and nothing else, or responses stand elsewhere.
    """
    if not contents:
        _refuse("There has to be a content.", "contents")
    asked: list[FunctionCall] = []
    for index, content in enumerate(contents):
        place = f"contents[{index}]"
        role, parts = content.role or "user", content.parts or []
        _check_content(role, parts, place)
        _check_responses(asked, parts, place)
        asked = [part.function_call for part in parts if part.function_call]
        if asked and index and contents[index - 1].role == "model":
            _refuse("Calls have to stand behind a content of the user's.", place)
    _check_responses(asked, (), "contents")
    if contents[0].role == "model" or contents[-1].role == "model":
        _refuse("The first and the last content have to be the user's.", "contents")


def _check_content(role: str, parts: Sequence[Part], place: str) -> None:
    if role not in {"user", "model"}:
        _refuse(f"There is no role {role!r}, only 'user' and 'model'.", f"{place}.role")
    if not parts:
        _refuse("A content must have parts.", f"{place}.parts")
    for index, part in enumerate(parts):
        where = f"{place}.parts[{index}]"
        # Some releases of the client lack some kinds.
        kinds = [kind for kind in _KINDS if getattr(part, kind, None) is not None]
        if len(kinds) != 1:
            _refuse(f"A part has to be one thing; this one is: {', '.join(kinds) or 'nothing'}.", where)
        if {"function_call": "model", "function_response": "user"}.get(kinds[0], role) != role:
            _refuse(f"A part with a {kinds[0]} is no part of the role '{role}'.", where)


def _check_responses(asked: Sequence[FunctionCall], parts: Sequence[Part], place: str) -> None:
    """Hold a content to the calls of the content before it."""
    given = [part.function_response for part in parts if part.function_response]
    if len(given) != len(asked):
        message = f"There are {len(asked)} calls in the content before, and {len(given)} responses."
        _refuse(message, place)
    if given and len(given) < len(parts):
        _refuse("A content with responses must have no other parts.", place)
    if _names(given) != _names(asked):
        _refuse("The responses have other names than the calls.", place)
    if all(call.id for call in asked) and _ids(given) != _ids(asked):
        _refuse("The responses have other ids than the calls.", place)
    if max(_ids(asked).values(), default=0) > 1:
        _refuse("Two calls have the same id.", place)


def _names(called: Sequence[FunctionCall | FunctionResponse]) -> Counter[str | None]:
    return Counter(each.name for each in called)


def _ids(called: Sequence[FunctionCall | FunctionResponse]) -> Counter[str]:
    return Counter(each.id for each in called if each.id)


def _refuse(message: str, place: str) -> NoReturn:
    raise Refusal(message, place)
