from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from attrs import evolve
from rich.console import Console

from kubelet_sim.model.views import EventView
from kubelet_sim.present.dashboard import DeviceChange, DeviceChanges, Look, picture
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN, SNAPSHOT

ILL = DeviceChange(1.0, "example.com/gpu", 1, "unhealthy", (NASTY,))
EVENTS = (EventView("Warning", "Failed", "pod/default/c", NASTY, 2.5, 0.0, 3),)


def drawn(look: Look, width: int = 200, height: int = 40) -> list[str]:
    """The lines on a terminal of that size."""
    console = Console(file=io.StringIO(), width=width, height=height, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(picture(look, width, height))
    return captured.get().splitlines()


def texts(changes: Sequence[DeviceChange], width: int = 200) -> list[str]:
    """What the lines say behind the resource."""
    return [change.text(width).partition("s  example.com/gpu: ")[2] for change in changes]


def test_a_picture_of_a_node() -> None:
    """Counts and the names of the ill, phases, events and lines; foreign text escaped, markup taken for text."""
    text = "\n".join(drawn(Look(SNAPSHOT, EVENTS, ("a line",), (ILL,))))
    for expected in (
        "root /tmp/ks",
        "2 healthy, 1 in use, 1 unhealthy: gpu-2",
        "default/c",
        "Pod was rejected: why",
        f"10s Warning Failed pod/default/c (x3): {NASTY_SHOWN}",
        f"1.000s  example.com/gpu: {NASTY_SHOWN}: unhealthy",
        "kubelet process 2",
        "a line",
    ):
        assert expected in text
    assert "\x1b" not in text.replace("\x1b[", "")


@pytest.mark.parametrize("width, height", [(200, 40), (80, 24), (40, 12), (20, 8)])
def test_a_picture_fits(width: int, height: int) -> None:
    """Whatever is on the node: no line is wider than the terminal, and there are no more than fit where there is room."""
    pods = tuple(evolve(SNAPSHOT.pods[0], name=f"p{number}") for number in range(200))
    resources = tuple(evolve(SNAPSHOT.resources[0], name=f"example.com/r{number}") for number in range(50))
    busy = evolve(SNAPSHOT, pods=pods, resources=resources)
    lines = drawn(Look(busy, EVENTS * 50, ("x" * 500,) * 300, (ILL,) * 50), width, height)
    assert max(map(len, lines)) <= width
    if height >= 24:
        assert len(lines) <= height


def test_an_empty_node() -> None:
    """It says that there is nothing yet."""
    text = drawn(Look(evolve(SNAPSHOT, resources=(), pods=())))
    assert [line.strip() for line in text if "none yet" in line] == ["none yet"] * 2


def test_changes_of_devices() -> None:
    """What came, went, fell ill and was taken between two looks; many at once are counted."""
    changes = DeviceChanges()
    resource = SNAPSHOT.resources[0]
    first, second, third = resource.devices
    assert texts(changes.see(SNAPSHOT)) == [f"{NASTY_SHOWN}, gpu-1, gpu-2: listed"]
    later = (evolve(first, is_healthy=False, is_allocated=True), evolve(second, is_healthy=True))
    seen = changes.see(evolve(SNAPSHOT, resources=(evolve(resource, devices=later),)))
    assert texts(seen[1:]) == [f"{NASTY_SHOWN}: gone", "gpu-1: unhealthy", "gpu-1: in use", "gpu-2: healthy again"]
    assert changes.see(evolve(SNAPSHOT, resources=(evolve(resource, devices=later),))) == seen
    many = tuple(evolve(third, id=f"d{number}") for number in range(30))
    last = changes.see(evolve(SNAPSHOT, resources=(evolve(resource, devices=many),)))
    assert "30 devices: listed" in texts(last)


@pytest.mark.parametrize(
    "width, expected",
    [
        (200, "GPU-4811, GPU-4812, GPU-4813: unhealthy"),
        (68, "GPU-4811, GPU-4812, 1 more: unhealthy"),
        (60, "GPU-4811, 2 more: unhealthy"),
        (54, "GPU-…, 2 more: unhealthy"),
        (10, "…, 2 more: unhealthy"),
    ],
)
def test_a_change_keeps_its_verb(width: int, expected: str) -> None:
    """Ids give way: first the last ones, then the end of the first."""
    change = DeviceChange(1.0, "example.com/gpu", 3, "unhealthy", ("GPU-4811", "GPU-4812", "GPU-4813"))
    assert texts([change], width) == [expected]


@pytest.mark.parametrize("width, height", [(80, 24), (120, 35)])
def test_what_is_asked_for_is_never_cut(width: int, height: int) -> None:
    """Names, phases, endpoints and amounts stay whole where messages and lists of ids and containers are long."""
    ill = tuple(evolve(SNAPSHOT.resources[0].devices[1], id=f"GPU-{number:036}") for number in range(8))
    name, endpoint = "nvidia.example.com/gpu", "placeholder"
    resource = evolve(SNAPSHOT.resources[0], name=name, endpoint=endpoint, devices=ill, unhealthy=8)
    containers = tuple(evolve(SNAPSHOT.pods[0].containers[0], name=f"container-{number}") for number in range(5))
    long = evolve(SNAPSHOT.pods[1], name="training-with-quite-a-long-name", message="why " * 50, containers=containers)
    odd = evolve(SNAPSHOT.pods[0], missing=("example.com/typo",))
    lines = drawn(Look(evolve(SNAPSHOT, resources=(resource,), pods=(long, odd))), width, height)
    text = "\n".join(lines)
    for expected in (
        name,
        endpoint,
        "CAPACITY  ALLOCATABLE",
        "other/training-with-quite-a-long-name  Failed",
        "Running (!)",
        "without ex",
    ):
        assert expected in text
    assert next(line.split()[-2:] for line in lines if name in line) == ["3", "2"]
    assert max(map(len, lines)) <= width
