"""What one list of a plugin says, and what the next one says differently: of many devices, mostly one has changed."""

from __future__ import annotations

from itertools import compress
from operator import is_not

from attrs import field, frozen

from kubelet_sim.core.devices.ordered_ids import OrderedIds
from kubelet_sim.model.device import HEALTHY, Device
from kubelet_sim.model.ids import DeviceID


@frozen
class Listing:
    """One list, by id and by health. An id that stands there twice with both healths is in both sets. Rules: DM-52, DM-53"""

    devices: tuple[Device, ...]
    """As sent."""
    by_id: dict[DeviceID, Device] = field(eq=False)
    """Of an id that stands there more than once, the last."""
    healthy: OrderedIds = field(eq=False)
    unhealthy: OrderedIds = field(eq=False)
    news: tuple[Device, ...] = field(eq=False)
    """Those devices that are not, as a value, what the list before had in their place; without one before, all."""

    @property
    def healthy_count(self) -> int:
        """Of entries: an id that stands there twice counts twice."""
        if len(self.by_id) == len(self.devices):
            return len(self.healthy)
        return sum(device.is_healthy for device in self.devices)

    @classmethod
    def of(cls, devices: tuple[Device, ...]) -> Listing:
        """The listing of devices that did not change another one."""
        return cls(
            devices,
            {device.id: device for device in devices},
            OrderedIds([device.id for device in devices if device.health == HEALTHY]),
            OrderedIds([device.id for device in devices if device.health != HEALTHY]),
            devices,
        )

    def followed_by(self, devices: tuple[Device, ...]) -> Listing:
        """The same as `of`, for a list that comes after this one; quickly, if it has the same ids in the same places."""
        count = len(self.devices)
        if len(devices) != count or len(self.by_id) != count:
            return Listing.of(devices)
        places = list(compress(range(count), map(is_not, self.devices, devices)))
        news = tuple(devices[place] for place in places)
        if any(self.devices[place].id != device.id for place, device in zip(places, news, strict=True)):
            return Listing.of(devices)
        come = {device.id for device in news if device.is_healthy} - self.healthy
        gone = {device.id for device in news if not device.is_healthy} - self.unhealthy
        by_id = {**self.by_id, **{device.id: device for device in news}}
        return Listing(devices, by_id, self.healthy.changed(come, gone), self.unhealthy.changed(gone, come), news)
