"""Places where the world of a node can be watched or bent: what faults and the conformance suite hold on to.

Without a hook nothing here changes anything. Hooks apply in the order in which they came, to what happens from then on,
on connections that are open already as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from attrs import define, field

from kubelet_sim.core.ports import Order, Sorted
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.kubelet_process.caller import unless_done
from kubelet_sim.node.ports import CheckpointStore, PluginCalls, PluginConnection

T = TypeVar("T")


class Hook:
    """Something that watches or bends. Each method does nothing here; override those that matter."""

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        """A Register call came in, and nobody has looked at it yet; it is held up until this returns.

        Args:
            registration: as it was sent.
            deadline_s: how much time its caller has left, `None`: no end.

        Raises:
            RegistrationRefused: the plugin gets its text, and the kubelet never hears of the call.
        """

    async def register_answering(self, registration: Registration) -> None:
        """A Register call has done its work; its caller is answered when this returns."""

    def register_over(self, registration: Registration) -> None:
        """A Register call is over, however it ended: its caller was answered, or has gone."""

    def called_through(self, path: str, connection: PluginConnection) -> PluginConnection:
        """What calls to the plugin at that path go through: the connection, or something around it."""
        del path
        return connection

    async def list_came(self, path: str, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        """A list came in; what is handed on. The stream is not read while this waits. Raises `RpcFailed`: it is cut."""
        del path
        return devices

    async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
        """A checkpoint is about to be written; what is written, `None`: nothing. Raises `CheckpointNotWritten`."""
        return document

    def arranged(self, rule: str, items: Sequence[T]) -> Sequence[T]:
        """The order to use where the kubelet's own is open."""
        del rule
        return items

    async def pod_resources_called(self, method: str) -> None:
        """A call of the pod resources API came in. Raises `RpcFailed`: the answer."""

    def pods_listed(self, pods: Sequence[Pod], known: Sequence[Pod]) -> Sequence[Pod]:
        """The pods that the pod resources API lists, of all that the kubelet knows."""
        del known
        return pods

    def is_status_refused(self) -> bool:
        """Whether the API server refuses the update of the node status that is computed next."""
        return False


@define(eq=False)
class Hooks:
    """The hooks of a node, and the connections that they can reach."""

    _hooks: list[Hook] = field(factory=list)
    connections: list[HookedConnection] = field(factory=list)
    """Those that are not closed, oldest first."""

    def add(self, hook: Hook) -> Callable[[], None]:
        """Have it apply from now on; the answer ends that, and may be called again."""
        self._hooks.append(hook)

        def remove() -> None:
            if hook in self._hooks:
                self._hooks.remove(hook)

        return remove

    @property
    def is_empty(self) -> bool:
        """Whether nobody has hung a hook in."""
        return not self._hooks

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        for hook in tuple(self._hooks):
            await hook.register_called(registration, deadline_s)

    async def register_answering(self, registration: Registration) -> None:
        for hook in tuple(self._hooks):
            await hook.register_answering(registration)

    def register_over(self, registration: Registration) -> None:
        for hook in tuple(self._hooks):
            hook.register_over(registration)

    def called_through(self, path: str, connection: PluginConnection) -> PluginConnection:
        """See `Hook`; the last hook is the first that a call comes to."""
        for hook in tuple(self._hooks):
            connection = hook.called_through(path, connection)
        return connection

    async def list_came(self, path: str, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        for hook in tuple(self._hooks):
            devices = await hook.list_came(path, devices)
        return devices

    async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
        due: CheckpointDocument | None = document
        for hook in tuple(self._hooks):
            if due is not None:
                due = await hook.checkpoint_due(due)
        return due

    def arranged(self, rule: str, items: Sequence[T]) -> Sequence[T]:
        for hook in tuple(self._hooks):
            items = hook.arranged(rule, items)
        return items

    async def pod_resources_called(self, method: str) -> None:
        for hook in tuple(self._hooks):
            await hook.pod_resources_called(method)

    def pods_listed(self, pods: Sequence[Pod], known: Sequence[Pod]) -> Sequence[Pod]:
        for hook in tuple(self._hooks):
            pods = hook.pods_listed(pods, known)
        return pods

    def is_status_refused(self) -> bool:
        """See `Hook`; every hook is asked."""
        answers = [hook.is_status_refused() for hook in tuple(self._hooks)]
        return any(answers)


@define(eq=False)
class PassingConnection:
    """A `PluginConnection` around another, to which it passes all calls on; who watches or bends one overrides that."""

    inner: PluginConnection

    @property
    def target(self) -> PluginConnection:
        """The connection that calls are passed on to."""
        return self.inner

    async def around(self, call: str, make: Callable[[], Awaitable[T]]) -> T:
        """Make a call that has one answer: override this for what happens before any such call, after it, or instead.

        Args:
            call: its name in the API.
            make: makes it.
        """
        del call
        return await make()

    async def ready(self) -> None:
        await self.target.ready()

    async def get_device_plugin_options(self) -> PluginOptions:
        return await self.around("GetDevicePluginOptions", self.target.get_device_plugin_options)

    def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        return self.target.list_and_watch()

    async def allocate(self, device_ids: Sequence[DeviceID]) -> AllocateAnswer:
        return await self.around("Allocate", partial(self.target.allocate, device_ids))

    async def get_preferred_allocation(
        self, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
    ) -> tuple[DeviceID, ...]:
        make = partial(self.target.get_preferred_allocation, available, must_include, size)
        return await self.around("GetPreferredAllocation", make)

    async def pre_start_container(self, device_ids: Sequence[DeviceID], timeout_s: float) -> None:
        await self.around("PreStartContainer", partial(self.target.pre_start_container, device_ids, timeout_s))

    async def close(self) -> None:
        await self.inner.close()


@define(eq=False)
class HookedConnection(PassingConnection):
    """A `PluginConnection` whose calls pass the hooks."""

    path: str
    _hooks: Hooks
    _cut: set[asyncio.Future[RpcFailed]] = field(factory=set)

    def cut(self, failure: RpcFailed) -> int:
        """End its open streams as if that had come over the wire; the plugin sees them cancelled. How many there were."""
        waiting = [future for future in self._cut if not future.done()]
        for future in waiting:
            future.set_result(failure)
        return len(waiting)

    @property
    def target(self) -> PluginConnection:
        """The connection itself, or what a fault has put around it by now."""
        return self._hooks.called_through(self.path, self.inner)

    async def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        """See `PluginConnection`; it can be cut from outside between two lists."""
        stream = aiter(self.target.list_and_watch())
        cut: asyncio.Future[RpcFailed] = asyncio.get_running_loop().create_future()
        self._cut.add(cut)
        try:
            while (devices := await self._next(stream, cut)) is not None:
                yield await self._hooks.list_came(self.path, devices)
        finally:
            self._cut.discard(cut)
            if (close := getattr(stream, "aclose", None)) is not None:
                await close()

    async def _next(
        self, stream: AsyncIterator[tuple[Device, ...]], cut: asyncio.Future[RpcFailed]
    ) -> tuple[Device, ...] | None:
        """The next list, `None` at an orderly end. Raises `RpcFailed` when it ends otherwise, or is cut."""
        if cut.done():
            raise cut.result()
        return await unless_done(cut, _anext(stream), cut.result)

    async def close(self) -> None:
        if self in self._hooks.connections:
            self._hooks.connections.remove(self)
        await self.inner.close()


async def _anext(stream: AsyncIterator[tuple[Device, ...]]) -> tuple[Device, ...] | None:
    return await anext(stream, None)


@define
class HookedCalls:
    """A way to plugins that passes the hooks; fits `PluginCalls`."""

    _calls: PluginCalls
    _hooks: Hooks

    def connection(self, socket_path: str) -> HookedConnection:
        connection = HookedConnection(self._calls.connection(socket_path), socket_path, self._hooks)
        self._hooks.connections.append(connection)
        return connection


@define
class HookedStore:
    """A checkpoint store whose writes pass the hooks; fits `CheckpointStore`."""

    _store: CheckpointStore
    _hooks: Hooks

    async def write(self, document: CheckpointDocument) -> None:
        due = await self._hooks.checkpoint_due(document)
        if due is not None:
            await self._store.write(due)

    async def read(self) -> CheckpointDocument:
        return await self._store.read()


@define
class HookedOrder:
    """An order that passes the hooks, the sorted one if none is given; fits `Order`."""

    _order: Order | None
    _hooks: Hooks

    @property
    def is_sorted(self) -> bool:
        """Whether nobody can have picked anything else."""
        return self._order is None and self._hooks.is_empty

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        order = self._order or _SORTED
        return self._hooks.arranged(rule, order.arrange(rule, items))


_SORTED = Sorted()
