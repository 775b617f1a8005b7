"""The control API of a running node: what the command line asks is asked of a `ControlledNode`, and answered.

The gRPC server listens behind the door (`control_door`), which sees to it that only our own user gets here. What is done
to the node is done to its end, even if the caller does not wait for it. A method takes and answers values of the model, and
its annotations say which: they are read from JSON and written as JSON here, in one place for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_type_hints

from attrs import evolve

from kubelet_sim.errors import KubeletSimError, TransportError, UsageError
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.codec import from_json, to_json
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import AS_USUAL, GRACEFUL, Comeback, Deletion
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.tasks import Tasks, to_its_end
from kubelet_sim.transcript import Record, Transcript
from kubelet_sim.transcript.about import records_about
from kubelet_sim.wire import noise, unix_socket
from kubelet_sim.wire.control_address import OPTIONS, SERVICE
from kubelet_sim.wire.control_door import ControlDoor
from kubelet_sim.wire.library import grpc

T = TypeVar("T")

_LONGEST_ERROR = 4_000
"""Characters, each up to twelve bytes once quoted for a header."""
_RECORDS_PER_MESSAGE = 500
_FAREWELL_S = 1.0
"""How long streams may take to end when the node stops."""
_MODE = 0o600
_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which stand for bytes that are no UTF-8 in paths."""


class InjectedFault(Protocol):
    """A fault that the node has injected, and that can be shown."""

    def view(self) -> FaultView:
        """What is to be told of the fault at this moment."""


class ControlledNode(Protocol):
    """What is controlled; `kubelet_sim.node.node.Node` fits it by shape."""

    @property
    def transcript(self) -> Transcript:
        """The transcript of this node, through all its kubelet processes."""

    def status(self) -> NodeSnapshot:
        """A snapshot of the node at this moment."""

    async def apply_manifests(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        """Raises `UsageError`; nothing was applied then."""

    async def remove(self, name: str, namespace: str = "default", how: Deletion = GRACEFUL) -> None:
        """Raises `UsageError` if there is no such pod."""

    def container_spec(self, name: str, container: str | None = None, namespace: str = "default") -> ContainerSpec:
        """Raises `UsageError` if there is none, or not yet."""

    def pod(self, name: str, namespace: str = "default") -> Mapping[str, Any]:
        """Raises `UsageError` if there is no such pod."""

    def objects(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """Raises `UsageError` for a kind that an API server of a node does not have."""

    def events(self) -> tuple[EventView, ...]:
        """The events of the node, the oldest first."""

    async def restart(self, how: Comeback = AS_USUAL) -> None:
        """Raises `TransportError` if the new kubelet cannot start."""

    async def reboot(self, how: Comeback = AS_USUAL, *, seed: int | None = None) -> None:
        """Raises `TransportError` if the new kubelet cannot start."""

    async def crash(self) -> None:
        """Raises `UsageError` if no kubelet runs."""

    async def start_kubelet(self, how: Comeback = AS_USUAL) -> None:
        """Raises `UsageError` if one runs, `TransportError` if it cannot start."""

    def exit_container(
        self, name: str, container: str | None = None, namespace: str = "default", *, code: int = 0
    ) -> str:
        """Answers with the container's name. Raises `UsageError` if it does not run."""

    async def inject(self, fault: Fault) -> InjectedFault:
        """Raises `UsageError` for a fault that cannot be."""

    def faults(self) -> Sequence[InjectedFault]:
        """The faults that are not over yet."""

    async def undo_fault(self, number: int) -> InjectedFault:
        """Raises `UsageError` if none of that id is active."""

    async def advance(self, seconds: float) -> None:
        """Raises `UsageError` if time passes by itself."""


class ControlServer:
    """Serves the control API of one node at one path, once.

    Args:
        node: what is controlled.
        path: the socket that callers look for; in a directory of ours, which the node has locked.
    """

    def __init__(self, node: ControlledNode, path: Path) -> None:
        self._inner = path.with_name(".control.grpc")
        self._door = ControlDoor(path, self._inner)
        self._service = _Service(node)
        self._server: grpc.aio.Server | None = None
        self._file: unix_socket.SocketFile | None = None

    async def start(self) -> None:
        """Serve. Raises `TransportError`; nothing is left then."""
        noise.hush(asyncio.get_running_loop())
        server = self._server = grpc.aio.server(options=OPTIONS)
        server.add_generic_rpc_handlers([self._service.handlers()])
        try:
            self._inner.unlink(missing_ok=True)  # of a node that was killed
            self._file = unix_socket.bound(self._inner, server.add_insecure_port)
            os.chmod(self._inner, _MODE)  # noqa: PTH101 - a link would be followed either way, and there is none
            await to_its_end(server.start())
            await self._door.open()
        except (OSError, RuntimeError) as error:
            await self.stop()
            raise TransportError(f"cannot listen on {self._inner}: {error}") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End streams, then connections; no file, task or socket is left. May be called again."""
        await self._door.close()
        server, self._server = self._server, None
        if server is not None:
            self._service.end_streams()
            await server.stop(_FAREWELL_S)
            await self._service.end_work()
        await self._door.cut()
        if self._file is not None:
            self._file.remove()


class _Service:
    """The methods of the control API, each answered by the node."""

    def __init__(self, node: ControlledNode) -> None:
        self._node = node
        self._is_ending = False
        self._wakers: set[asyncio.Event] = set()
        self._work = Tasks()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns the methods by the names under which they are called."""
        answering: tuple[Callable[..., Awaitable[object]], ...] = (
            self.status,
            self.apply,
            self.delete,
            self.container_spec,
            self.pod,
            self.objects,
            self.events,
            self.restart,
            self.reboot,
            self.crash,
            self.start_kubelet,
            self.exit_container,
            self.inject,
            self.faults,
            self.undo_faults,
            self.advance,
        )
        streaming: tuple[Callable[..., AsyncGenerator[object, None]], ...] = (self.watch, self.trace)
        methods = {each.__name__: _unary(each) for each in answering}
        methods |= {each.__name__: _stream(each) for each in streaming}
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def end_streams(self) -> None:
        """Let every stream send what there is and end."""
        self._is_ending = True
        for waker in self._wakers:
            waker.set()

    async def end_work(self) -> None:
        """Cancel what is still being done for callers."""
        await self._work.cancel()

    async def status(self) -> NodeSnapshot:
        return self._node.status()

    async def watch(self) -> AsyncGenerator[NodeSnapshot, None]:
        """Only what is new besides the time: a slow reader gets fewer snapshots, not a queue of old ones."""
        sent: NodeSnapshot | None = None
        async with contextlib.aclosing(self._changes()) as changes:
            async for _ in changes:
                snapshot = self._node.status()
                if not snapshot.has_kubelet:  # between two kubelets
                    continue
                if sent is None or evolve(snapshot, now_s=sent.now_s) != sent:
                    yield snapshot
                    sent = snapshot

    async def apply(self, manifests: list[Any]) -> tuple[AppliedPod, ...]:
        if not all(isinstance(each, Mapping) for each in manifests):
            raise UsageError("a manifest is a mapping")
        return await self._to_its_end(self._node.apply_manifests(manifests))

    async def delete(self, name: str, namespace: str, how: Deletion) -> None:
        await self._to_its_end(self._node.remove(name, namespace, how))

    async def container_spec(self, name: str, container: str | None, namespace: str) -> ContainerSpec:
        return self._node.container_spec(name, container, namespace)

    async def pod(self, name: str, namespace: str) -> Mapping[str, Any]:
        return self._node.pod(name, namespace)

    async def objects(self, kind: str) -> Sequence[Mapping[str, Any]]:
        return self._node.objects(kind)

    async def events(self) -> tuple[EventView, ...]:
        return self._node.events()

    async def restart(self, how: Comeback) -> None:
        await self._to_its_end(self._node.restart(how))

    async def reboot(self, how: Comeback, seed: int | None) -> None:
        await self._to_its_end(self._node.reboot(how, seed=seed))

    async def crash(self) -> None:
        await self._to_its_end(self._node.crash())

    async def start_kubelet(self, how: Comeback) -> None:
        await self._to_its_end(self._node.start_kubelet(how))

    async def exit_container(self, name: str, container: str | None, namespace: str, code: int) -> str:
        return self._node.exit_container(name, container, namespace, code=code)

    async def inject(self, fault: Fault) -> FaultView:
        return (await self._to_its_end(self._node.inject(fault))).view()

    async def faults(self) -> tuple[FaultView, ...]:
        return tuple(each.view() for each in self._node.faults())

    async def undo_faults(self, ids: tuple[int, ...]) -> tuple[FaultView, ...]:
        """One after the other; the first that is not there ends it."""
        numbers = ids or [each.view().id for each in self._node.faults()]
        undone = [await self._to_its_end(self._node.undo_fault(number)) for number in numbers]
        return tuple(each.view() for each in undone)

    async def advance(self, seconds: float) -> float:
        """A caller that leaves stops it: time stands still again where it has come to."""
        await self._node.advance(seconds)
        return self._node.transcript.now()

    async def trace(self, *, follow: bool, about: str) -> AsyncGenerator[Sequence[Record], None]:
        """Nothing is queued for a slow reader: what it has not got yet is looked up when it takes more."""
        if about:
            found = records_about(self._node.transcript, about)
            for start in range(0, len(found), _RECORDS_PER_MESSAGE):
                yield found[start : start + _RECORDS_PER_MESSAGE]
            return
        last = 0
        async with contextlib.aclosing(self._changes()) as changes:
            async for _ in changes:
                while records := self._node.transcript.after(last, limit=_RECORDS_PER_MESSAGE):
                    yield records
                    last = records[-1].number
                if not follow:
                    return

    async def _changes(self) -> AsyncGenerator[None, None]:
        """Yield at once, and again when something has happened since, until the streams are to end."""
        changed = asyncio.Event()
        changed.set()
        unlisten = self._node.transcript.listen(lambda _: changed.set())
        self._wakers.add(changed)
        try:
            while not self._is_ending:
                await changed.wait()
                changed.clear()
                yield
        finally:
            self._wakers.discard(changed)
            unlisten()

    async def _to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work; a caller that leaves does not stop it half-way."""
        task = self._work.run(work)
        task.add_done_callback(_looked_at)
        await asyncio.wait({task})
        return task.result()


def _looked_at(task: asyncio.Task[Any]) -> None:
    """Nobody may ask for what came of it: its caller may have gone."""
    if not task.cancelled():
        task.exception()


_Context = grpc.aio.ServicerContext[Any, Any]


def _unary(method: Callable[..., Awaitable[object]]) -> grpc.RpcMethodHandler[Any, Any]:
    types = _types_of_arguments(method)

    async def answer(request: bytes, context: _Context) -> bytes:
        arguments = await _arguments(request, types, context)
        async with _failures_told(context):
            return message(await method(**arguments))

    return grpc.unary_unary_rpc_method_handler(answer)


def _stream(method: Callable[..., AsyncGenerator[object, None]]) -> grpc.RpcMethodHandler[Any, Any]:
    types = _types_of_arguments(method)

    async def answer(request: bytes, context: _Context) -> None:
        arguments = await _arguments(request, types, context)
        async with _failures_told(context), contextlib.aclosing(method(**arguments)) as answers:
            async for each in answers:
                await context.write(message(each))

    return grpc.unary_stream_rpc_method_handler(answer)


async def _arguments(request: bytes, types: Mapping[str, type], context: _Context) -> dict[str, Any]:
    """Returns a method's arguments by name; ends the call if they are not those that this version of it takes."""
    try:
        return _read(request, types)
    except (UsageError, ValueError) as error:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, sendable(str(error))[:_LONGEST_ERROR])


def _read(request: bytes, types: Mapping[str, type]) -> dict[str, Any]:
    given = from_json(json.loads(request), dict[str, Any])
    if given.keys() != types.keys():
        raise UsageError(f"it takes {', '.join(types)}, not {', '.join(given)}")
    return {name: from_json(given[name], type_) for name, type_ in types.items()}


def _types_of_arguments(method: Callable[..., object]) -> dict[str, type]:
    return {name: type_ for name, type_ in get_type_hints(method).items() if name != "return"}


def message(value: object) -> bytes:
    """Returns an answer as JSON. Text that is no Unicode, such as a path of other bytes, has its odd bytes written out."""
    text = json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"))
    return _HALVES.sub(lambda half: rf"\\u{ord(half[0]):04x}", text).encode()


def sendable(text: str) -> str:
    """Returns the text of an error with its odd bytes written out, too, as no header could carry them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@contextlib.asynccontextmanager
async def _failures_told(context: _Context) -> AsyncGenerator[None, None]:
    """Ends a call that failed with who is at fault, as its status, and the text of the error."""
    try:
        yield
    except KubeletSimError as error:
        is_caller = isinstance(error, UsageError)
        code = grpc.StatusCode.INVALID_ARGUMENT if is_caller else grpc.StatusCode.FAILED_PRECONDITION
        text = sendable(str(error))
        await context.abort(code, text if len(text) <= _LONGEST_ERROR else text[:_LONGEST_ERROR] + "…")
