"""A plugin that follows a script, on a real socket, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginInfo, PluginOptions, PreferredAllocationRequest
from kubelet_sim.model.response import ContainerResponse, DeviceNode, Mount
from kubelet_sim.node.root_directory.layout import KUBELET_ROOT
from kubelet_sim.scenario.plugins.script import AllocateScript, Devices, During, Script
from kubelet_sim.wire.plugin_server import PluginServer


@define(eq=False)
class Stream:
    """One open ListAndWatch stream, as the plugin sees it."""

    sent: int = 0
    """Lists that were handed to the connection."""
    _pending: asyncio.Queue[Devices | RpcFailed | None] = field(factory=asyncio.Queue)

    @property
    def due(self) -> int:
        """Lists sent, and to be sent."""
        return self.sent + self._pending.qsize()

    def send(self, devices: Devices) -> None:
        """Send a list when the ones before are sent."""
        self._pending.put_nowait(devices)

    def end(self, failure: RpcFailed | None = None) -> None:
        """End the stream when the lists before are sent."""
        self._pending.put_nowait(failure)

    async def lists(self) -> AsyncGenerator[Devices, None]:
        """What is sent, until the end. Raises `RpcFailed` for an end with a status."""
        while isinstance(sent := await self._pending.get(), tuple):
            self.sent += 1
            yield sent
        if sent is not None:
            raise sent


Say = Callable[[str], None]
_MOST_NAMED = 8
Arrived = Callable[["ScriptedPlugin"], Awaitable[None]]
"""Returns when the node has dealt with all that a plugin sent, the end of its streams included."""


async def _at_once(_: ScriptedPlugin) -> None:
    return


class ScriptedPlugin:
    """A `PluginBehaviour` with a script, which may change at any time, and the server it sits on.

    Args:
        script: what it does.
        directory: where its socket goes; `plugins_registry` lies beside it.
        arrived: waits until the node has dealt with what was sent; for pushes in the middle of a call.
        changed: called whenever a stream opens, closes, or has sent a list.
        say: takes a line for people about each call; then the plugin does not remember the call.
    """

    def __init__(
        self,
        script: Script,
        directory: Path,
        *,
        arrived: Arrived = _at_once,
        changed: Callable[[], None] = lambda: None,
        say: Say | None = None,
    ) -> None:
        self.script = script
        self.devices = script.devices
        """The list: that of the script when it began to serve, or a later one. `None`: streams stay silent."""
        self.streams: list[Stream] = []
        """Those that are open, oldest first."""
        self._directory = directory
        self._arrived = arrived
        self._changed = changed
        self._server = PluginServer(self)
        self._registry_server = PluginServer(self, self)
        self._notices: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []
        self._seen: Counter[str] = Counter()
        self._says = say

    def _say(self, text: str) -> None:
        if self._says is not None:
            self._says(text)

    def _asked(self, rpc: str, *texts: str, **request: Any) -> None:
        """Remember a call, or say it."""
        if self._says is None:
            self._calls.append({"rpc": rpc, **request})
        for text in texts:
            self._say(f"{rpc}: {text}")

    # --- its life

    @property
    def socket_path(self) -> Path:
        """The socket on which the plugin listens, or would."""
        return self._directory / self.script.socket

    @property
    def registry_path(self) -> Path:
        """Where the plugin watcher would find it. Rules: DM-146"""
        return self._directory.with_name("plugins_registry") / (self.script.registry.socket or self.script.socket)

    @property
    def is_serving(self) -> bool:
        """Whether the plugin listens on its socket."""
        return self._server.is_serving

    async def serve(self, *, anew: bool = True) -> None:
        """Listen, unless it does; a stale socket is replaced. Raises `TransportError`.

        Args:
            anew: whether a new process serves, with the script's list and no memory of calls, or the same one again.
        """
        if self.is_serving:
            return
        if anew:
            self.devices = self.script.devices
            self._calls.clear()
        await self._server.serve(self.socket_path)

    async def let_itself_be_found(self) -> None:
        """Listen in `plugins_registry`, too, on a new socket file. Raises `TransportError`."""
        await self.serve()
        await self._registry_server.stop()
        await self._registry_server.serve(self.registry_path)

    def hide(self) -> None:
        """Remove the socket file in `plugins_registry`, and go on serving."""
        self.registry_path.unlink(missing_ok=True)

    async def stop(self) -> None:
        """Cut everything, as the death of the process does."""
        await self._server.stop()
        await self._registry_server.stop()
        self.streams.clear()  # The library ends their calls a little later.
        self._changed()

    def change(self, changes: Mapping[str, Any]) -> None:
        """Replace keys of the script; a list in it counts for streams that open from now on. Raises `UsageError`."""
        self.script = self.script.merged(changes)
        if "devices" in changes:
            self.devices = self.script.devices

    # --- its streams

    def send(self, devices: Devices) -> None:
        """Make this the list, and send it on every stream."""
        self.devices = devices
        for stream in self.streams:
            stream.send(devices)

    def end_streams(self, failure: RpcFailed | None = None) -> None:
        """End every stream, normally or with a status."""
        for stream in self.streams:
            stream.end(failure)

    # --- what it was asked

    def calls(self) -> list[dict[str, Any]]:
        """The calls since the last look, GetDevicePluginOptions and ListAndWatch left out; ids sorted."""
        calls, self._calls = self._calls, []
        return calls

    def seen(self) -> Counter[str]:
        """How many GetDevicePluginOptions and ListAndWatch calls came since the last look."""
        seen, self._seen = self._seen, Counter()
        return seen

    def notices(self) -> list[dict[str, Any]]:
        """How the kubelet said that its registrations by the plugin watcher ended, since the last look."""
        notices, self._notices = self._notices, []
        return notices

    # --- how it answers

    async def info(self) -> PluginInfo:
        """Returns what the script says to the plugin watcher; right is a path as a plugin on a real node would say it."""
        self._seen["GetInfo"] += 1
        registry = self.script.registry
        _fail(registry.info_error)
        return registry.answer(self.script.resource, f"{KUBELET_ROOT}/{self._directory.name}/{self.script.socket}")

    async def notified(self, *, registered: bool, error: str) -> None:
        """Note how the kubelet said that a registration ended; answered as the script says."""
        self._notices.append({"registered": registered, "error": error})
        self._changed()
        _fail(self.script.registry.notify_error)

    async def options(self) -> PluginOptions:
        """Returns the options of the script, or fails as it says."""
        self._seen["GetDevicePluginOptions"] += 1
        await self._do(self.script.options_during)
        _fail(self.script.options_error)
        options = self.script.options
        wanted = {
            "PreStartContainer": options.pre_start_required,
            "GetPreferredAllocation": options.get_preferred_allocation_available,
        }
        self._say(f"GetDevicePluginOptions: {', '.join(name for name in wanted if wanted[name]) or 'none'}")
        return options

    async def lists(self) -> AsyncGenerator[tuple[Device, ...], None]:
        """The list, and every later one."""
        self._seen["ListAndWatch"] += 1
        self._say("ListAndWatch: a stream is open")
        stream = Stream()
        try:
            _fail(self.script.list_error)
            if self.devices is not None:
                stream.send(self.devices)
            self.streams.append(stream)
            self._changed()
            async for devices in stream.lists():
                self._changed()
                ill = sum(not device.is_healthy for device in devices)
                self._say(f"ListAndWatch: sent {len(devices)} devices, {ill} of them unhealthy")
                yield devices
        finally:
            self._say("ListAndWatch: the stream is closed")
            if stream in self.streams:
                self.streams.remove(stream)
            self._changed()

    async def allocate(self, requests: Sequence[tuple[DeviceID, ...]]) -> AllocateAnswer:
        """Answers Allocate as the script says, for each container request."""
        ids = sorted(device for request in requests for device in request)
        self._asked("Allocate", "; ".join(map(_ids, requests)), requests=len(requests), ids=ids)
        script = self.script.allocate
        await self._do(script.during)
        _fail(script.error)
        if script.no_response:
            return AllocateAnswer(())
        return AllocateAnswer(
            tuple(_response(script, request) for request in requests for _ in range(script.responses))
        )

    async def preferred(self, requests: Sequence[PreferredAllocationRequest]) -> Sequence[Sequence[DeviceID]]:
        """Returns what the script prefers, for each container request."""
        asked = [
            f"{each.size} of {_ids(each.available)}{f', with {_ids(each.must_include)}' if each.must_include else ''}"
            for each in requests
        ]
        self._asked(
            "GetPreferredAllocation",
            *asked,
            requests=len(requests),
            available=sorted(device for request in requests for device in request.available),
            must_include=sorted(device for request in requests for device in request.must_include),
            size=sum(request.size for request in requests),
        )
        script = self.script.preferred
        await self._do(script.during)
        _fail(script.error)
        return [] if script.no_response else [script.ids for _ in requests]

    async def pre_start(self, device_ids: tuple[DeviceID, ...]) -> None:
        """Answers PreStartContainer as the script says."""
        self._asked("PreStartContainer", _ids(device_ids), ids=sorted(device_ids))
        await self._do(self.script.prestart.during)
        _fail(self.script.prestart.error)

    async def _do(self, during: During) -> None:
        """The plugin's own time is real: nothing here is virtual."""
        if during.sleep_s:
            await asyncio.sleep(during.sleep_s)
        if during.push is not None:
            self.send(during.push)
            await self._arrived(self)
        if during.drop:
            self.end_streams()
            await self._arrived(self)


def _ids(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_MOST_NAMED])
    return f"{shown} and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else shown or "nothing"


def _fail(failure: RpcFailed | None) -> None:
    if failure is not None:
        raise RpcFailed(failure.code, failure.description)


def _response(script: AllocateScript, device_ids: Sequence[DeviceID]) -> ContainerResponse:
    ids = sorted(device_ids)
    nodes = [DeviceNode(*node) for node in script.devices]
    if script.device_per_id:
        nodes += [DeviceNode(f"/dev/{device}", f"/dev/host-{device}", "rw") for device in ids]
    return ContainerResponse(
        envs={name: value.replace("{ids}", ",".join(ids)) for name, value in script.envs.items()},
        mounts=tuple(Mount(*mount) for mount in script.mounts),
        devices=tuple(nodes),
        annotations=script.annotations,
        cdi_devices=script.cdi,
    )
