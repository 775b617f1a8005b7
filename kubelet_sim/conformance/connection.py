"""A connection of a check's own to the plugin: what it calls stands in the transcript, like the kubelet's own calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import PRE_START_TIMEOUT_S, AllocateAnswer, PluginOptions
from kubelet_sim.transcript import Transcript
from kubelet_sim.wire import messages
from kubelet_sim.wire.plugin_client import GrpcPluginConnection

T = TypeVar("T")
ANSWER_WITHIN_S = 30.0
"""How long an answer is waited for. A kubelet waits for ever: whoever takes longer than this holds up the whole node."""
_MOST_SHOWN = 8


class RecordedConnection:
    """Calls of one check. Ids are texts; every method raises `RpcFailed`, also, with `DeadlineExceeded`, after 30 s.

    Args:
        inner: dialled already; whoever made it closes it.
        transcript: of the node.
        resource: whose plugin it is.
    """

    def __init__(self, inner: GrpcPluginConnection, transcript: Transcript, resource: str) -> None:
        self.inner = inner
        """For calls that this has no method for: `inner.call(path, request, decode)`."""
        self._transcript = transcript
        self._resource = resource
        self.took_s: list[float] = []
        """How long each call took so far, those that failed included."""

    async def options(self) -> PluginOptions:
        """Calls GetDevicePluginOptions and returns what the plugin answers."""
        return await self.timed("GetDevicePluginOptions", self.inner.get_device_plugin_options())

    async def allocate(self, ids: Sequence[str]) -> AllocateAnswer:
        """Calls Allocate with one container request, as the kubelet makes it."""
        return await self.timed(f"Allocate({_shown(ids)})", self.inner.allocate(_ids(ids)))

    async def allocate_each(self, requests: Sequence[Sequence[str]]) -> AllocateAnswer:
        """Allocate with any number of container requests, none included; a kubelet makes one."""
        request = messages.encode_allocate_requests([_ids(ids) for ids in requests])
        what = f"Allocate of {len(requests)} containers ({'; '.join(map(_shown, requests))})"
        path = f"/{messages.PLUGIN_SERVICE}/Allocate"
        return await self.timed(what, self.inner.call(path, request, messages.decode_allocate_answer))

    async def prefer(self, available: Sequence[str], must_include: Sequence[str], size: int) -> tuple[DeviceID, ...]:
        """Calls GetPreferredAllocation; returns the ids for the first container, none if there is none."""
        what = f"GetPreferredAllocation({size} of {_shown(available)}; with {_shown(must_include)})"
        return await self.timed(what, self.inner.get_preferred_allocation(_ids(available), _ids(must_include), size))

    async def pre_start(self, ids: Sequence[str], within_s: float = PRE_START_TIMEOUT_S) -> None:
        """Calls PreStartContainer, with the kubelet's deadline."""
        await self.timed(f"PreStartContainer({_shown(ids)})", self.inner.pre_start_container(_ids(ids), within_s))

    async def lists(self) -> AsyncIterator[tuple[Device, ...]]:
        """Calls ListAndWatch and yields each list; close the iterator (`aclose`) to cut the stream."""
        self._add("ListAndWatch opened")
        count = 0
        try:
            async for devices in self.inner.list_and_watch():
                count += 1
                yield devices
        finally:
            self._add(f"ListAndWatch over after {count} lists")

    async def timed(self, what: str, call: Awaitable[T], within_s: float = ANSWER_WITHIN_S) -> T:
        """The answer, with both in the transcript and the time in `took_s`."""
        begun_s = time.monotonic()
        self._add(what)
        try:
            async with asyncio.timeout(within_s):
                answer = await call
        except TimeoutError:
            self._finish(what, begun_s, f"no answer within {within_s:g} s")
            raise RpcFailed("DeadlineExceeded", f"no answer within {within_s:g} s") from None
        except RpcFailed as failure:
            self._finish(what, begun_s, str(failure))
            raise
        self._finish(what, begun_s, "OK")
        return answer

    def _finish(self, what: str, begun_s: float, came: str) -> None:
        took_s = time.monotonic() - begun_s
        self.took_s.append(took_s)
        self._add(f"{what.partition('(')[0]}: {came} after {took_s * 1000:.0f} ms")

    def _add(self, text: str) -> None:
        self._transcript.add("check", self._resource, text)


Call = Callable[[RecordedConnection], Awaitable[object]]


def _ids(ids: Sequence[str]) -> tuple[DeviceID, ...]:
    return tuple(map(DeviceID, ids))


def _shown(ids: Sequence[str]) -> str:
    more = f", … {len(ids)} in all" if len(ids) > _MOST_SHOWN else ""
    return ", ".join(ids[:_MOST_SHOWN]) + more
