"""Plugins of a story that are commands: their processes, and what one can do with them and see of them."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.ids import ClientID
from kubelet_sim.model.views import PluginView
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.node import Node
from kubelet_sim.node.plugin.isolation import namespaces_available
from kubelet_sim.node.plugin.plugin_process import Launch, PluginProcess
from kubelet_sim.scenario.play.observed_calls import Observed, double_holders
from kubelet_sim.scenario.plugins.command import CommandScript
from kubelet_sim.scenario.story.included_files import Folder

STOPS_WITHIN_S = 10.0
"""How long a process may take after SIGTERM."""
SHOWN_LINES = 30


class Processes:
    """The commands of one story on their node.

    Args:
        commands: by their names in the story.
        node: where they find a kubelet; it is started.
        bell: rings when a process says something, or ends.
        observed: what came over their connections.
        has_listed: whether a list came over a connection, and was applied.
        folder: the story's, for their working directories.
    """

    def __init__(
        self,
        commands: Mapping[str, CommandScript],
        node: Node,
        bell: Bell,
        observed: Observed,
        has_listed: Callable[[ClientID], bool],
        folder: Folder | None,
    ) -> None:
        self._commands = commands
        self._node = node
        self._bell = bell
        self._observed = observed
        self._has_listed = has_listed
        self._processes = {name: self._process(script, folder) for name, script in commands.items()}
        self._is_wanted = dict.fromkeys(commands, False)
        self._starts = dict.fromkeys(commands, 0)
        self._resources: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._processes

    def _process(self, script: CommandScript, folder: Folder | None) -> PluginProcess:
        cwd = None if script.cwd is None else (folder.of_file if folder else Path()) / script.cwd
        command = tuple(word.replace("{python}", sys.executable) for word in script.command)
        launch = Launch(command, self._node.root.layout, script.env, cwd, is_isolated=False)
        isolate = script.isolate
        if isolate == "auto":
            isolate = "none" if launch.has_placeholder else "namespace"
        return PluginProcess(evolve(launch, is_isolated=isolate == "namespace"), changed=self._bell.ring)

    async def close(self) -> None:
        """End all of them, with everything that they have started."""
        await asyncio.gather(*(process.close() for process in self._processes.values()))

    def output(self) -> Mapping[str, tuple[str, ...]]:
        """The last lines of each that has said something."""
        return {
            name: tuple(line.text for line in list(process.lines)[-SHOWN_LINES:])
            for name, process in self._processes.items()
            if process.lines
        }

    def note_plugins(self) -> None:
        """Remember which sockets belong to which resource."""
        for view in self._views():
            self._resources[view.socket_path] = view.resource

    def _views(self) -> tuple[PluginView, ...]:
        return self._node.status().plugins if self._node.has_kubelet else ()

    async def do(self, verb: str, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do one step with one of them. Raises `KubeletSimError` for what cannot be done."""
        return await self._verbs[verb](self, name, **arguments)

    # --- their life

    async def _start(self, name: str) -> Any:
        process = self._processes[name]
        if process.pid is None:
            await self._check_isolation(process)
            self._is_wanted[name] = True
            self._starts[name] += 1
            await process.start()
        return {"started": True}

    async def _check_isolation(self, process: PluginProcess) -> None:
        if process.is_isolated and (why := await asyncio.to_thread(namespaces_available)) is not None:
            raise TransportError(f"the plugin cannot see the node at /var/lib/kubelet: {why}")

    async def _serve(self, name: str) -> Any:
        await self._register(name)
        return {}

    async def _register(self, name: str, *, nowait: bool = False) -> Any:
        await self._start(name)
        script, process = self._commands[name], self._processes[name]
        if nowait:
            return {"code": "OK", "message": ""}
        if not script.registered:
            raise UsageError(f"{name} does not say when it is ready; give it ready: {{registered: RESOURCE}}")
        deadline = asyncio.get_running_loop().time() + script.within_s
        while not self._is_registered(script):
            with self._bell.listening() as rung:
                if self._is_registered(script):
                    break
                if process.has_ended:
                    raise TransportError(f"{name} ended with {process.exit_code} before it had registered")
                left_s = deadline - asyncio.get_running_loop().time()
                if left_s <= 0:
                    waited = f"within {script.within_s:g} s"
                    raise TransportError(f"{name} did not register {' and '.join(script.registered)} {waited}")
                await rung(left_s)
        return {"code": "OK", "message": ""}

    def are_ready(self, waited_s: float) -> bool:
        """Whether each that runs is, or has not become so in its time; without a kubelet none can."""
        return not self._node.has_kubelet or all(
            process.pid is None or self._is_registered(script) or waited_s >= script.within_s
            for process, script in zip(self._processes.values(), self._commands.values(), strict=True)
        )

    def _is_registered(self, script: CommandScript) -> bool:
        """Whether each resource has a plugin, whose list has arrived: devices of an earlier process are not it."""
        ready = {
            view.resource
            for view in self._views()
            if view.state == "live" and view.has_stream and self._has_listed(ClientID(view.client))
        }
        return ready.issuperset(script.registered)

    async def _stop(self, name: str) -> Any:
        process = self._processes[name]
        self._is_wanted[name] = False
        process.stop()
        if not await process.ended(STOPS_WITHIN_S):
            await process.kill()
            raise TransportError(f"{name} did not end within {STOPS_WITHIN_S:g} s after SIGTERM, and was killed")
        await process.kill()  # what it has left behind
        await self._gone(name)
        return {}

    async def _kill(self, name: str) -> Any:
        self._is_wanted[name] = False
        await self._processes[name].kill()
        await self._gone(name)
        return {}

    async def _gone(self, name: str) -> None:
        """Return when the node has noticed."""
        wanted = set(self._commands[name].registered)
        what = f"that the node noticed the end of {name}"
        others = {each for other, script in self._commands.items() if other != name for each in script.registered}
        if not wanted & others:
            await self._bell.until(
                lambda: not any(view.has_stream for view in self._views() if view.resource in wanted), what
            )

    async def _signal(self, name: str, signal: int) -> Any:
        self._processes[name].signal(signal)
        return {}

    # --- looking

    async def _look(self, name: str) -> Any:
        process = self._processes[name]
        return {"running": process.pid is not None, "exit_code": process.exit_code}

    async def _output(self, name: str, about: str = "") -> Any:
        return {"lines": [line.text for line in self._processes[name].lines if about in line.text]}

    async def _sound(self, name: str) -> Any:
        self.note_plugins()
        process, script = self._processes[name], self._commands[name]
        sockets = [
            path for path, resource in self._resources.items() if resource in script.registered or not script.registered
        ]
        problems = self._observed.problems(sockets, self._starts[name])
        if self._is_wanted[name] and process.has_ended:
            problems.append(f"the process ended by itself, with {_end(process.exit_code)}")
        if self._node.has_kubelet:
            state = self._node.kubelet.state
            problems += double_holders(state, (pod.uid for pod in state.active_pods.values()))
        return {"problems": problems}

    _verbs: Mapping[str, Callable[..., Any]] = {
        "start": _start,
        "serve": _serve,
        "register": _register,
        "stop": _stop,
        "kill": _kill,
        "signal": _signal,
        "process": _look,
        "output": _output,
        "sound": _sound,
    }


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
