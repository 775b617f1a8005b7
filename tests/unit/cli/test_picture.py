from __future__ import annotations

import io

import pytest
from attrs import evolve
from rich.console import Console

from kubelet_sim.cli.picture import DeviceChanges, Look, picture
from kubelet_sim.model.views import EventView
from tests.unit.cli.snapshots import NASTY, NASTY_SHOWN, SNAPSHOT

EVENTS = (EventView("Warning", "Failed", "pod/default/c", NASTY, 2.5, 0.0, 3),)


def drawn(look: Look, width: int = 200, height: int = 40) -> list[str]:
    """The lines on a terminal of that size."""
    console = Console(file=io.StringIO(), width=width, height=height, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(picture(look, height))
    return captured.get().splitlines()


def test_a_picture_of_a_node() -> None:
    """Counts and the names of the ill, phases, events and lines; foreign text escaped, markup taken for text."""
    text = "\n".join(drawn(Look(SNAPSHOT, EVENTS, ("a line",), (f"1.0s  {NASTY} unhealthy",))))
    for expected in (
        "root /tmp/ks",
        "2 healthy, 1 in use, 1 unhealthy: gpu-2",
        "default/c",
        "Pod was rejected: why",
        f"10s Warning Failed pod/default/c (x3): {NASTY_SHOWN}",
        f"{NASTY_SHOWN} unhealthy",
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
    lines = drawn(Look(busy, EVENTS * 50, ("x" * 500,) * 300, ("y",) * 50), width, height)
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
    assert [line.partition(": ")[2] for line in changes.see(SNAPSHOT)] == [f"{NASTY}, gpu-1, gpu-2 listed"]
    later = (evolve(first, is_healthy=False, is_allocated=True), evolve(second, is_healthy=True))
    seen = changes.see(evolve(SNAPSHOT, resources=(evolve(resource, devices=later),)))
    assert [line.partition(": ")[2] for line in seen[1:]] == [
        f"{NASTY} gone",
        "gpu-1 unhealthy",
        "gpu-1 in use",
        "gpu-2 healthy again",
    ]
    assert changes.see(evolve(SNAPSHOT, resources=(evolve(resource, devices=later),))) == seen
    many = tuple(evolve(third, id=f"d{number}") for number in range(30))
    last = changes.see(evolve(SNAPSHOT, resources=(evolve(resource, devices=many),)))
    assert any(line.endswith("30 devices listed") for line in last)
