"""What comes of a list on top of the one before is what comes of it alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.core.devices.available_devices import FreeIds
from kubelet_sim.core.devices.device_list import Listing
from kubelet_sim.core.devices.ordered_ids import OrderedIds
from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.testing.strategies import device_lists
from kubelet_sim.testing.strategies import devices as devices_of_any_kind
from kubelet_sim.wire import messages
from kubelet_sim.wire.device_lists import DeviceLists

_SAME = tuple(Device(DeviceID(f"device-{number}"), HEALTHY, (NumaNode(0),)) for number in range(5))
_LONG = Device(DeviceID("x" * 300))
"""Its length takes two bytes."""


@st.composite
def _series(draw: st.DrawFn) -> list[tuple[Device, ...]]:
    """Lists of one plugin: each has much of the one before, and something of its own."""
    lists: list[tuple[Device, ...]] = [draw(st.just(_SAME) | device_lists())]
    for _ in range(draw(st.integers(1, 4))):
        devices = list(lists[-1])
        for _ in range(draw(st.integers(0, 2))):
            place = draw(st.integers(0, len(devices)))
            drawn = draw(st.lists(st.sampled_from((*_SAME, _LONG)) | devices_of_any_kind(), max_size=2))
            devices[place : place + draw(st.integers(0, 3))] = drawn
        if devices:
            place = draw(st.integers(0, len(devices) - 1))
            was = devices[place]
            devices[place] = Device(was.id, UNHEALTHY if was.is_healthy else HEALTHY, was.topology)
        lists.append(tuple(devices))
    return lists


@given(_series(), st.lists(st.sampled_from((b"", b"", b"", b"\x12\x01a", b"\n\x02\n\x00", b"\n\x05")), min_size=5))
def test_decoded_on_top_of_the_last_one(lists: list[tuple[Device, ...]], tails: list[bytes]) -> None:
    """Bytes say the same, and fail the same, whatever came before them on the stream. Rules: DM-51, DM-53, DM-125"""

    def outcome(decode: object, data: bytes) -> object:
        try:
            return decode(data)  # type: ignore[operator]
        except ValueError as error:
            return str(error)

    decoder = DeviceLists()
    for devices, tail in zip(lists, tails, strict=False):
        data = messages.encode_devices(devices) + tail
        assert outcome(decoder.decode, data) == outcome(messages.decode_devices, data)


@given(_series())
def test_looked_at_on_top_of_the_last_one(lists: list[tuple[Device, ...]]) -> None:
    """Sets, table and order are those of the list by itself; what is no news was there before. Rules: DM-51, DM-52, DM-53"""
    listing = Listing.of(lists[0])
    for devices in lists[1:]:
        listing.healthy.ascending()
        before, listing, alone = listing, listing.followed_by(devices), Listing.of(devices)
        assert listing == alone
        assert listing.by_id == alone.by_id
        assert (listing.healthy, listing.unhealthy) == (alone.healthy, alone.unhealthy)
        assert listing.healthy_count == alone.healthy_count
        assert listing.healthy.ascending() == alone.healthy.ascending()
        assert set(devices) - set(listing.news) <= set(before.devices)


@given(st.frozensets(st.integers(0, 300)), st.frozensets(st.integers(0, 300)))
def test_ids_stay_in_order(before: frozenset[int], after: frozenset[int]) -> None:
    """Few changes or many: the order is that of the set. Rules: CP-6"""
    one, other = ({DeviceID(f"{number:03}") for number in numbers} for numbers in (before, after))
    ids = OrderedIds(one)
    ids.ascending()

    changed = ids.changed(other - one, one - other)

    assert set(changed) == other
    assert list(changed.ascending()) == sorted(other)
    assert list(FreeIds(changed, one)) == sorted(other - one)


def test_a_device_that_has_not_changed_is_the_same_value() -> None:
    """Of a list like the one before, only what differs is made anew, however the lists differ in length."""
    decoder = DeviceLists()
    first = decoder.decode(messages.encode_devices(_SAME))
    sick = Device(_SAME[2].id, UNHEALTHY, _SAME[2].topology)

    second = decoder.decode(messages.encode_devices((*_SAME[:2], sick, *_SAME[3:])))
    third = decoder.decode(messages.encode_devices((*_SAME[:2], sick, _LONG, *_SAME[3:])))

    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True, False, True, True]
    assert third[:3] + third[4:] == second
    assert all(one is other for one, other in zip(third[:3] + third[4:], second, strict=True))
