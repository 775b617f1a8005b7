from __future__ import annotations

import pytest
from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.records import read_by, record, spread


@frozen
class _Inner:
    depth: int = field(default=0, metadata=read_by(values.integer))


@frozen
class _Outer:
    name: str = field(metadata=read_by(values.text))
    wide_s: float = field(default=1.0, metadata=read_by(values.seconds, "wide"))
    inner: _Inner = field(default=_Inner(), metadata=spread(_Inner))
    unread: str = "left alone"


OUTER = record(_Outer, "the outer", "What it is.")


def test_a_record_is_read_from_its_keys() -> None:
    """A field has its own name as its key or another, and the keys of a record that is spread stand among the others."""
    assert OUTER({"name": "n", "wide": "2m", "depth": 3}) == _Outer("n", 120.0, _Inner(3))
    assert OUTER({"name": "n"}) == _Outer("n")


@pytest.mark.parametrize(
    "given, problem",
    [
        ({}, "the outer has no name"),
        ({"name": 1}, "name: expected text, not 1"),
        ({"name": "n", "unread": "u"}, "the outer has no key 'unread'; it may have: name, wide, depth"),
        ([], "expected a mapping for the outer, not []"),
    ],
)
def test_a_record_that_cannot_be(given: object, problem: str) -> None:
    """The error names the key, and a field that is read from no key cannot be given."""
    with pytest.raises(UsageError, match=rf"^{problem.replace('[', '.').replace(']', '.')}"):
        OUTER(given)


def test_the_schema_of_a_record_has_the_keys_that_are_read() -> None:
    """A key without a default is required, and a variable may stand for what is no text."""
    assert OUTER.schema["required"] == ["name"]
    assert list(OUTER.schema["properties"]) == ["name", "wide", "depth"]
    assert OUTER.schema["properties"]["depth"] == values.or_variable({"type": "integer"})
    assert OUTER.schema["description"] == "What it is."
