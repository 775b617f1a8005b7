from __future__ import annotations

import pytest

from kubelet_sim.core.devices.affinity_split import Split, has_topology, partition
from kubelet_sim.core.topology.masks import mask_of
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from tests.unit.core.bench import dev, sick

DEVICES = (
    dev("on 0", 0),
    dev("on 1", 1),
    dev("on both", 1, 0),
    dev("on 0 and -1", -1, 0),
    dev("unknown", 9),
    dev("beyond", 64),
    dev("only -1", -1),
    Device(DeviceID("empty"), topology=()),
    dev("none"),
)
LISTED = {device.id: device for device in DEVICES}


def _split(mask: int | None, *, listed: dict[DeviceID, Device] = LISTED) -> tuple[set[str], set[str], set[str]]:
    split = partition(LISTED.keys(), listed, mask)
    return set(split.aligned), set(split.unaligned), set(split.no_affinity)


NOWHERE = {"only -1", "empty", "none"}


@pytest.mark.parametrize(
    "mask, aligned, unaligned",
    [
        (mask_of([0]), {"on 0", "on both", "on 0 and -1"}, {"on 1", "unknown", "beyond"}),
        (mask_of([1]), {"on 1", "on both"}, {"on 0", "on 0 and -1", "unknown", "beyond"}),
        (mask_of([0, 1]), {"on 0", "on 1", "on both", "on 0 and -1"}, {"unknown", "beyond"}),
        (mask_of([9]), {"unknown"}, {"on 0", "on 1", "on both", "on 0 and -1", "beyond"}),
        (0, set(), {"on 0", "on 1", "on both", "on 0 and -1", "unknown", "beyond"}),
    ],
)
def test_three_pools(mask: int, aligned: set[str], unaligned: set[str]) -> None:
    """Any node of the mask aligns, any other but −1 does not, nothing at all is no affinity. Rules: DM-91, TM-33, TM-64, TM-65"""
    assert _split(mask) == (aligned, unaligned, NOWHERE)


def test_no_mask() -> None:
    """Without one everything is free of affinity, which an empty mask is not. Rules: DM-91, TM-64"""
    assert _split(None) == (set(), set(), set(LISTED))


def test_no_device_with_a_node() -> None:
    """Then the mask says nothing. Rules: DM-91, TM-55, TM-64"""
    ids = frozenset({DeviceID("empty"), DeviceID("none")})
    listed = {device: LISTED[device] for device in ids}

    assert partition(ids, listed, mask_of([0])) == Split(frozenset(), frozenset(), ids)


def test_a_device_of_any_health_brings_topology() -> None:
    """Listed devices count, available or not; node −1 is a node here. Rules: DM-91, TM-55"""
    assert not has_topology([dev("a"), Device(DeviceID("b"), topology=()), sick("c")])
    assert has_topology([dev("a"), dev("b", 0, health="Sick")])
    assert has_topology([dev("a", -1)])
    assert not has_topology([])


def test_an_available_device_that_is_not_listed() -> None:
    """It is one without nodes. Rules: DM-59, TM-58"""
    listed = {DeviceID("on 0"): dev("on 0", 0)}

    assert _split(mask_of([0]), listed=listed) == ({"on 0"}, set(), set(LISTED) - {"on 0"})
