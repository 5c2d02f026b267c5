"""D2 to D5: when arguments are the same."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import sys
import uuid
from collections import OrderedDict, UserList, deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel, SecretStr
from repeatguard_core import canonical_arguments
from repeatguard_core._canonical import digest_of_call

from tests.core.json_values import Value, any_value, changed_somewhere, same_value, spelling


def same(left: object, right: object) -> bool:
    """Tell whether arguments are the same, by their canonical forms and by what the chain compares."""
    forms = [canonical_arguments(each) for each in (left, right)]
    texts = [each if isinstance(each, str) else form for each, form in zip((left, right), forms, strict=True)]
    are_same = forms[0] == forms[1]
    assert (digest_of_call("tool", texts[0]) == digest_of_call("tool", texts[1])) == are_same
    return are_same


ZEROS = "0" * 30

SAME = [
    pytest.param('{"b": 1, "a": {"d": 2, "c": 3}}', '{"a":{"c":3,"d":2},"b":1}', id="keys are sorted at every depth"),
    pytest.param('{"a": 1}', '{"a": 1.0}', id="1 is 1.0"),
    pytest.param('{"a": 1}', '{"a": 1e0}', id="1 is 1e0"),
    pytest.param('{"a": 1}', '{"a": 10e-1}', id="1 is 10e-1"),
    pytest.param('{"a": 0}', '{"a": -0}', id="0 is -0"),
    pytest.param('{"a": 0}', '{"a": -0.0}', id="0 is -0.0"),
    pytest.param('{"a": 0}', '{"a": 0e999}', id="0 is 0e999"),
    pytest.param('{"a": 0.1}', '{"a": 1E-1}', id="0.1 is 1E-1"),
    pytest.param('{"a": 0.10}', {"a": 0.1}, id="0.10 is the float 0.1"),
    pytest.param(f'["{ZEROS}", 1.50]', rf'["\u0030{ZEROS[1:]}", 1.5]', id="a string of many zeros"),
    pytest.param('{"a": {"b": 1, "b": [2]}}', '{"a": {"b": [2]}}', id="a key that is there twice, inside"),
    pytest.param("[1e30]", "[1" + "0" * 30 + "]", id="1e30 is exactly a one with thirty zeros"),
    pytest.param("[9007199254740993.0]", "[9007199254740993]", id="an integer beyond a float's precision, with .0"),
    pytest.param("[1e400]", "[10e399]", id="numbers beyond a float's range"),
    pytest.param("[1" + "0" * 5000 + "]", "[1e5000]", id="a 5,001-digit integer"),
    pytest.param("[1" + "0" * 5000 + "]", [10**5000], id="a 5,001-digit integer as a Python int"),
    pytest.param(r'{"a": "\u00e9\n"}', '{"a": "é\\n"}', id="escapes are decoded"),
    pytest.param('{"a": 1, "a": 2}', '{"a": 2}', id="of a key that is there twice, the last counts"),
    pytest.param(' {"a": 1}\n', '{"a": 1}', id="white space around JSON"),
    pytest.param("[NaN, Infinity]", [float("nan"), float("inf")], id="NaN equals NaN"),
    pytest.param("  ls -la\n", "ls -la", id="text that is not JSON is trimmed"),
    pytest.param({"a": (1, 2)}, '{"a": [1, 2]}', id="a tuple is a list"),
    pytest.param(OrderedDict(b=1, a=2), '{"a": 2, "b": 1}', id="a mapping is an object"),
    pytest.param({1: "x", None: "y"}, '{"1": "x", "null": "y"}', id="keys are strings"),
    pytest.param([frozenset([0, 8, 16])], [frozenset([16, 8, 0])], id="a set has no order"),
]

DIFFERENT = [
    pytest.param('{"a": 1}', '{"a": true}', id="1 is not true"),
    pytest.param('{"a": 0}', '{"a": false}', id="0 is not false"),
    pytest.param('{"a": 1}', '{"a": "1"}', id='1 is not "1"'),
    pytest.param('{"a": null}', "{}", id="null is not a missing key"),
    pytest.param('{"a": [1, 2]}', '{"a": [2, 1]}', id="the order of a list counts"),
    pytest.param('{"a": "x"}', '{"a": " x"}', id="no trimming inside strings"),
    pytest.param('{"a": "x"}', '{"a": "X"}', id="no case folding"),
    pytest.param('{"a": "\u00e9"}', '{"a": "e\u0301"}', id="no Unicode normalisation"),
    pytest.param("[12345678901234567890]", "[12345678901234567891]", id="integers beyond 64 bits"),
    pytest.param("[9007199254740993.0]", "[9007199254740992.0]", id="numbers that are one float"),
    pytest.param("[0.1]", "[0.1000000000000000055511151231257827]", id="fractions that are one float"),
    pytest.param("[1e400]", "[1e401]", id="numbers beyond a float's range"),
    pytest.param("[1e-400]", "[0]", id="a number too small for a float"),
    pytest.param("[1e400]", "[Infinity]", id="a huge number is not infinity"),
    pytest.param("[" * 3000 + "1" + "]" * 3000, "[" * 3000 + "2" + "]" * 3000, id="3,000 brackets"),
    pytest.param("[1e400]", '["1e400"]', id="a huge number is not its spelling"),
    pytest.param("[[]]", "[{}]", id="an empty list is not an empty object"),
    pytest.param("[]", "{}", id="an empty list is not no arguments"),
    pytest.param('""', "", id="an empty JSON string is not no arguments"),
    pytest.param("\u00a0[1]", "[1]", id="text that only trimming turns into JSON"),
    pytest.param([UserList([1, 2])], ["[1, 2]"], id="an object is not its description"),
    pytest.param({"a": frozenset({"1"})}, {"a": frozenset({1})}, id="members of a set"),
    pytest.param("{'a': 1}", '{"a": 1}', id="text that is not JSON equals no JSON"),
    pytest.param('{"a": 1', '{"a": 1}', id="JSON that was cut off"),
]


@pytest.mark.rules("D2", "D4", "D5")
@pytest.mark.parametrize(("left", "right"), SAME)
def test_same(left: object, right: object) -> None:
    """Arguments that mean the same have the same canonical form."""
    assert same(left, right)


@pytest.mark.rules("D2", "D4")
@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different(left: object, right: object) -> None:
    """Arguments that differ have different canonical forms."""
    assert not same(left, right)


@pytest.mark.rules("D3")
@pytest.mark.parametrize("nothing", [None, "", " \n\t", "null", " null ", "{}", "{ }", {}, MappingProxyType({})])
def test_all_ways_to_pass_no_arguments_are_one(nothing: object) -> None:
    """A tool without parameters is called in many spellings, and they are one and the same call."""
    assert canonical_arguments(nothing) == "{}"
    assert same(nothing, None)


@pytest.mark.rules("D2", "D5")
@given(any_value, st.data())
def test_equal_values_are_equal_in_any_spelling(value: Value, data: st.DataObject) -> None:
    """Key order, white space, escapes and the spelling of numbers never make a difference."""
    first, second = data.draw(spelling(value)), data.draw(spelling(value))
    assert same(f"[{first}]", f"[{second}]")


@pytest.mark.rules("D2")
@given(any_value, st.data())
def test_different_values_are_different(value: Value, data: st.DataObject) -> None:
    """A change anywhere in a value always makes a difference."""
    other = data.draw(changed_somewhere(value))
    first, second = data.draw(spelling(value)), data.draw(spelling(other))
    assert same(f"[{first}]", f"[{second}]") == same_value(value, other)


json_objects: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.rules("D5")
@given(json_objects)
@example([1e16, 1e22, 1e23, 2.0**80, 5e-324, -0.0, 1.7976931348623157e308])
def test_text_and_the_equal_object_are_the_same(value: Any) -> None:
    """An adapter may hand over the JSON text or the decoded object."""
    assert same(json.dumps([value]), [value])


@pytest.mark.rules("D2", "D5")
@given(json_objects.filter(lambda value: value is not None))
def test_the_canonical_form_of_json_is_json_that_stands_for_itself(value: Any) -> None:
    """What the model reads in a reminder is its own call, and canonical already."""
    canonical = canonical_arguments(json.dumps(value))
    assert same(canonical, json.dumps(value))


@pytest.mark.rules("D4")
@given(st.text())
def test_any_text_has_a_form_and_white_space_around_it_never_counts(text: str) -> None:
    """Text is compared trimmed, JSON or not."""
    assert same(f"\n {text}\t", text)


@pytest.mark.rules("D4")
@given(st.text(), json_objects)
def test_text_that_is_not_json_never_equals_json(text: str, value: Any) -> None:
    """Broken arguments can form a chain of their own, but never join that of valid ones."""
    try:
        json.loads(text.strip() or "null")
    except ValueError:
        assert not same(text, json.dumps(value))


@pytest.mark.rules("D1")
def test_a_digest_tells_tools_apart() -> None:
    """Wherever the name ends and the arguments begin."""
    calls = [("tool", "{}"), ("tool{}", ""), ("t", '"ool"'), ("", "tool"), ("tool", "tool"), ("tooltool", "")]
    assert len({digest_of_call(*call) for call in calls}) == len(calls)


HUGE = [
    pytest.param("[" * 100_000, id="100,000 brackets"),
    pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="100,000 objects, one in the other"),
    pytest.param("[" * 100_000 + "9" * 5_000, id="100,000 brackets and an integer of 5,000 digits"),
    pytest.param("[" + "9" * 5_000 + "]", id="an integer of 5,000 digits"),
    pytest.param("[1e" + "9" * 30 + "]", id="an exponent beyond any decimal"),
    pytest.param("[1." + "1" * 5_000 + "]", id="5,000 decimals"),
    pytest.param('"' + "x" * 10_000_000 + '"', id="10 MB of text"),
    pytest.param('"\ud800"', id="a lone surrogate"),
    pytest.param(r'{"\ud800": "\udfff"}', id="escaped lone surrogates"),
    pytest.param("\ud800", id="a lone surrogate that is not JSON"),
    pytest.param("\x00", id="a null character"),
]


@pytest.mark.rules("D4", "D5")
@pytest.mark.parametrize("text", HUGE)
def test_no_text_is_too_much(text: str) -> None:
    """Whatever a model writes has a stable form, and differs from the same with one character more."""
    assert same(text, text)
    assert not same(text, f"{text}x")


def _deep_list() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def _cycle() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    value["self"] = [value]
    return value


class Colour(enum.Enum):
    """An enumeration."""

    RED = "red"


class Level(enum.IntEnum):
    """An enumeration of integers."""

    LOW = 1


class Kind(str, enum.Enum):
    """An enumeration of strings."""

    SMALL = "small"


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: int
    y: Any = None


class Query(BaseModel):
    """A model."""

    text: str
    limits: set[int] = {1, 2}


class Texts(RootModel[list[str]]):
    """A model that iterates over what it holds."""

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return iter(self.root)


class Plain:
    """An object without a repr of its own."""

    def __init__(self, x: int) -> None:
        self.x = x


class Hostile:
    """An object that cannot even be printed."""

    def __repr__(self) -> str:
        msg = "no"
        raise RuntimeError(msg)


class Nameless:
    """An object that does not even say what it is."""

    @property  # type: ignore[misc]  # nobody should do that
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        msg = "no"
        raise RuntimeError(msg)


class HostileMapping(dict[str, int]):
    """A mapping that cannot be read."""

    def items(self) -> Any:
        msg = "no"
        raise RuntimeError(msg)


ODD_OBJECTS = [
    pytest.param(_deep_list, id="lists nested 100,000 deep"),
    pytest.param(_cycle, id="a cycle"),
    pytest.param(lambda: {1: "a", "1": "b", None: "c", (1, 2): "d", 2.5: "e"}, id="keys of mixed types"),
    pytest.param(lambda: {"a": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)}, id="a date"),
    pytest.param(lambda: {"a": b"\xff\x00"}, id="bytes that are not UTF-8"),
    pytest.param(lambda: {"a": b"abc"}, id="bytes that are UTF-8"),
    pytest.param(lambda: {"a": {"x", "y", frozenset({"z"})}}, id="sets"),
    pytest.param(lambda: {"a": Colour.RED, "b": Level.LOW, Kind.SMALL: Kind.SMALL}, id="enumerations"),
    pytest.param(lambda: {"a": Point(1, Point(2, 3)), "b": Point}, id="dataclasses"),
    pytest.param(lambda: {"a": Query(text="x")}, id="a model"),
    pytest.param(lambda: {"a": SecretStr("x")}, id="a type of pydantic's"),
    pytest.param(lambda: {"a": Texts(["ab"])}, id="a model around a list"),
    pytest.param(lambda: {"a": Plain(1)}, id="an object without a repr"),
    pytest.param(lambda: {"a": 1, "b": HostileMapping(c=1)}, id="a mapping that cannot be read, inside another"),
    pytest.param(lambda: {"a": uuid.UUID(int=1), "b": PurePosixPath("/x")}, id="a UUID and a path"),
    pytest.param(lambda: {"a": decimal.Decimal("1.50"), "b": decimal.Decimal("NaN")}, id="decimals"),
    pytest.param(lambda: {"a": deque([1, 2])}, id="a deque"),
    pytest.param(lambda: {"a": "\ud800", "\udfff": 1}, id="lone surrogates"),
    pytest.param(lambda: [float("nan"), float("-inf")], id="numbers that JSON lacks"),
    pytest.param(lambda: 3, id="a bare number"),
]


@pytest.mark.rules("D5")
@pytest.mark.parametrize("make", ODD_OBJECTS)
def test_values_that_json_does_not_know_are_stable(make: Any) -> None:
    """Two equal values have the same form, whatever they are made of."""
    assert canonical_arguments(make()) == canonical_arguments(make())


@pytest.mark.rules("D5")
@pytest.mark.parametrize(
    "value",
    [
        Hostile(),
        HostileMapping(a=1),
        {"a": Hostile()},
        {"a": object()},
        {"a": lambda: None},
        {"a": sys},
        (Hostile(),),
    ],
)
def test_any_object_has_a_form(value: object) -> None:
    """Nothing raises, and the same object has the same form each time."""
    assert canonical_arguments(value) == canonical_arguments(value)


@pytest.mark.rules("D5")
def test_an_object_that_does_not_say_what_it_is() -> None:
    """Not even looking at its type is safe."""
    value = Nameless()
    assert canonical_arguments(value) == canonical_arguments(value)


@pytest.mark.rules("D5")
def test_values_that_differ_inside_odd_objects_differ() -> None:
    """A model, a dataclass and an enumeration are looked into."""
    assert canonical_arguments({"a": Query(text="x")}) != canonical_arguments({"a": Query(text="y")})
    assert canonical_arguments({"a": Point(1)}) != canonical_arguments({"a": Point(2)})
    assert canonical_arguments({"a": Plain(1)}) != canonical_arguments({"a": Plain(2)})
    assert canonical_arguments({"a": Texts(["ab"])}) != canonical_arguments({"a": Texts(["a", "b"])})
    assert canonical_arguments({"a": Colour.RED}) == canonical_arguments('{"a": "red"}')
    assert canonical_arguments({"a": Level.LOW}) == canonical_arguments('{"a": 1}')
    assert canonical_arguments({"a": decimal.Decimal("1.50")}) == canonical_arguments('{"a": 1.5}')


@pytest.mark.rules("D5", "S1")
def test_an_iterator_is_left_alone() -> None:
    """Looking at a call's arguments never uses them up."""

    def numbers() -> Iterator[int]:
        yield 1

    iterator = numbers()
    canonical_arguments({"a": iterator})
    assert next(iterator) == 1


@pytest.mark.rules("D5")
def test_a_value_that_is_there_twice_is_no_cycle() -> None:
    """Only a value inside itself is a cycle."""
    shared = [1]
    assert canonical_arguments({"a": shared, "b": [shared]}) == '{"a":[1],"b":[[1]]}'


@pytest.mark.rules("D2")
@given(st.fractions(), st.fractions())
def test_numbers_go_by_their_value(left: Fraction, right: Fraction) -> None:
    """Two decimal numbers have the same form exactly if they are the same number."""
    spelled = [f"[{fraction.numerator}e-{fraction.denominator % 50}]" for fraction in (left, right)]
    values = [Fraction(text.strip("[]")) for text in spelled]
    assert same(*spelled) == (values[0] == values[1])


@pytest.mark.rules("D2")
@pytest.mark.parametrize("limit", [700, 0])
def test_the_form_does_not_depend_on_the_limit_for_integers(limit: int) -> None:
    """A program may change the interpreter's limit for integers; then numbers are no less exact."""
    text = "[" + "7" * 5_000 + ", 1e2000, 1" + "0" * 2_000 + "]"
    before = canonical_arguments(text)
    usual = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(limit)
    try:
        assert canonical_arguments(text) == before
    finally:
        sys.set_int_max_str_digits(usual)


@pytest.mark.rules("D2")
def test_the_form_is_not_much_longer_than_the_text() -> None:
    """A short literal may stand for a number of thousands of digits."""
    assert canonical_arguments("[1e4000,1e-4000]") == "[1e4000,1e-4000]"
    assert canonical_arguments("[1e20]") == "[100000000000000000000]"


@pytest.mark.rules("D2", "D4")
def test_the_form_does_not_depend_on_the_callers_stack() -> None:
    """The same text has the same form wherever the caller is, up to the depth that the parser can take."""
    text = '{"b":' * 400 + "1" + ',"a":2}' * 400

    def from_depth(depth: int) -> str:
        return from_depth(depth - 1) if depth else canonical_arguments(text)

    def digest_from_depth(depth: int) -> str:
        return digest_from_depth(depth - 1) if depth else digest_of_call("tool", text)

    assert from_depth(700) == canonical_arguments(text)
    assert digest_from_depth(700) == digest_of_call("tool", text)


@pytest.mark.rules("D2", "D4")
def test_what_is_deeper_than_usual_is_compared_by_meaning_where_the_parser_can_read_it() -> None:
    """Some interpreters and programs allow for more depth than others."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        json.loads("[" * 2_500 + "]" * 2_500)
        assert same("[" * 2_500 + "1.0" + "]" * 2_500, "[" * 2_500 + " 1" + "]" * 2_500)
        assert not same("[" * 2_500 + "1" + "]" * 2_500, "[" * 2_500 + "2" + "]" * 2_500)
    except RecursionError:
        pytest.skip("this interpreter's parser does not go so deep")
    finally:
        sys.setrecursionlimit(usual)


@pytest.mark.rules("D5")
def test_a_value_that_shares_its_parts_over_and_over_is_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty lists, each holding the one before twice, are a thousand million."""
    monkeypatch.setattr("repeatguard_core._canonical._MAX_PIECES", 10_000)
    value: list[Any] = []
    for _ in range(30):
        value = [value, value]
    assert canonical_arguments(value) == canonical_arguments(value)


@pytest.mark.rules("D5")
def test_a_text_of_a_class_of_its_own_is_text() -> None:
    """Whatever its methods do."""

    class Text(str):
        __slots__ = ()

        def strip(self, chars: str | None = None, /) -> str:
            raise RuntimeError(chars)

    assert canonical_arguments(Text(' {"a": "é"} ')) == '{"a":"é"}'


@pytest.mark.rules("D4")
@pytest.mark.parametrize("json_text", ["1", "9" * 5_000, "1e5000", "[1]"], ids=len)
def test_text_that_only_trimming_would_make_json_is_not_that_json(json_text: str) -> None:
    """A number that Python cannot hold is JSON as well."""
    no_json = f"\u00a0{json_text}"
    assert canonical_arguments(no_json) != canonical_arguments(json_text)
    assert digest_of_call("search", no_json) != digest_of_call("search", json_text)
