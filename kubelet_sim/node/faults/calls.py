"""Faults of the calls that the kubelet makes for pods: stalled, made twice at once, repeated, failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.node.faults.arguments import choice, seconds, text
from kubelet_sim.node.faults.kinds import PLUGIN
from kubelet_sim.node.faults.streams import CODES
from kubelet_sim.node.faults.through import Through, lasting

T = TypeVar("T")
UNARY = ("GetDevicePluginOptions", "Allocate", "GetPreferredAllocation", "PreStartContainer")


class Before(Through):
    """Something that happens before a call, or instead of it; which call is an argument of the fault."""

    async def before(self, call: str) -> None:
        """Raises `RpcFailed`: the call is not made."""

    async def around(self, call: str, make: Callable[[], Awaitable[T]]) -> T:
        if self.active.arguments["call"] == call:
            await self.before(call)
        return await make()


@lasting(
    "stall-call",
    "calls",
    "A call waits before it is sent, for ever unless it is undone: a hung plugin, seen from the kubelet. A hung Allocate"
    " holds up the admission of every pod of the node.",
    "{call} calls wait from now on",
    undo="and the calls that wait are sent",
    arguments=(
        choice("call", UNARY, "Allocate", "Which call."),
        seconds("seconds", None, "How long on the node's clock; without, until it is undone."),
    ),
    rules=("DM-41", "DM-74"),
    filters=PLUGIN,
    counts=True,
)
class _Stalled(Before):
    async def before(self, call: str) -> None:
        await self.active.hold_up(self.subject, f"{call} waits before it is sent", self.active.arguments["seconds"])


@lasting(
    "fail-call",
    "calls",
    "A call fails with a status before it reaches the plugin, as over a connection that has just been lost.",
    "{call} calls fail from now on",
    undo="and calls reach the plugin again",
    arguments=(
        choice("call", UNARY, "Allocate", "Which call."),
        choice("code", CODES, "Unavailable", "The status."),
        text("text", "error reading from server: EOF", "The text of the status."),
    ),
    rules=("DM-78", "DM-103"),
    filters=PLUGIN,
    counts=True,
)
class _FailedCall(Before):
    async def before(self, call: str) -> None:
        given = self.active.arguments
        if self.active.once(self.subject, f"{call} fails without reaching the plugin"):
            raise RpcFailed(given["code"], given["text"])


@lasting(
    "concurrent-allocate",
    "calls",
    "Every Allocate reaches the plugin twice at the same time for the same devices, as when a kubelet restarts in the"
    " middle of one. The pod gets the first answer.",
    "every Allocate is made twice at once from now on",
    undo="and Allocate is called once again",
    rules=("DM-98", "DM-112"),
    filters=PLUGIN,
    counts=True,
)
class _Twice(Through):
    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        with self.active.applying(self.subject, f"Allocate goes out twice at once for {_named(device_ids)}") as applies:
            if not applies:
                return await self.inner.allocate(device_ids)
            first, second = await asyncio.gather(
                self.inner.allocate(device_ids), self.inner.allocate(device_ids), return_exceptions=True
            )
        if isinstance(second, BaseException):
            self.active.note(self.subject, f"the second Allocate failed: {second}")
        elif isinstance(first, AllocateAnswer):
            same = "the same" if second == first else "another answer"
            self.active.note(self.subject, f"the second Allocate got {same}")
        if isinstance(first, BaseException):
            raise first
        return first


@lasting(
    "repeat-prestart",
    "calls",
    "PreStartContainer is called twice for each start of a container, as when the first try to create it fails.",
    "every PreStartContainer is made twice from now on",
    undo="and it is called once again",
    rules=("DM-103", "DM-107"),
    filters=PLUGIN,
    counts=True,
)
class _Again(Through):
    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        await self.inner.pre_start_container(device_ids, timeout_s)
        with self.active.applying(self.subject, f"PreStartContainer again for {_named(device_ids)}") as applies:
            if applies:
                await self.inner.pre_start_container(device_ids, timeout_s)


def _named(device_ids: Sequence[DeviceID]) -> str:
    return ", ".join(device_ids) or "no devices"
