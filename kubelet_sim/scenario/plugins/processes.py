"""Plugins of a story that are commands: their processes, and when they are ready, and how they end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import define

from kubelet_sim.errors import TransportError
from kubelet_sim.model.ids import ClientID
from kubelet_sim.model.views import PluginView
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.node import Node
from kubelet_sim.node.plugin.isolation import namespaces_available
from kubelet_sim.node.plugin.launch import Launch
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.scenario.plugins.command import CommandScript, Readiness
from kubelet_sim.scenario.story.included_files import Folder

STOPS_WITHIN_S = 10.0
"""How long a process may take after SIGTERM."""
SHOWN_LINES = 30


@define(eq=False)
class PluginCommand:
    """One plugin of a story that is a command."""

    script: CommandScript
    process: PluginProcess
    is_wanted: bool = False
    """Whether it is to run: it was started, and nobody has stopped it."""
    starts: int = 0

    def problems(self) -> list[str]:
        """Whether its process has ended, and nobody wanted it to."""
        if not self.is_wanted or not self.process.has_ended:
            return []
        code = self.process.exit_code
        end = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return [f"the process ended by itself, with {end}"]


class PluginCommands:
    """The plugins of one story that are commands, on their node.

    Args:
        commands: by their names in the story.
        node: where they find a kubelet; it is started.
        bell: rings when a process says something, or ends.
        has_listed: whether a list came over a connection, and was applied.
        folder: the story's, for their working directories.
    """

    def __init__(
        self,
        commands: Mapping[str, CommandScript],
        node: Node,
        bell: Bell,
        has_listed: Callable[[ClientID], bool],
        folder: Folder | None,
    ) -> None:
        self._node = node
        self._bell = bell
        self._has_listed = has_listed
        self._by_name = {
            name: PluginCommand(script, self._process(script, folder)) for name, script in commands.items()
        }
        self._resources: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> PluginCommand:
        return self._by_name[name]

    def _process(self, script: CommandScript, folder: Folder | None) -> PluginProcess:
        cwd = None if script.cwd is None else (folder.of_file if folder else Path()) / script.cwd
        command = tuple(word.replace("{python}", sys.executable) for word in script.command)
        is_isolated = script.isolate == "namespace"
        launch = Launch(command, self._node.root.layout, script.env, cwd, is_isolated=is_isolated)
        launch = launch.isolated_unless_told() if script.isolate == "auto" else launch
        return PluginProcess(launch, changed=self._bell.ring)

    async def close(self) -> None:
        """End all of them, with everything that they have started."""
        await asyncio.gather(*(each.process.close() for each in self._by_name.values()))

    def output(self) -> Mapping[str, tuple[str, ...]]:
        """The last lines of each that has said something."""
        return {
            name: tuple(line.text for line in list(each.process.lines)[-SHOWN_LINES:])
            for name, each in self._by_name.items()
            if each.process.lines
        }

    def note_plugins(self) -> None:
        """Remember which sockets belong to which resource."""
        if self._by_name:
            self._resources |= {view.socket_path: view.resource for view in self._views()}

    def sockets(self, name: str) -> list[str]:
        """The sockets that have belonged to a resource of that command; to any, if it does not say to which."""
        self.note_plugins()
        registered = self._by_name[name].script.ready.registered
        return [path for path, resource in self._resources.items() if resource in registered or not registered]

    def _views(self) -> tuple[PluginView, ...]:
        return self._node.status().plugins if self._node.has_kubelet else ()

    async def start(self, name: str) -> None:
        """Start its process, unless it runs. Raises `TransportError` if it cannot see the node as it should."""
        command = self._by_name[name]
        if command.process.pid is None:
            if command.process.is_isolated and (why := await asyncio.to_thread(namespaces_available)) is not None:
                raise TransportError(f"the plugin cannot see the node at /var/lib/kubelet: {why}")
            command.is_wanted = True
            command.starts += 1
            await command.process.start()

    async def ready(self, name: str) -> None:
        """Return when it has registered. Raises `TransportError` if it ends before, or takes too long."""
        process, ready = self._by_name[name].process, self._by_name[name].script.ready
        deadline = asyncio.get_running_loop().time() + ready.within_s
        while not self._is_ready(ready):
            with self._bell.listening() as rung:
                if self._is_ready(ready):
                    break
                if process.has_ended:
                    raise TransportError(f"{name} ended with {process.exit_code} before it had registered")
                left_s = deadline - asyncio.get_running_loop().time()
                if left_s <= 0:
                    waited = f"within {ready.within_s:g} s"
                    raise TransportError(f"{name} did not register {' and '.join(ready.registered)} {waited}")
                await rung(left_s)

    def are_ready(self, waited_s: float) -> bool:
        """Whether each that runs is, or has not become so in its time; without a kubelet none can."""
        return not self._node.has_kubelet or all(
            each.process.pid is None or self._is_ready(each.script.ready) or waited_s >= each.script.ready.within_s
            for each in self._by_name.values()
        )

    def _is_ready(self, ready: Readiness) -> bool:
        """Whether each resource has a plugin, whose list has arrived: devices of an earlier process are not it."""
        live = {
            view.resource
            for view in self._views()
            if view.state == "live" and view.has_stream and self._has_listed(ClientID(view.client))
        }
        return live.issuperset(ready.registered)

    async def stop(self, name: str) -> None:
        """End it by SIGTERM. Raises `TransportError` if it had to be killed."""
        command = self._by_name[name]
        command.is_wanted = False
        command.process.stop()
        if not await command.process.ended(STOPS_WITHIN_S):
            await command.process.kill()
            raise TransportError(f"{name} did not end within {STOPS_WITHIN_S:g} s after SIGTERM, and was killed")
        await self.kill(name)  # what it has left behind

    async def kill(self, name: str) -> None:
        """End it, and everything that it has started, by SIGKILL; returns when the node has noticed."""
        self._by_name[name].is_wanted = False
        await self._by_name[name].process.kill()
        wanted = set(self._by_name[name].script.ready.registered)
        others = {each for other, it in self._by_name.items() if other != name for each in it.script.ready.registered}
        if not wanted & others:
            await self._bell.until(
                lambda: not any(view.has_stream for view in self._views() if view.resource in wanted),
                f"that the node noticed the end of {name}",
            )
