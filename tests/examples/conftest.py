"""One example plugin beside a node of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kubelet_sim.node.sync import SyncNode
from tests.examples.fleet import EXAMPLES, Example, Fleet


@pytest.fixture
def run_example(make_kubelet: Callable[..., SyncNode]) -> Iterator[Callable[[str], tuple[Fleet, Example]]]:
    """Start an example by its name, alone, and wait until the node has its list."""
    fleets: list[Fleet] = []

    def run(name: str) -> tuple[Fleet, Example]:
        example = next(each for each in EXAMPLES if each.name == name)
        node = make_kubelet()
        fleets.append(fleet := Fleet(node, node.config.root.resolve()))
        fleet.start(example)
        fleet.wait_until_listed(example)
        return fleet, example

    yield run
    for fleet in fleets:
        fleet.kill()
