"""What a story is played on: its node, its plugins, and what is known of them so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubelet_sim.errors import TransportError
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.faults import ActiveFault
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.play.kubelet_progress import KubeletProgress
from kubelet_sim.scenario.play.observed_calls import ObservedCalls
from kubelet_sim.scenario.play.scripted_plugins import ScriptedPlugins
from kubelet_sim.scenario.plugins.processes import PluginCommands
from kubelet_sim.scenario.story.story import Step, Story
from kubelet_sim.transcript import Record


class StoryStage:
    """One story being played, on a node that is started."""

    def __init__(self, story: Story, node: Node, bell: Bell, observed: ObservedCalls) -> None:
        self.story = story
        self.node = node
        self.bell = bell
        """Rings when something may have changed."""
        self.observed = observed
        self.progress = KubeletProgress(node, bell)
        self.plugins = ScriptedPlugins(story.scripts, self.directory, self.progress, bell.ring)
        self.commands = PluginCommands(story.commands, node, bell, self.progress.has_listed, story.folder)
        self.pods: dict[PodUID, Pod] = {}
        """Those that the story has admitted."""
        self.active: tuple[Pod, ...] = ()
        """Those that were active when the kubelet ended."""
        self.faults: dict[str, ActiveFault] = {}
        """Those that the story has injected, by the names that it gives them."""
        self._journal: list[Record] = []
        self._unlisten = node.transcript.listen(self._note)

    def _note(self, record: Record) -> None:
        self._journal.append(record)
        self.bell.ring()

    @property
    def directory(self) -> Path:
        """The directory in which plugins and the kubelet of the story meet."""
        return self.node.root.layout.device_plugins

    async def do(self, step: Step) -> Any:
        """Do one step and return what came. Raises `KubeletSimError` for what cannot be done."""
        kind, arguments = step.kind, dict(step.arguments)
        plugin = arguments.get("plugin")
        if plugin in self.commands and kind.act_of_command is not None:
            came = await kind.act_of_command(self, **arguments)
            await self.plugins.caught_up()
        else:
            if plugin is not None:
                arguments["plugin"] = self.plugins.by_name[plugin]
            runs_containers = self.story.node.runs_containers
            act = (kind.act_on_whole_node if runs_containers else None) or kind.act
            came = await act(self, **arguments)
        self.commands.note_plugins()
        return {} if came is None else came

    def pod(self, uid: str) -> Pod:
        """A pod that a step before has admitted. Raises `TransportError` if none has."""
        try:
            return self.pods[PodUID(uid)]
        except KeyError:
            raise TransportError(f"no step before admitted a pod {uid}") from None

    async def close(self) -> None:
        """Stop all plugins of the story, scripted ones and commands."""
        self._unlisten()
        await self.commands.close()
        await self.plugins.close()

    def journal(self) -> tuple[Record, ...]:
        """What happened on the node since the last look."""
        journal, self._journal = tuple(self._journal), []
        return journal
