"""The example with NUMA topology: what it lists, and which devices it prefers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from plugins_examples.numa.packing import pack
from plugins_examples.pb import api_pb2
from tests.examples.fleet import Example, Fleet, resource_view
from tests.patience import PATIENCE_S

NODE_OF = {f"{node}{number}": "abc".index(node) for node in "abc" for number in range(4)}


def test_lists_topology_and_prefers(run_example: Callable[[str], tuple[Fleet, Example]]) -> None:
    """Each device is listed with its node; of those available the plugin prefers some of one node, for each container."""
    fleet, _ = run_example("numa")
    view = resource_view(fleet.node.status(), "example.com/nic")
    assert view is not None
    assert {device.id: device.numa_nodes for device in view.devices} == {
        **{f"node0-{number}": (0,) for number in range(4)},
        **{f"node1-{number}": (1,) for number in range(3)},
    }
    request = api_pb2.PreferredAllocationRequest()
    request.container_requests.add(
        available_deviceIDs=["node1-2", "node0-3", "node1-0", "node0-1", "node1-1"], allocation_size=3
    )
    request.container_requests.add(
        available_deviceIDs=["node1-2", "node0-3", "node1-0", "node0-1", "node1-1"],
        must_include_deviceIDs=["node0-3"],
        allocation_size=2,
    )
    with fleet.call("example.com/nic") as plugin:
        answer = plugin.GetPreferredAllocation(request, timeout=PATIENCE_S)
    assert [list(each.deviceIDs) for each in answer.container_responses] == [
        ["node1-0", "node1-1", "node1-2"],
        ["node0-3", "node0-1"],
    ]


@pytest.mark.parametrize(
    "available, must_include, size, chosen",
    [
        pytest.param("a0 b0 b1", "", 2, "b0 b1", id="the node that has enough"),
        pytest.param("a0 a1 a2 b0 b1", "", 2, "b0 b1", id="the tightest fit, so that the large one stays whole"),
        pytest.param("a0 b0 b1 b2 c0 c1", "", 4, "b0 b1 b2 a0", id="none has enough: the largest, then the rest"),
        pytest.param("a0 a1 b0 b1", "b1", 2, "b1 b0", id="beside what must be included"),
        pytest.param("a0 b0 b1 b2", "a0", 3, "a0 b0 b1", id="what must be included, though others fit better"),
        pytest.param("a0 a1 b0 c0 c1", "a0 b0", 3, "a0 b0 a1", id="the nodes that were begun are filled up"),
        pytest.param("a0 a1", "a0 a1", 2, "a0 a1", id="nothing left to choose"),
        pytest.param("a0 b0", "", 3, "a0 b0", id="not enough of them: all"),
        pytest.param("a0 b0", "", 0, "", id="none wanted"),
        pytest.param("", "", 1, "", id="none there"),
    ],
)
def test_preferred_devices_come_from_as_few_nodes_as_possible(
    available: str, must_include: str, size: int, chosen: str
) -> None:
    """As few nodes as possible, what must be included first."""
    assert pack(available.split(), must_include.split(), size, NODE_OF) == chosen.split()
