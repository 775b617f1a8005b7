"""The same node for callers without an event loop: tests, scripts, a prompt.

All such nodes of a process share one loop in a background thread, which is there as long as any of them is started.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from kubelet_sim.core.ports import Order
from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.faults import ActiveFault
from kubelet_sim.node.node import Node
from kubelet_sim.node.node_views import NodeViews
from kubelet_sim.node.pods.main_loop import MainLoop
from kubelet_sim.node.ports import CheckpointStore, Clock, PluginCalls
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.node.waited_for import Beside, InVain, instead, unless_hopeless
from kubelet_sim.transcript import Record

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
Part = TypeVar("Part")


class _BackgroundLoop:
    """One event loop in a thread, which all nodes of this process share; there as long as any of them uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._user_count = 0
        self._loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread

    def acquire(self) -> None:
        """Use it from now on, until `release`."""
        with self._lock:
            if not self._user_count:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="kubelet-sim", daemon=True)
                self._thread.start()
            self._user_count += 1

    def release(self) -> None:
        """Use it no longer; the last one ends the thread, and the loop with it."""
        with self._lock:
            self._user_count -= 1
            if self._user_count:
                return
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something there and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


_BACKGROUND = _BackgroundLoop()


class SyncFault:
    """A fault of a `SyncNode`; used as a context manager, it is undone at the end."""

    def __init__(self, node: SyncNode, active: ActiveFault) -> None:
        self._node = node
        self._active = active

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._node.is_started:
            self.undo()

    def undo(self) -> None:
        """End it, and take back what can be taken back. May be repeated."""
        self._node.run(self._active.undo())

    def view(self) -> FaultView:
        """As it is now: what it did, and how often it applied."""
        return self._node.look(lambda _: self._active.view())


def blocking_method(
    method: Callable[Concatenate[Part, P], Awaitable[R]], of: Callable[[Node], Part]
) -> Callable[Concatenate[SyncNode, P], R]:
    """A method of `SyncNode` that runs one of the node, or of a part of it, in the node's loop and waits for it.

    Args:
        method: the one that it stands for; it lends its name and its docstring.
        of: where the node has the part.
    """

    @wraps(method)
    def call(node: SyncNode, /, *args: P.args, **kwargs: P.kwargs) -> R:
        async def work() -> R:
            return await method(of(node.node), *args, **kwargs)

        return node.run(work())

    return call


def blocking_look(
    method: Callable[Concatenate[Part, P], R], of: Callable[[Node], Part]
) -> Callable[Concatenate[SyncNode, P], R]:
    """As `blocking_method`, for a method that answers at once: nothing else runs in the loop meanwhile."""

    @wraps(method)
    def call(node: SyncNode, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return node.look(lambda it: method(of(it), *args, **kwargs))

    return call


def _node(node: Node) -> Node:
    return node


def _pods(node: Node) -> MainLoop:
    return node.pods


def _views(node: Node) -> NodeViews:
    return node.views


class SyncNode:
    """A `Node` with methods that block. Use it as a context manager, or call `start` and `stop`.

    Each method does what the one of the same name does in `Node`, and raises the same errors.
    """

    def __init__(
        self,
        config: NodeConfig,
        *,
        clock: Clock | None = None,
        calls: PluginCalls | None = None,
        order: Order | None = None,
        store: CheckpointStore | None = None,
        transcript: Path | None = None,
    ) -> None:
        self.config = config
        self._transcript = transcript
        self._at_the_end = ExitStack()
        self._make = partial(Node, config, clock=clock, calls=calls, order=order, store=store)
        self.is_started = False
        """Whether it is between `start` and `stop`."""
        self._node: Node | None = None
        self.beside: list[Beside] = []
        """The processes that a wait in vain tells of, if they have ended."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the node; nothing is left behind if that fails."""
        if self.is_started:
            raise UsageError("the node is started already")
        _BACKGROUND.acquire()
        self.is_started = True
        try:
            self._node = self.run(self._started())
        except BaseException:
            self._release()
            raise

    def stop(self) -> None:
        """End the node and, with the last one, the thread in the background. May be repeated."""
        if self._node is not None:
            try:
                self.run(self._node.stop())
            finally:
                self._release()

    restart = blocking_method(Node.restart, _node)
    reboot = blocking_method(Node.reboot, _node)
    crash = blocking_method(Node.crash, _node)
    start_kubelet = blocking_method(Node.start_kubelet, _node)
    advance = blocking_method(Node.advance, _node)
    status_round = blocking_method(Node.status_round, _node)

    admit = blocking_method(MainLoop.admit, _pods)
    apply = blocking_method(MainLoop.apply, _pods)
    remove = blocking_method(MainLoop.remove, _pods)
    exit_container = blocking_look(MainLoop.exit_container, _pods)
    prepare = blocking_method(MainLoop.prepare, _pods)
    container_spec = blocking_look(MainLoop.container_spec, _pods)

    status = blocking_look(NodeViews.status, _views)
    events = blocking_look(NodeViews.events, _views)
    pod = blocking_look(NodeViews.pod, _views)
    objects = blocking_look(NodeViews.objects, _views)

    def inject(self, fault: Fault) -> SyncFault:
        """Let something go wrong; the answer can undo it, as a context manager, too."""
        return SyncFault(self, self.run(self.node.inject(fault)))

    def faults(self) -> tuple[SyncFault, ...]:
        """The faults of this node that are not over, oldest first."""
        return tuple(SyncFault(self, active) for active in self.look(lambda node: node.faults()))

    def wait_for(self, condition: Callable[[NodeSnapshot], bool], timeout_s: float = 30.0) -> NodeSnapshot:
        """The first snapshot that fulfils the condition, which is called in the loop's thread.

        Raises:
            TransportError: it was not fulfilled in time, and what was there instead; or it cannot be, as the command of a
                plugin's process cannot be run.
        """
        __tracebackhide__ = True

        async def wait() -> NodeSnapshot:
            try:
                return await unless_hopeless(self.node.wait_for(condition, timeout_s), self.beside)
            except InVain as error:
                raise TransportError(f"{error}; {instead(self.node.status(), self.beside)}") from None

        try:
            return self.run(wait())
        except TransportError as error:
            why = str(error)
        raise TransportError(why)  # a new one: nobody wants to see the inside of an event loop

    def records(self) -> tuple[Record, ...]:
        """The records of the transcript so far, oldest first."""
        return self.look(lambda node: tuple(node.transcript))

    @property
    def http_url(self) -> str | None:
        """Where the node shows metrics and health, without a slash at the end; `None`: nowhere."""
        return self.node.http_url

    @property
    def registration_socket(self) -> str:
        """The path on which plugins register."""
        return str(self.node.root.layout.registration_socket)

    @property
    def pod_resources_socket(self) -> str:
        """The path at which exporters ask the pod resources API. Rules: PR-1"""
        return str(self.node.root.layout.pod_resources_socket)

    @property
    def device_plugin_directory(self) -> str:
        """The directory in which plugins put their sockets."""
        return str(self.node.root.layout.device_plugins)

    @property
    def node(self) -> Node:
        """The node itself; touch it only from its own loop."""
        if self._node is None:
            raise UsageError("the node is not started")
        return self._node

    async def _started(self) -> Node:
        node = self._make()
        self._at_the_end.enter_context(recorded(node, self._transcript))
        await node.start()
        return node

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the node's own loop and wait for it."""
        if not self.is_started:
            work.close()
            raise UsageError("the node is not started")
        return _BACKGROUND.run(work)

    def look(self, at: Callable[[Node], T]) -> T:
        """Call that in the node's own loop, where nothing else happens meanwhile."""

        async def work() -> T:
            return at(self.node)

        return self.run(work())

    def _release(self) -> None:
        self.is_started, self._node = False, None
        self._at_the_end.close()
        _BACKGROUND.release()
