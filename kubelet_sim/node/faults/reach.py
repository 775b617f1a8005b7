"""What faults reach of a node: its connections, its clock, its files; and whom the filters of a fault mean."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterable
from pathlib import Path, PurePath
from typing import Any, Protocol

from attrs import define, field

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.model.faults import Fault
from kubelet_sim.model.life import AS_USUAL, Comeback
from kubelet_sim.node.hooks import Hooks
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.kubelet_process.plugin_connections import Link
from kubelet_sim.node.ports import Clock, PluginCalls
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.root_directory.root import Root
from kubelet_sim.tasks import Tasks
from kubelet_sim.transcript import RecordLevel, Transcript


class FaultyNode(Protocol):
    """A node as faults see it; `kubelet_sim.node.node.Node` fits by shape."""

    hooks: Hooks
    clock: Clock
    transcript: Transcript
    plugin_calls: PluginCalls
    """The way to plugins, past all hooks."""

    @property
    def root(self) -> Root:
        """Raises `UsageError` if the node is not started."""

    @property
    def kubelet(self) -> KubeletProcess:
        """Raises `UsageError` if there is none."""

    @property
    def has_kubelet(self) -> bool:
        """Whether a kubelet process listens."""

    async def restart(self, how: Comeback = AS_USUAL) -> None:
        """Raises `TransportError`."""


@define(eq=False)
class Reach:
    """The way from faults to their node."""

    node: FaultyNode
    tasks: Tasks = field(factory=Tasks)
    """What faults have set going that outlives them, and ends with the node."""

    @property
    def hooks(self) -> Hooks:
        """The hooks of the node, on which a fault holds on."""
        return self.node.hooks

    @property
    def clock(self) -> Clock:
        """The node's."""
        return self.node.clock

    @property
    def transcript(self) -> Transcript:
        """The node's."""
        return self.node.transcript

    @property
    def layout(self) -> RootLayout:
        """Raises `UsageError` if the node is not started."""
        return self.node.root.layout

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something that outlives the fault, and ends with the node; a failure is told."""
        self.tasks.run(work).add_done_callback(self._tell_failure)

    def links(self, fault: Fault) -> list[Link]:
        """The connections of the running kubelet that are open and that the filters mean, oldest first."""
        return [link for link in self._all_links() if not link.is_closed and _is_meant(fault, link)]

    def live_links(self, fault: Fault) -> list[Link]:
        """Those of them that have a stream. Raises `UsageError` if there is none."""
        found = [link for link in self.links(fault) if link.has_stream]
        if not found:
            raise UsageError(self._nobody(fault))
        return found

    def live_link(self, fault: Fault) -> Link:
        """The one that is meant. Raises `UsageError` if it is none, or not one."""
        found = self.live_links(fault)
        if len({link.socket_path for link in found}) > 1:
            names = sorted({f"{link.resource} ({PurePath(link.socket_path).name})" for link in found})
            raise UsageError(f"say which plugin is meant, by resource or socket; {there_are(names)}")
        return found[-1]

    def fits(self, fault: Fault, path: str) -> bool:
        """Whether the plugin at that socket path is meant."""
        if not fault.resource and not fault.socket:
            return True
        return any(link.socket_path == path and _is_meant(fault, link) for link in self._all_links())

    def subject(self, path: str) -> str:
        """What the plugin at that path serves, or the name of its socket."""
        found = [link.resource for link in self._all_links() if link.socket_path == path]
        return found[-1] if found else PurePath(path).name

    def own(self, path: Path) -> Path:
        """The path, if it lies below a root that we made. Raises `UsageError`."""
        layout = self.layout
        if not layout.marker.is_file() or not path.is_relative_to(layout.path):
            raise UsageError(f"{path} does not lie below a root that kubelet-sim made: nothing is broken there")
        return path

    def plugin_socket(self, fault: Fault) -> Path:
        """The socket file of the plugin that is meant: it need not be registered if it is named.

        Raises:
            UsageError: there is none, or more than one.
        """
        if fault.socket:
            path = Path(os.path.normpath(self.layout.device_plugins / fault.socket))
            return self.own(path)
        return Path(self.live_link(fault).socket_path)

    def _all_links(self) -> Iterable[Link]:
        return tuple(self.node.kubelet.driver.links.values()) if self.node.has_kubelet else ()

    def _nobody(self, fault: Fault) -> str:
        names = sorted({link.resource for link in self._all_links() if link.has_stream and not link.is_closed})
        who = fault.resource or fault.socket
        return f"no plugin {f'of {who} ' if who else ''}has an open stream; {there_are(names)}"

    def _tell_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            self.transcript.add("fault", "node", f"what a fault wanted failed: {failure}", level=RecordLevel.WARNING)


def _is_meant(fault: Fault, link: Link) -> bool:
    by_resource = not fault.resource or fault.resource == link.resource
    by_socket = not fault.socket or fault.socket in (link.socket_path, PurePath(link.socket_path).name)
    return by_resource and by_socket
