from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.model.life import Comeback
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
from kubelet_sim.wire.control_messages import (
    comeback_message,
    comeback_value,
    event_message,
    event_value,
    record_message,
    record_value,
    sendable,
    snapshot_message,
    snapshot_value,
    spec_message,
    spec_value,
)
from kubelet_sim.wire.pb import control_v1_pb2 as pb

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
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


@given(SNAPSHOT)
def test_a_snapshot_arrives_as_it_was(snapshot: NodeSnapshot) -> None:
    """Any ids and texts, empty ones, what is not there; through bytes."""
    data = snapshot_message(snapshot).SerializeToString()
    assert snapshot_value(pb.NodeSnapshot.FromString(data)) == snapshot


@given(SPEC)
def test_a_container_spec_arrives_as_it_was(spec: ContainerSpec) -> None:
    """Order within the lists included, and where every entry came from."""
    arrived = spec_value(pb.ContainerSpec.FromString(spec_message(spec).SerializeToString()))
    assert arrived == spec
    assert arrived.provenance == spec.provenance


@given(RECORD)
def test_a_record_arrives_as_it_was(record: Record) -> None:
    """With its details, and with walk 0 apart from no walk."""
    assert record_value(pb.Record.FromString(record_message(record).SerializeToString())) == record


@given(
    st.builds(Comeback, TIME, keeps_checkpoint=st.booleans(), keeps_directory=st.booleans(), same_inode=st.booleans())
)
def test_a_way_to_come_back_arrives_as_it_was(how: Comeback) -> None:
    """What is lost, and when the socket is there."""
    assert comeback_value(pb.Comeback.FromString(comeback_message(how).SerializeToString())) == how


@given(EVENT)
def test_an_event_arrives_as_it_was(event: EventView) -> None:
    """With its count and both times."""
    assert event_value(pb.Event.FromString(event_message(event).SerializeToString())) == event


def test_a_path_of_odd_bytes_can_be_sent() -> None:
    """Halves of characters are written out, as no message could carry them; everything else stays."""
    assert sendable("/tmp/\udcff/ü\x1b") == "/tmp/\\udcff/ü\x1b"
