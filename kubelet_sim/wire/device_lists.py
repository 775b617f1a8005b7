"""The lists of one stream, each decoded on top of the one before: of ten thousand devices, one has changed.

The bytes of a list are those of its devices, one behind the other. So a message that begins and ends with the bytes of devices
of the last one has the same devices there, and what lies between is a list of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from attrs import define

from kubelet_sim.model.device import Device
from kubelet_sim.wire import messages

_A_DEVICE = 0x0A
"""What each device begins with: field 1, with a length."""
_MORE, _BITS = 0x80, 7
"""Of a number in several bytes, the lowest first."""


@define
class DeviceLists:
    """Decodes the lists of one stream, in their order."""

    _data: bytes = b""
    _devices: tuple[Device, ...] = ()
    _ends: list[int] | None = None
    """Where in the last message the devices end, 0 before them; `None`: nobody has looked yet."""

    def decode(self, data: bytes) -> tuple[Device, ...]:
        """What `messages.decode_devices` says; a device that stays where it was is the same value, not only an equal one.

        Raises `ValueError`, as that does.
        """
        ends = _ends(self._data) if self._ends is None else self._ends
        if ends is None:  # There was more in it than devices.
            ends, self._data, self._devices = [0], b"", ()
        begin, end = _common(self._data, data, ends)
        further = len(data) - len(self._data)
        between = data[ends[begin] : ends[end] + further]
        try:
            devices = (*self._devices[:begin], *messages.decode_devices(between), *self._devices[end:])
        except ValueError:  # What looked like a device of the last message was the end of another.
            devices, begin, end = messages.decode_devices(data), 0, len(self._devices)
        is_new = begin == 0 and end == len(self._devices)
        inner = None if is_new else _ends(between)
        if inner is None:
            self._ends = None
        else:
            self._ends = [*ends[:begin], *(ends[begin] + at for at in inner), *(at + further for at in ends[end + 1 :])]
        self._data, self._devices = data, devices
        return devices


def _ends(data: bytes) -> list[int] | None:
    """Where the devices of a message end, 0 before them; `None` if there is anything else in it."""
    ends, at = [0], 0
    while at < len(data):
        if data[at] != _A_DEVICE:
            return None
        size, at = data[at + 1], at + 2
        if size >= _MORE:
            size, at = _number(data, at - 1)
        at += size
        ends.append(at)
    return ends


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of several bytes, and what is behind it."""
    number = bits = 0
    while data[at] >= _MORE:
        number |= (data[at] - _MORE) << bits
        at, bits = at + 1, bits + _BITS
    return number | data[at] << bits, at + 1


def _common(before: bytes, now: bytes, ends: list[int]) -> tuple[int, int]:
    """Up to which device of the message before the new one is the same, and from which one on it is the same again."""
    count, further = len(ends) - 1, len(now) - len(before)

    def begins_alike(few: int, many: int) -> bool:
        part = slice(ends[few], ends[many])
        return before[part] == now[part]

    def ends_alike(few: int, many: int) -> bool:
        first, last = ends[count - many], ends[count - few]
        return before[first:last] == now[first + further : last + further]

    begin = _how_many(count, begins_alike)
    # Devices at the end of the new message, too, have to lie behind those that it begins with.
    first = bisect_left(ends, ends[begin] - further, begin)
    return begin, count - _how_many(count - first, ends_alike)


def _how_many(most: int, are_alike: Callable[[int, int], bool]) -> int:
    """How many are alike, where `are_alike` says that of those from one number up to another."""
    few = 0
    while few < most:
        many = (few + most + 1) // 2
        if are_alike(few, many):
            few = many
        else:
            most = many - 1
    return few
