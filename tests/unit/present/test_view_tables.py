from __future__ import annotations

import pytest
from attrs import evolve

from kubelet_sim.errors import UsageError
from kubelet_sim.model.views import EventView
from kubelet_sim.present.view_tables import document, grace_text, health_text, list_table, node_table, select
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN, SNAPSHOT


def rows(text: str) -> list[list[str]]:
    """The cells of a table, which stand three spaces apart."""
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in text.splitlines()]


def test_a_list_of_devices() -> None:
    """One line a device; foreign ids escaped; what is not there is a dash."""
    assert rows(list_table("devices", select(SNAPSHOT, "devices", None))) == [
        ["RESOURCE", "DEVICE", "HEALTHY", "SENT AS", "NUMA", "ALLOCATED", "HELD BY"],
        ["example.com/gpu", "gpu-1", "yes", "Healthy", "0,1", "no", "-"],
        ["example.com/gpu", "gpu-2", "no", "Unhealthy", "-", "no", "-"],
        ["example.com/gpu", NASTY_SHOWN, "yes", "Healthy", "-", "yes", "default/a/c"],
    ]


def test_a_list_of_resources() -> None:
    """A resource that the node object does not list has no capacity there."""
    assert rows(list_table("resources", select(SNAPSHOT, "resources", None)))[1:] == [
        ["example.com/gpu", "2", "1", "1", "3", "2", "live"],
        ["example.com/none", "0", "0", "0", "-", "-", "placeholder"],
    ]


def test_a_list_of_pods() -> None:
    """The columns are kubectl's; the message is the pod's, or that of the container that cannot be created."""
    assert rows(list_table("pods", select(SNAPSHOT, "pods", None), now_s=12.5)) == [
        ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "MESSAGE"],
        ["default", "a", "1/1", "Running", "0", "12s", "-"],
        ["other", "b", "0/0", "UnexpectedAdmissionError", "0", "12s", "Pod was rejected: why"],
        ["default", "c", "0/1", "CreateContainerConfigError", "0", "12s", "no"],
    ]


def test_a_pod_that_runs_without_a_device_is_marked() -> None:
    """Its phase is Running all the same (DM-81)."""
    view = evolve(SNAPSHOT.pods[0], missing=("example.com/typo", "example.com/x"))
    cells = rows(list_table("pods", [view]))[1]
    assert cells[3] == "Running (without example.com/typo, example.com/x)"
    assert document(view)["missing"] == ["example.com/typo", "example.com/x"]


def test_lists_of_plugins_and_allocations() -> None:
    """An allocation shows its ids on every NUMA node, and the nodes that there are."""
    assert rows(list_table("plugins", select(SNAPSHOT, "plugins", None)))[1:] == [
        ["1", "example.com/gpu", "gpu.sock", "Register", "live", "yes", "no", "yes", "0.250s"]
    ]
    allocations = select(SNAPSHOT, "allocations", "a")
    assert rows(list_table("allocations", allocations))[1:] == [
        ["default/a", "c", "example.com/gpu", f"{NASTY_SHOWN}, gpu-1", "0"]
    ]
    assert document(allocations[0])["devices"] == [
        {"numa_node": -1, "ids": [NASTY]},
        {"numa_node": 0, "ids": ["gpu-1"]},
    ]


EVENTS = (
    EventView("Normal", "Created", "pod/default/a", "Container created", 2.5, 2.5, 1, "spec.containers{c}"),
    EventView("Warning", "Failed", "pod/other/b", f"Error: {NASTY}", 12.5, 2.5, 3),
)


def test_a_list_of_events() -> None:
    """The age of the last time comes first; a pod's name narrows the list, that of a pod that has gone, too."""
    events = select(SNAPSHOT, "events", None, events=EVENTS)
    assert rows(list_table("events", events, now_s=SNAPSHOT.now_s)) == [
        ["LAST SEEN", "TYPE", "REASON", "OBJECT", "SUBOBJECT", "MESSAGE"],
        ["10s", "Normal", "Created", "pod/default/a", "spec.containers{c}", "Container created"],
        ["0s", "Warning", "Failed", "pod/other/b", "-", f"Error: {NASTY_SHOWN}"],
    ]
    assert select(SNAPSHOT, "events", "other/b", events=EVENTS) == [EVENTS[1]]
    assert select(SNAPSHOT, "events", "gone", events=EVENTS) == []


@pytest.mark.parametrize(
    "kind, titles, last",
    [
        ("resources", ["NUMA", "GRACE PERIOD"], ["-", "4m50s left"]),
        ("devices", ["HOLDER UIDS"], ["uid-a"]),
        ("plugins", ["AGE", "PATH", "FOUND BY"], ["12s", "/tmp/ks/device-plugins/gpu.sock", "-"]),
        ("pods", ["CONTAINERS", "ACTIVE", "UID"], ["c: waiting", "yes", "uid-c"]),
        ("allocations", ["HEALTH", "POD UID"], ["x: Healthy, y: Unhealthy", "uid-a"]),
        ("events", ["FIRST SEEN", "COUNT"], ["10s", "3"]),
    ],
)
def test_wide_lists(kind: str, titles: list[str], last: list[str]) -> None:
    """What is too much for a list that somebody only looks over."""
    resources = (SNAPSHOT.resources[0], evolve(SNAPSHOT.resources[1], stopped_at_s=2.5))
    allocations = (evolve(SNAPSHOT.allocations[0], health=(("x", "Healthy"), ("y", "Unhealthy"))),)
    snapshot = evolve(SNAPSHOT, resources=resources, allocations=allocations)
    table = rows(list_table(kind, select(snapshot, kind, None, events=EVENTS), snapshot, snapshot.now_s))
    assert table[0][-len(titles) :] == titles
    assert table[-1][-len(last) :] == last


@pytest.mark.parametrize(
    "stopped_at_s, now_s, text",
    [(None, 5.0, ""), (0.0, 10.0, "4m50s left"), (0.0, 300.0, "0s left"), (0.0, 300.5, "over")],
)
def test_the_grace_period_is_over_when_strictly_more_has_passed(
    stopped_at_s: float | None, now_s: float, text: str
) -> None:
    """It is over when strictly more than five minutes have passed (DM-47)."""
    assert grace_text(stopped_at_s, now_s) == text


def test_health_in_one_word() -> None:
    """If all devices are of the same."""
    assert health_text((("a", "Healthy"), ("b", "Healthy"))) == "Healthy"
    assert health_text(()) == ""


def test_the_table_of_the_node_begins_with_its_version() -> None:
    """Its version and time, then each resource of the node object."""
    text = rows(node_table(SNAPSHOT))
    assert text[1] == ["v1.36.2", "1", "manual", "12.500s", "/tmp/ks"]
    assert text[-1] == ["example.com/gpu", "3", "2"]


def test_a_node_without_a_kubelet_has_not_restarted_yet() -> None:
    """The process to come is counted when it is there: two have been, so there was one restart."""
    text = rows(node_table(evolve(SNAPSHOT, incarnation=3, has_kubelet=False)))
    assert text[1][:2] == ["v1.36.2 (none runs)", "1"]


@pytest.mark.parametrize(
    "kind, name, count",
    [
        ("resources", "example.com/gpu", 1),
        ("devices", "example.com/gpu", 3),
        ("devices", "example.com/none", 0),
        ("plugins", "example.com/gpu", 1),
        ("pods", "a", 1),
        ("pods", "other/b", 1),
        ("allocations", "default/a", 1),
        ("allocations", "c", 0),
    ],
)
def test_a_name_narrows_the_list(kind: str, name: str, count: int) -> None:
    """A resource or a pod that is there may have nothing, which is an empty list."""
    assert len(select(SNAPSHOT, kind, name)) == count


@pytest.mark.parametrize("kind, name", [("resources", "x"), ("devices", "x"), ("plugins", "x"), ("pods", "b")])
def test_a_name_that_is_not_there_is_misuse(kind: str, name: str) -> None:
    """The error says which names there are."""
    with pytest.raises(UsageError, match="there are: "):
        select(SNAPSHOT, kind, name)


def test_of_many_names_the_first_are_told() -> None:
    """Ten of them, and how many more there are."""
    pods = tuple(evolve(SNAPSHOT.pods[0], name=f"p{number:02}") for number in range(13))
    with pytest.raises(UsageError) as caught:
        select(evolve(SNAPSHOT, pods=pods), "pods", "x")
    assert str(caught.value).endswith("default/p08, default/p09, … and 3 more")


def test_a_device_says_whose_it_is() -> None:
    """In JSON and YAML every device has its resource beside it."""
    first = document(select(SNAPSHOT, "devices", None)[0])
    assert (first["resource"], first["id"], first["numa_nodes"]) == ("example.com/gpu", "gpu-1", [0, 1])
