"""A plugin that does as a test tells it, on a real socket, for tests without an event loop of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.sync import SyncNode
from kubelet_sim.scenario.plugins.script import read_devices, read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.wire.registration_client import register

T = TypeVar("T")
DeviceLike = str | Mapping[str, Any]
"""An id, or `{"id", "health", "numa"}` as in stories."""


class FakePlugin:
    """A scripted plugin of one node; it serves from the start of its context to the end.

    Args:
        kubelet: a started node.
        resource: the name it registers.
        devices: its list; a plain id is a healthy device without topology.
        socket: the file name of its socket.
        script: further keys of a story's plugin script, such as `allocate={"envs": {"IDS": "{ids}"}}`.
    """

    def __init__(
        self,
        kubelet: SyncNode,
        resource: str,
        *,
        devices: Sequence[DeviceLike] = ("a", "b"),
        socket: str = "fake.sock",
        **script: Any,
    ) -> None:
        self._kubelet = kubelet
        source = {"resource": resource, "socket": socket, "devices": _devices(devices), **script}
        self._plugin = ScriptedPlugin(read_script(source), Path(kubelet.device_plugin_directory))

    def __enter__(self) -> Self:
        self._kubelet.run(self._plugin.serve())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def register(self, timeout_s: float = 30.0) -> None:
        """Call Register, and wait until the node has the list. Raises `RpcFailed` with the kubelet's refusal."""
        registration = self._plugin.script.registration
        self._kubelet.run(register(self._kubelet.registration_socket, registration))
        self._wait(timeout_s)

    def send(self, *devices: DeviceLike, timeout_s: float = 30.0) -> None:
        """Replace the list, and wait until the node has it."""
        self._in_loop(lambda: self._plugin.send(read_devices(_devices(devices))))
        self._wait(timeout_s)

    def end_streams(self, code: str | None = None, text: str = "") -> None:
        """End every stream: normally, or with a status such as `Unavailable`. The node may notice a little later."""
        self._in_loop(lambda: self._plugin.end_streams(None if code is None else RpcFailed(code, text)))

    def stop(self) -> None:
        """Cut everything, as the death of the process does. May be repeated."""
        if self._kubelet.is_started:
            self._kubelet.run(self._plugin.stop())

    def change(self, **script: Any) -> None:
        """Replace keys of its script from now on."""
        self._in_loop(lambda: self._plugin.change(script))

    def calls(self) -> list[dict[str, Any]]:
        """The Allocate calls since the last look: `rpc`, `requests` (how many) and `ids` (sorted)."""
        return self._in_loop(self._plugin.calls)

    def _in_loop(self, act: Callable[[], T]) -> T:
        """What the plugin answers in the node's loop, where it lives."""

        async def run() -> T:
            return act()

        return self._kubelet.run(run())

    def _wait(self, timeout_s: float) -> None:
        """Until the node's table is the list."""
        expected = sorted({device.id: device.health for device in self._plugin.devices or ()}.items())

        def has_it(snapshot: NodeSnapshot) -> bool:
            found = [each for each in snapshot.resources if each.name == self._plugin.script.resource]
            is_live = bool(found) and found[0].endpoint == "live"
            return is_live and sorted((each.id, each.health) for each in found[0].devices) == expected

        self._kubelet.wait_for(has_it, timeout_s)


def _devices(devices: Sequence[DeviceLike]) -> list[Mapping[str, Any]]:
    return [{"id": device} if isinstance(device, str) else device for device in devices]
