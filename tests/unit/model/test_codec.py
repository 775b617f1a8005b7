"""Values of the model to JSON and back: every class that the control API carries."""

from __future__ import annotations

import json
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.errors import UsageError
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.codec import from_json, to_json
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import Comeback, Deletion
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Dropped, Mount, Provenance
from kubelet_sim.model.views import (
    AllocationView,
    ContainerView,
    DeviceView,
    EventView,
    NodeSnapshot,
    PluginView,
    PodView,
    ResourceView,
)
from kubelet_sim.transcript import Record, RecordLevel

T = TypeVar("T")
TEXT = st.text(max_size=5)
NUMBER = st.integers(-(2**40), 2**40)
TIME = st.floats(allow_nan=False)
MAYBE_TEXT = st.none() | TEXT


def some(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    """A tuple of up to two."""
    return st.lists(strategy, max_size=2).map(tuple)


PAIRS = some(st.tuples(TEXT, TEXT))
DEVICE = st.builds(DeviceView, TEXT, TEXT, st.booleans(), st.booleans(), some(NUMBER), some(TEXT))
RESOURCE = st.builds(
    ResourceView, TEXT, NUMBER, NUMBER, NUMBER, TEXT, MAYBE_TEXT, MAYBE_TEXT, some(DEVICE), st.none() | TIME
)
PLUGIN = st.builds(PluginView, NUMBER, TEXT, TEXT, TEXT, TEXT, st.booleans(), st.booleans(), st.booleans(), TIME, TEXT)
CODE = st.none() | st.integers(0, 255)
CONTAINER = st.builds(
    ContainerView,
    *(TEXT for _ in range(5)),
    exit_code=CODE,
    restart_count=NUMBER,
    is_ready=st.booleans(),
    last_reason=TEXT,
    last_exit_code=CODE,
    last_finished_at_s=st.none() | TIME,
    id=TEXT,
)
POD = st.builds(
    PodView,
    *(TEXT for _ in range(6)),
    some(CONTAINER),
    st.booleans(),
    TIME,
    some(TEXT),
    is_deleting=st.booleans(),
    requests=PAIRS,
    limits=PAIRS,
)
EVENT = st.builds(EventView, TEXT, TEXT, TEXT, TEXT, TIME, TIME, NUMBER, TEXT)
ALLOCATION = st.builds(AllocationView, TEXT, TEXT, TEXT, TEXT, some(st.tuples(NUMBER, some(TEXT))), PAIRS)
SNAPSHOT = st.builds(
    NodeSnapshot,
    TEXT,
    TEXT,
    TEXT,
    TIME,
    NUMBER,
    st.booleans(),
    PAIRS,
    PAIRS,
    some(RESOURCE),
    some(PLUGIN),
    some(POD),
    some(ALLOCATION),
    st.booleans(),
    TEXT,
)
SPEC = st.builds(
    ContainerSpec,
    PAIRS,
    some(st.builds(Mount, TEXT, TEXT, st.booleans())),
    some(st.builds(DeviceNode, TEXT, TEXT, TEXT)),
    PAIRS,
    some(TEXT),
    st.builds(
        Provenance,
        some(TEXT),
        some(TEXT),
        some(TEXT),
        some(TEXT),
        some(TEXT),
        some(st.builds(Dropped, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT)),
    ),
)
RECORD = st.builds(
    Record,
    NUMBER,
    TIME,
    TEXT,
    TEXT,
    TEXT,
    some(TEXT),
    st.sampled_from(RecordLevel),
    st.none() | NUMBER,
    NUMBER,
    st.dictionaries(TEXT, st.none() | TEXT | NUMBER | st.lists(TEXT, max_size=2), max_size=2),
)


ARGUMENTS = st.dictionaries(TEXT, st.none() | TEXT | NUMBER | TIME | st.lists(TEXT, max_size=2), max_size=2)
FAULT = st.builds(Fault, TEXT, ARGUMENTS, st.none() | NUMBER, TEXT, TEXT, TEXT)
FAULT_VIEW = st.builds(FaultView, NUMBER, TEXT, ARGUMENTS, TEXT, TEXT, TIME, NUMBER, st.booleans())
COMEBACK = st.builds(
    Comeback,
    TIME,
    keeps_checkpoint=st.booleans(),
    keeps_directory=st.booleans(),
    same_inode=st.booleans(),
    runtime_after_s=TIME,
)
DELETION = st.builds(Deletion, st.none() | TIME, is_forced=st.booleans(), waits=st.booleans())
APPLIED = st.builds(AppliedPod, TEXT, TEXT, st.booleans(), st.booleans())


def arrived(value: T, type_: type[T] | None = None) -> T:
    """The value once it went through the text of a message."""
    return from_json(json.loads(json.dumps(to_json(value))), type_ or type(value))


@given(SNAPSHOT)
def test_a_snapshot_arrives_as_it_was(snapshot: NodeSnapshot) -> None:
    """Any ids and texts, empty ones, what is not there, halves of characters."""
    assert arrived(snapshot) == snapshot


@given(SPEC)
def test_a_container_spec_arrives_as_it_was(spec: ContainerSpec) -> None:
    """Order within the lists included, and where every entry came from."""
    back = arrived(spec)
    assert back == spec
    assert back.provenance == spec.provenance


@given(some(RECORD))
def test_records_arrive_as_they_were(records: tuple[Record, ...]) -> None:
    """With their details, and with walk 0 apart from no walk."""
    assert arrived(records, tuple[Record, ...]) == records


@given(COMEBACK | DELETION | EVENT | APPLIED | FAULT | FAULT_VIEW)
def test_what_is_asked_and_answered_arrives_as_it_was(value: object) -> None:
    """What is lost at a comeback and when the socket is there, events with their count and both times, faults."""
    assert arrived(value) == value


@pytest.mark.parametrize("value", [{}, {"name": "p", "namespace": "n", "created": True, "colour": "red"}, [], None, 7])
def test_what_is_no_such_value_is_refused(value: object) -> None:
    """A field that is missing or that there is not, or no mapping at all."""
    with pytest.raises(UsageError, match="AppliedPod"):
        from_json(value, AppliedPod)
