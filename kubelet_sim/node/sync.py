"""The same node for callers without an event loop: tests, scripts, a prompt.

All such nodes of a process share one loop in a background thread, which is there as long as any of them is started.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kubelet_sim.core.ports import Order
from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.admission import Admission
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import AS_USUAL, GRACEFUL, Comeback, Deletion
from kubelet_sim.model.node import NodeStatusRound
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.faults import ActiveFault
from kubelet_sim.node.node import Node
from kubelet_sim.node.ports import CheckpointStore, Clock, PluginCalls
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.node.waited_for import Beside, InVain, instead, unless_hopeless
from kubelet_sim.transcript import Record

T = TypeVar("T")


class _BackgroundLoop:
    """One event loop in a thread, for as many nodes as want it."""

    def __init__(self) -> None:
        self.user_count = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kubelet-sim", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and the loop with it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something there and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class _Shared:
    """The loop that all nodes of this process share, while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: _BackgroundLoop | None = None

    def acquire(self) -> _BackgroundLoop:
        """The loop that is there, or a new one."""
        with self._lock:
            self._loop = self._loop or _BackgroundLoop()
            self._loop.user_count += 1
            return self._loop

    def release(self, loop: _BackgroundLoop) -> None:
        """End it when nobody uses it any more."""
        with self._lock:
            loop.user_count -= 1
            if loop.user_count:
                return
            self._loop = None
        loop.close()


_SHARED = _Shared()


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

        async def look() -> FaultView:
            return self._active.view()

        return self._node.run(look())


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
        self._ports = {"clock": clock, "calls": calls, "order": order, "store": store}
        self._loop: _BackgroundLoop | None = None
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
        if self._loop is not None:
            raise UsageError("the node is started already")
        self._loop = _SHARED.acquire()
        try:
            self._node = self._loop.run(self._started())
        except BaseException:
            self._release()
            raise

    def stop(self) -> None:
        """End everything. May be repeated."""
        if self._node is not None and self._loop is not None:
            try:
                self._loop.run(self._node.stop())
            finally:
                self._release()

    def restart(self, how: Comeback = AS_USUAL) -> None:
        """End the kubelet process and start a new one on the same directory."""
        self.run(self.node.restart(how))

    def reboot(self, how: Comeback = AS_USUAL, *, seed: int | None = None) -> None:
        """End every container and the kubelet process, and start a new one."""
        self.run(self.node.reboot(how, seed=seed))

    def crash(self) -> None:
        """End the kubelet process; the node goes on without one."""
        self.run(self.node.crash())

    def start_kubelet(self, how: Comeback = AS_USUAL) -> None:
        """Start a kubelet process after a crash."""
        self.run(self.node.start_kubelet(how))

    def inject(self, fault: Fault) -> SyncFault:
        """Let something go wrong; the answer can undo it, as a context manager, too."""
        return SyncFault(self, self.run(self.node.inject(fault)))

    def faults(self) -> tuple[SyncFault, ...]:
        """The faults that are not over."""

        async def look() -> tuple[ActiveFault, ...]:
            return self.node.faults()

        return tuple(SyncFault(self, active) for active in self.run(look()))

    def admit(self, pod: Pod) -> Admission:
        """The verdict on a pod."""
        return self.run(self.node.admit(pod))

    def apply(self, pods: Sequence[Pod]) -> None:
        """Put pods on the node without waiting for their verdicts."""
        self.run(self.node.apply(pods))

    def remove(self, name: str, namespace: str = "default", how: Deletion = GRACEFUL) -> None:
        """Delete a pod."""
        self.run(self.node.remove(name, namespace, how))

    def exit_container(
        self, name: str, container: str | None = None, namespace: str = "default", *, code: int = 0
    ) -> str:
        """End a container that runs, as its program might."""

        async def end() -> str:
            return self.node.exit_container(name, container, namespace, code=code)

        return self.run(end())

    def prepare(self, name: str, container: str, namespace: str = "default") -> ContainerSpec | None:
        """What the kubelet would hand to the runtime for a container now."""
        return self.run(self.node.prepare(name, container, namespace))

    def container_spec(self, name: str, container: str | None = None, namespace: str = "default") -> ContainerSpec:
        """What a container got when it was created."""

        async def look() -> ContainerSpec:
            return self.node.container_spec(name, container, namespace)

        return self.run(look())

    def advance(self, seconds: float) -> None:
        """Let time pass on a manual clock."""
        self.run(self.node.advance(seconds))

    def status_round(self) -> NodeStatusRound:
        """Compute the node status now."""
        return self.run(self.node.status_round())

    def status(self) -> NodeSnapshot:
        """The node at this moment."""

        async def look() -> NodeSnapshot:
            return self.node.status()

        return self.run(look())

    def events(self) -> tuple[EventView, ...]:
        """What the kubelet has told the API server of."""

        async def look() -> tuple[EventView, ...]:
            return self.node.events()

        return self.run(look())

    def pod(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """A pod with its status, as the API would show it."""

        async def look() -> dict[str, Any]:
            return self.node.pod(name, namespace)

        return self.run(look())

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
        """The transcript so far."""

        async def look() -> tuple[Record, ...]:
            return tuple(self.node.transcript)

        return self.run(look())

    @property
    def http_url(self) -> str | None:
        """Where metrics and health are shown."""
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
        node = Node(self.config, **self._ports)  # type: ignore[arg-type]  # the very arguments of our own __init__
        self._at_the_end.enter_context(recorded(node, self._transcript))
        await node.start()
        return node

    @property
    def is_started(self) -> bool:
        """Whether it is between `start` and `stop`."""
        return self._loop is not None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the node's own loop and wait for it."""
        if self._loop is None:
            work.close()
            raise UsageError("the node is not started")
        return self._loop.run(work)

    def _release(self) -> None:
        loop, self._loop, self._node = self._loop, None, None
        self._at_the_end.close()
        if loop is not None:
            _SHARED.release(loop)
