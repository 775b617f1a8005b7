"""A plugin that lets the plugin watcher find it, in the loop of the node that it serves."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, PluginInfo
from kubelet_sim.node.sync import SyncNode
from kubelet_sim.scenario.plugins.script import AllocateScript, Script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.wire.plugin_server import PluginServer


class WatchedPlugin:
    """Listens on one socket in `plugins_registry`, for its registration and for the device plugin's calls."""

    def __init__(self, directory: Path, resource: str, devices: tuple[str, ...]) -> None:
        script = Script(
            ResourceName(resource),
            "w.sock",
            tuple(Device(DeviceID(each)) for each in devices),
            allocate=AllocateScript(envs={"IDS": "{ids}"}),
        )
        self._info = PluginInfo("DevicePlugin", resource, "", (API_VERSION,))
        self._socket = directory / "watched-reg.sock"
        self._server = PluginServer(ScriptedPlugin(script, directory), self)

    @classmethod
    async def started(cls, node: SyncNode, resource: str, devices: tuple[str, ...]) -> Self:
        """One that listens beside a node."""
        plugin = cls(node.node.root.layout.plugins_registry, resource, devices)
        await plugin._server.serve(plugin._socket)
        return plugin

    async def info(self) -> PluginInfo:
        """What the watcher is told."""
        return self._info

    async def notified(self, *, registered: bool, error: str) -> None:
        """The watcher says how the registration went."""

    async def stop(self) -> None:
        """Gone, with its socket."""
        await self._server.stop()
