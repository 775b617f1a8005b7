"""Faults of the kubelet's restarts: late, with the same inode, on a new directory, twice, in the middle of a plugin's start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.device import Device
from kubelet_sim.model.life import Comeback
from kubelet_sim.model.plugin import PluginOptions, Registration
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import choice, number, seconds
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.node.faults.register import is_meant
from kubelet_sim.node.faults.through import FaultHook, Through, ThroughHook

POINTS: Mapping[str, str] = MappingProxyType(
    {
        "register": "when Register comes in",
        "options": "between the options and the list",
        "answered": "right after Register is answered",
        "first-list": "when a list has come, before it counts",
    }
)


@kind(
    "restart-late",
    "kubelet",
    "The kubelet restarts, the directory is cleaned at once, and kubelet.sock comes long after: a plugin that dials once and"
    " gives up is lost.",
    arguments=(seconds("after", 30.0, "When the socket appears, on the node's clock."),),
    rules=("DM-5", "DM-8"),
)
async def _late(active: ActiveFault) -> str:
    after_s = active.arguments["after"]
    await _restart(active, Comeback(socket_after_s=after_s))
    return f"the kubelet restarts; its socket appears in {after_s:g} s"


@kind(
    "restart-same-inode",
    "kubelet",
    "The kubelet restarts, and the new kubelet.sock has the inode number of the old one, where the file system gives it: a"
    " plugin that compares numbers sees nothing.",
    rules=("DM-17",),
)
async def _same_inode(active: ActiveFault) -> str:
    await _restart(active, Comeback(same_inode=True))
    return "the kubelet restarted; the trace says whether the inode is the same"


@kind(
    "restart-new-directory",
    "kubelet",
    "The device-plugin directory is deleted with all that is in it, and a restarting kubelet makes it anew: a watch on the"
    " old directory sees nothing any more.",
    rules=("DM-2", "DM-113"),
)
async def _new_directory(active: ActiveFault) -> str:
    await _restart(active, Comeback(keeps_directory=False))
    return "the kubelet restarted on a new directory"


@kind(
    "restart-twice",
    "kubelet",
    "The kubelet restarts, and again as soon as it is there: plugins register with a kubelet that is gone.",
    arguments=(number("times", 2, "How often it restarts.", least=2),),
    rules=("DM-16", "DM-17"),
)
async def _twice(active: ActiveFault) -> str:
    for _ in range(active.arguments["times"]):
        await _restart(active, Comeback())
    return f"the kubelet restarted {active.arguments['times']} times"


async def _restart(active: ActiveFault, how: Comeback) -> None:
    active.once("kubelet", "the kubelet restarts")
    try:
        await active.reach.node.restart(how)
    except TransportError as error:
        raise UsageError(f"the kubelet could not start again: {error}") from error


class _AtRegister(FaultHook):
    """At the call itself, before anybody looks at it, or right after its answer."""

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        del deadline_s
        if self.active.arguments["point"] == "register" and is_meant(self.active, registration):
            await until_gone(self.active, registration.resource)

    def register_over(self, registration: Registration) -> None:
        if self.active.arguments["point"] != "answered" or not is_meant(self.active, registration):
            return
        if self.active.once(registration.resource, "the kubelet restarts right after Register is answered"):
            self.active.reach.spawn(self.active.reach.node.restart())


class _AfterOptions(Through):
    async def get_device_plugin_options(self) -> PluginOptions:
        options = await self.inner.get_device_plugin_options()
        await until_gone(self.active, self.subject)
        return options


class _OnList(FaultHook):
    async def list_came(self, path: str, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        if self.active.meets(path):
            await until_gone(self.active, self.active.reach.subject(path))
        return devices


async def until_gone(active: ActiveFault, subject: str) -> None:
    """Restart the kubelet, and do not return: the process that waits here is about to end."""
    when = POINTS[active.arguments["point"]]
    with active.applying(subject, f"the kubelet restarts {when}") as applies:
        if applies:
            active.reach.spawn(active.reach.node.restart())
            await asyncio.Event().wait()


@kind(
    "restart-at",
    "kubelet",
    "The kubelet restarts at a point of a plugin's start: when Register comes in, between GetDevicePluginOptions and"
    " ListAndWatch, right after Register is answered, or when the first list has come.",
    undo="and it does not restart any more",
    arguments=(choice("point", tuple(POINTS), "register", "At which point."),),
    rules=("DM-16", "DM-17"),
    filters=PLUGIN,
    counts=True,
    usual_count=1,
    delays_lists=True,
)
async def _at(active: ActiveFault) -> str:
    match active.arguments["point"]:
        case "options":
            active.hook(ThroughHook(active, _AfterOptions))
        case "first-list":
            active.hook(_OnList(active))
        case _:
            active.hook(_AtRegister(active))
    return f"the kubelet restarts {POINTS[active.arguments['point']]}"


class _RefusedStatus(FaultHook):
    def is_status_refused(self) -> bool:
        return self.active.once("node", "the API server refuses the update of the node status")


@kind(
    "refuse-node-status",
    "node-status",
    "The API server refuses an update of the node status, and the kubelet computes it anew. If a resource was to become"
    " zero just then, its zero is lost: the old number comes back as allocatable, and pods run without a device.",
    undo="and updates are stored",
    rules=("DM-67",),
    counts=True,
    usual_count=1,
)
async def _refuse(active: ActiveFault) -> str:
    active.hook(_RefusedStatus(active))
    return f"the next update of the node status is refused{f' {active.count} times' if active.count != 1 else ''}"
