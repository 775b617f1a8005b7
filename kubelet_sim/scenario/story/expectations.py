"""Whether what came is what a story expects.

Lists are bags: the order of ids, entries and names is nobody's promise. Two are not: calls and notifications of a plugin came
one after the other, and the members of a list inside a list (`[container path, host path, read only]`) have their places.

A mapping whose keys are all words of a matcher (`contains`, `matches`, …) is one: it says in another way what is expected,
and if it has several words, all of them have to hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.values import Schema, ValueKind

_TEXTS = ("message", "error")
"""Where `...` stands for any text."""
_IN_ORDER = ("calls", "notified", "records", "lines")
CLOCKS = ("real", "node")
KINDS: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "text": lambda came: isinstance(came, str),
        "number": lambda came: isinstance(came, int | float) and not isinstance(came, bool),
        "truth": lambda came: isinstance(came, bool),
        "list": lambda came: isinstance(came, list | tuple),
        "mapping": lambda came: isinstance(came, Mapping),
    }
)
"""What `{any: KIND}` may ask for."""


@frozen
class Patience:
    """How long what is expected may take to come."""

    within_s: float
    clock: str = "real"
    """`real`, or `node`: its time is moved on until it has come."""


def matches(expected: Any, came: Any) -> bool:
    """Whether it fits as a whole: what is not expected must not come."""
    return _fits(expected, came, key="")


def patience(expected: Any) -> tuple[Patience | None, Any]:
    """How long to wait, and what is expected apart from that. Raises `UsageError`."""
    if not isinstance(expected, Mapping) or "within" not in expected:
        return None, expected
    rest = dict(expected)
    try:
        waits = Patience(values.seconds(rest.pop("within")), values.one_of(CLOCKS)(rest.pop("clock", "real")))
    except UsageError as error:
        raise values.inside(error, "within", f"within: {error}") from error
    return waits, rest


def check(expected: Any) -> None:
    """Look for matchers that are none. Raises `UsageError`."""
    match expected:
        case Mapping() if is_matcher(expected):
            for word, operand in expected.items():
                try:
                    MATCHERS[word].operand(operand)
                except _Operand as error:
                    raise _Operand(f"{word}: {error}", (word, *error.way)) from error
                except UsageError as error:
                    raise _Operand(f"{word}: {error}; write exactly: if that is a name", (word,)) from error
        case Mapping():
            for name, item in expected.items():
                _check_at(name, item)
        case list() | tuple():
            for at, item in enumerate(expected):
                _check_at(at, item)


def _check_at(part: str | int, item: Any) -> None:
    try:
        check(item)
    except _Operand as error:
        raise _Operand(str(error), (part, *error.way)) from error


class _Operand(values.Misplaced):
    """What a matcher's word is given makes no sense."""


def is_matcher(expected: Any) -> bool:
    """Whether it is a mapping of a matcher's words, and nothing else."""
    return isinstance(expected, Mapping) and bool(expected) and expected.keys() <= MATCHERS.keys()


def _fits(expected: Any, came: Any, key: str) -> bool:
    match expected:
        case Mapping() if is_matcher(expected):
            return all(MATCHERS[word].fits(operand, came, key) for word, operand in expected.items())
        case Mapping():
            return _fits_mapping(expected, came)
        case str() if key in _TEXTS and isinstance(came, str):
            return text_matches(expected, came)
        case str():
            return isinstance(came, str) and expected == came
        case Sequence():
            if not isinstance(came, Sequence) or isinstance(came, str) or len(expected) != len(came):
                return False
            if key in _IN_ORDER:
                return all(_fits(one, other, "") for one, other in zip(expected, came, strict=True))
            return _same_bag(expected, came)
        case bool() | None:
            return expected is came
        case _:
            return not isinstance(came, bool) and bool(expected == came)


def _fits_mapping(expected: Mapping[str, Any], came: Any) -> bool:
    if not isinstance(came, Mapping):
        return False
    wanted = {name: item for name, item in expected.items() if not _is_absent(item)}
    return wanted.keys() == came.keys() and all(_fits(item, came[name], name) for name, item in wanted.items())


def _is_absent(expected: Any) -> bool:
    return bool(expected == {"absent": True})


def text_matches(pattern: str, text: str) -> bool:
    """Whether the text is the pattern, where each `...` stands for anything, nothing included."""
    parts = (re.escape(part) for part in pattern.split("..."))
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None


def _same_bag(expected: Sequence[Any], came: Sequence[Any]) -> bool:
    left = _without(came, expected, _fits_in_bag)
    return left is not None and not left


def _without(came: Sequence[Any], expected: Sequence[Any], fits: Callable[[Any, Any], bool]) -> list[Any] | None:
    """What is left of `came` when each expected item has found one of its own; `None` if one has not.

    Plain items come first: a matcher must not take what a plain one needs.
    """
    left = list(came)
    for item in sorted(expected, key=is_matcher):
        found = next((at for at, other in enumerate(left) if fits(item, other)), None)
        if found is None:
            return None
        del left[found]
    return left


def _fits_in_bag(expected: Any, came: Any) -> bool:
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        if not isinstance(came, Sequence) or isinstance(came, str) or len(expected) != len(came):
            return False
        return all(_fits_member(one, other) for one, other in zip(expected, came, strict=True))
    return _fits(expected, came, "")


def _fits_member(expected: Any, came: Any) -> bool:
    return _fits(expected, came, "") if is_matcher(expected) else bool(expected == came)


# ----------------------------------------------------------------------------------------------------------- matchers


def _contains(expected: Any, came: Any, key: str) -> bool:
    match expected:
        case str():
            return isinstance(came, str) and expected in came
        case Mapping():
            return isinstance(came, Mapping) and all(
                name not in came if _is_absent(item) else name in came and _is_part(item, came[name], name)
                for name, item in expected.items()
            )
        case _:
            if not isinstance(came, Sequence) or isinstance(came, str):
                return False
            if key in _IN_ORDER:
                rest = iter(came)
                return all(any(_is_part(item, other, "") for other in rest) for item in expected)
            return _without(came, expected, lambda item, other: _is_part(item, other, "")) is not None


def _is_part(expected: Any, came: Any, key: str) -> bool:
    """Whether it fits as `_fits` says, but a mapping may have further keys."""
    if isinstance(expected, Mapping) and not is_matcher(expected):
        return _contains(expected, came, key)
    if isinstance(expected, list | tuple) and not key:
        return _fits_in_bag(expected, came)
    return _fits(expected, came, key)


def _exactly(expected: Any, came: Any, _: str) -> bool:
    """Whether both are the same, without matchers; JSON has no other equality than this."""
    if isinstance(expected, Mapping):
        return (
            isinstance(came, Mapping)
            and expected.keys() == came.keys()
            and all(_exactly(item, came[name], "") for name, item in expected.items())
        )
    return _fits(expected, came, "")


def _in_order(expected: Any, came: Any, _: str) -> bool:
    return _fits(expected, came, _IN_ORDER[0])


@values.kind({"type": ["string", "object", "array"]})
def _part(value: Any) -> None:
    if not isinstance(value, str | Mapping | list | tuple):
        raise UsageError(f"expected a part: a text, a mapping or a list, not {value!r}")
    check(value)


@values.kind(values.items.schema)
def _list(value: Any) -> None:
    check(values.items(value))


@values.kind({"type": "string", "format": "regex"})
def _regex(value: Any) -> None:
    try:
        re.compile(values.text(value))
    except re.error as error:
        raise UsageError(f"{value!r} is no regular expression: {error}") from error


@values.kind({"type": "number"})
def _number(value: Any) -> None:
    if not KINDS["number"](value):
        raise UsageError(f"expected a number, not {value!r}")


@values.kind({"type": "array", "minItems": 2, "maxItems": 2})
def _range(value: Any) -> None:
    match value:
        case [low, high] if KINDS["number"](low) and KINDS["number"](high) and low <= high:
            return
    raise UsageError(f"expected [lowest, highest], not {value!r}")


@values.kind({"const": True})
def _true(value: Any) -> None:
    if value is not True:
        raise UsageError(f"expected true, not {value!r}")


@values.kind({"enum": [True, *KINDS]})
def _kind(value: Any) -> None:
    if value is not True and not (isinstance(value, str) and value in KINDS):
        raise UsageError(f"expected true or one of {', '.join(KINDS)}, not {value!r}")


@frozen
class Matcher:
    """One word with which a story may say what it expects."""

    about: str
    fits: Callable[[Any, Any, str], bool]
    """Takes what the word is given, what came, and the key that it came under."""
    operand: ValueKind[None]
    """What the word may be given."""


_ANY_VALUE = ValueKind(check, {})
MATCHERS: Mapping[str, Matcher] = MappingProxyType(
    {
        "contains": Matcher(
            "A part: a mapping may have further keys, those in it likewise; a list further items; a text more around it.",
            _contains,
            _part,
        ),
        "unordered": Matcher("These items, in any order.", lambda expected, came, _: _fits(expected, came, ""), _list),
        "ordered": Matcher("These items, in this order.", _in_order, _list),
        "one-of": Matcher(
            "One of these.", lambda expected, came, key: any(_fits(each, came, key) for each in expected), _list
        ),
        "matches": Matcher(
            "A text in which the regular expression is found; `^` and `$` hold it at the ends.",
            lambda expected, came, _: isinstance(came, str) and re.search(expected, came) is not None,
            _regex,
        ),
        "between": Matcher(
            "A number from the first to the second, both included.",
            lambda expected, came, _: KINDS["number"](came) and expected[0] <= came <= expected[1],
            _range,
        ),
        "at-least": Matcher(
            "A number, this one or a greater one.",
            lambda expected, came, _: KINDS["number"](came) and came >= expected,
            _number,
        ),
        "at-most": Matcher(
            "A number, this one or a smaller one.",
            lambda expected, came, _: KINDS["number"](came) and came <= expected,
            _number,
        ),
        "not": Matcher("Anything but this.", lambda expected, came, key: not _fits(expected, came, key), _ANY_VALUE),
        "absent": Matcher("There is no such key.", lambda _, __, ___: False, _true),
        "any": Matcher(
            "Anything; with a kind (`text`, `number`, `truth`, `list`, `mapping`), of that.",
            lambda expected, came, _: expected is True or KINDS[expected](came),
            _kind,
        ),
        "exactly": Matcher("This, in which the words of matchers are names.", _exactly, ValueKind(lambda _: None, {})),
    }
)
"""Every word there is."""


def expectation_schema() -> Schema:
    """The JSON Schema of what a step may expect: anything, with a patience or without."""
    within = {
        "type": "object",
        "properties": {"within": values.or_variable(values.seconds.schema), "clock": {"enum": list(CLOCKS)}},
        "required": ["within"],
    }
    return {"anyOf": [within, {"$ref": "#/$defs/matcher"}, {}]}


def matcher_schema() -> Schema:
    """The JSON Schema of a matcher, which has one of its words at least."""
    words = {
        word: values.or_variable(each.operand.schema) | {"description": each.about} for word, each in MATCHERS.items()
    }
    return values.closed(words) | {"minProperties": 1}
