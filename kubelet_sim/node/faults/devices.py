"""Faults of devices: broken, gone, back again, as if the plugin had said so. The plugin knows nothing of it."""

from __future__ import annotations

from abc import abstractmethod

from attrs import define, evolve, field

from kubelet_sim.core.facts import DevicesListed
from kubelet_sim.model.device import UNHEALTHY, Device
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import ids
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.node.faults.through import FaultHook
from kubelet_sim.node.kubelet_process.plugin_connections import Link

_IDS = ids("ids", "Which devices; else all.")
Devices = tuple[Device, ...]


@define(eq=False)
class _Changed(FaultHook):
    """Changes every list, at once the last one that came, too."""

    _said: dict[str, Devices] = field(factory=dict)
    """What the plugin said last, by the path of its socket."""

    @abstractmethod
    def changed(self, devices: Devices) -> Devices:
        """Returns the list that counts instead of what the plugin said."""

    async def begin(self) -> None:
        """Begin: change the lists that came before, too."""
        state = self.active.reach.node.kubelet.state
        for link in self._links():
            self._said[link.socket_path] = tuple(state.devices.get(link.resource, {}).values())
        self.active.hook(self)
        self.active.at_the_end(lambda: self.active.reach.spawn(self._say_again()))
        for link in self._links():
            devices = self._said[link.socket_path]
            if (changed := self.changed(devices)) != devices:
                self.active.once(link.resource, "its last list is changed")
                await self._apply(link, changed)

    async def list_came(self, path: str, devices: Devices) -> Devices:
        if not self.active.meets(path):
            return devices
        self._said[path] = devices
        changed = self.changed(devices)
        if changed != devices and not self.active.once(self.active.reach.subject(path), "a list is changed"):
            return devices
        return changed

    @property
    def named(self) -> str:
        """The devices that it is about, for people.

        Where there are plugins, with those that none of them lists so far: they may be slips of the pen.
        """
        wanted = self.active.arguments["ids"]
        if not wanted:
            return "all devices"
        listed = {device.id for devices in self._said.values() for device in devices}
        missing = [each for each in wanted if self._said and each not in listed]
        return f"devices {', '.join(wanted)}" + (f" (nobody lists {', '.join(missing)} so far)" if missing else "")

    async def _say_again(self) -> None:
        for link in self._links():
            if (said := self._said.get(link.socket_path)) is not None:
                await self._apply(link, said)

    async def _apply(self, link: Link, devices: Devices) -> None:
        await self.active.reach.node.kubelet.apply(DevicesListed(link.client, devices))

    def _links(self) -> list[Link]:
        return [link for link in self.active.reach.links(self.active.fault) if link.has_stream]

    def is_meant(self, device: Device) -> bool:
        """Whether it is one of those that the fault names."""
        return not (wanted := self.active.arguments["ids"]) or device.id in wanted


class _Broken(_Changed):
    def changed(self, devices: Devices) -> Devices:
        return tuple(evolve(each, health=UNHEALTHY) if self.is_meant(each) else each for each in devices)


class _Hidden(_Changed):
    def changed(self, devices: Devices) -> Devices:
        return tuple(each for each in devices if not self.is_meant(each))


@kind(
    "break-devices",
    "devices",
    "Devices are reported Unhealthy. A pod that holds one keeps it; its status tells, and nobody else gets the device.",
    undo="and what the plugin says counts again",
    arguments=(_IDS,),
    rules=("DM-51", "DM-52", "DM-155"),
    filters=PLUGIN,
)
async def _break(active: ActiveFault) -> str:
    await (broken := _Broken(active)).begin()
    return f"{broken.named} count as Unhealthy"


@kind(
    "hide-devices",
    "devices",
    "Devices are missing from the list, allocated ones too; injected before a plugin registers, they appear late.",
    undo="and they appear",
    arguments=(_IDS,),
    rules=("DM-51",),
    filters=PLUGIN,
)
async def _hide(active: ActiveFault) -> str:
    await (hidden := _Hidden(active)).begin()
    return f"{hidden.named} are not listed any more"
