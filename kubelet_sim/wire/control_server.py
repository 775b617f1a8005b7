"""The control API of a running node: what the command line asks is asked of a `ControlledNode`, and answered.

The gRPC server listens behind the door (`control_door`), which sees to it that only our own user gets here. What is done
to the node is done to its end, even if the caller does not wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import evolve

from kubelet_sim.errors import KubeletSimError, TransportError, UsageError
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import AS_USUAL, GRACEFUL, Comeback, Deletion
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.tasks import Tasks, to_its_end
from kubelet_sim.transcript import Transcript
from kubelet_sim.transcript.about import records_about
from kubelet_sim.wire import control_messages, noise, unix_socket
from kubelet_sim.wire.control_door import ControlDoor
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.pb import control_v1_pb2 as pb

T = TypeVar("T")

SERVICE = "kubelet_sim.control.v1.Control"
OPTIONS: tuple[tuple[str, int], ...] = (
    # A snapshot with all devices, and the manifests of a whole directory, have no natural bound; both ends are ours.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # For the text of an error, which travels as a header.
    ("grpc.max_metadata_size", 64 * 1024),
)
_LONGEST_ERROR = 4_000
"""Characters, each up to twelve bytes once quoted for a header."""
_RECORDS_PER_MESSAGE = 500
_FAREWELL_S = 1.0
"""How long streams may take to end when the node stops."""
_MODE = 0o600


class InjectedFault(Protocol):
    """A fault that the node has injected, and that can be shown."""

    def view(self) -> FaultView:
        """What is to be told of the fault at this moment."""


class ControlledNode(Protocol):
    """What is controlled; `kubelet_sim.node.node.Node` fits it by shape."""

    @property
    def transcript(self) -> Transcript:
        """Of this node, through all its kubelet processes."""

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
        methods = {
            "Status": _unary(pb.StatusRequest, self.status),
            "Watch": _stream(pb.WatchRequest, self.watch),
            "Apply": _unary(pb.ApplyRequest, self.apply),
            "Delete": _unary(pb.DeleteRequest, self.delete),
            "GetContainerSpec": _unary(pb.GetContainerSpecRequest, self.container_spec),
            "GetPod": _unary(pb.GetPodRequest, self.pod),
            "ListObjects": _unary(pb.ListObjectsRequest, self.objects),
            "ListEvents": _unary(pb.ListEventsRequest, self.events),
            "Restart": _unary(pb.RestartRequest, self.restart),
            "Reboot": _unary(pb.RebootRequest, self.reboot),
            "Crash": _unary(pb.CrashRequest, self.crash),
            "StartKubelet": _unary(pb.StartKubeletRequest, self.start_kubelet),
            "ExitContainer": _unary(pb.ExitContainerRequest, self.exit_container),
            "InjectFault": _unary(pb.InjectFaultRequest, self.inject_fault),
            "ListFaults": _unary(pb.ListFaultsRequest, self.faults),
            "UndoFaults": _unary(pb.UndoFaultsRequest, self.undo_faults),
            "Advance": _unary(pb.AdvanceRequest, self.advance),
            "Trace": _stream(pb.TraceRequest, self.trace),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def end_streams(self) -> None:
        """Let every stream send what there is and end."""
        self._is_ending = True
        for waker in self._wakers:
            waker.set()

    async def end_work(self) -> None:
        """Cancel what is still being done for callers."""
        await self._work.cancel()

    async def status(self, _request: pb.StatusRequest) -> pb.NodeSnapshot:
        return control_messages.snapshot_message(self._node.status())

    async def watch(self, _request: pb.WatchRequest) -> AsyncGenerator[pb.NodeSnapshot, None]:
        """Only what is new besides the time: a slow reader gets fewer snapshots, not a queue of old ones."""
        sent: NodeSnapshot | None = None
        async with contextlib.aclosing(self._changes()) as changes:
            async for _ in changes:
                snapshot = self._node.status()
                if not snapshot.has_kubelet:  # between two kubelets
                    continue
                if sent is None or evolve(snapshot, now_s=sent.now_s) != sent:
                    yield control_messages.snapshot_message(snapshot)
                    sent = snapshot

    async def apply(self, request: pb.ApplyRequest) -> pb.ApplyResponse:
        manifests = [_mapping(text) for text in request.manifests]
        applied = await self._to_its_end(self._node.apply_manifests(manifests))
        return pb.ApplyResponse(
            pods=[
                pb.AppliedPod(name=pod.name, namespace=pod.namespace, created=pod.created, is_resized=pod.is_resized)
                for pod in applied
            ]
        )

    async def delete(self, request: pb.DeleteRequest) -> pb.DeleteResponse:
        grace_s = request.grace_s if request.HasField("grace_s") else None
        how = Deletion(grace_s, is_forced=request.is_forced, waits=not request.at_once)
        await self._to_its_end(self._node.remove(request.name, request.namespace, how))
        return pb.DeleteResponse()

    async def container_spec(self, request: pb.GetContainerSpecRequest) -> pb.ContainerSpec:
        container = request.container if request.HasField("container") else None
        return control_messages.spec_message(self._node.container_spec(request.name, container, request.namespace))

    async def pod(self, request: pb.GetPodRequest) -> pb.GetPodResponse:
        return pb.GetPodResponse(pod=json.dumps(self._node.pod(request.name, request.namespace)))

    async def objects(self, request: pb.ListObjectsRequest) -> pb.ListObjectsResponse:
        return pb.ListObjectsResponse(objects=map(json.dumps, self._node.objects(request.kind)))

    async def events(self, _request: pb.ListEventsRequest) -> pb.ListEventsResponse:
        return pb.ListEventsResponse(events=map(control_messages.event_message, self._node.events()))

    async def restart(self, request: pb.RestartRequest) -> pb.RestartResponse:
        await self._to_its_end(self._node.restart(control_messages.comeback_value(request.how)))
        return pb.RestartResponse()

    async def reboot(self, request: pb.RebootRequest) -> pb.RebootResponse:
        seed = request.seed if request.HasField("seed") else None
        await self._to_its_end(self._node.reboot(control_messages.comeback_value(request.how), seed=seed))
        return pb.RebootResponse()

    async def crash(self, _request: pb.CrashRequest) -> pb.CrashResponse:
        await self._to_its_end(self._node.crash())
        return pb.CrashResponse()

    async def start_kubelet(self, request: pb.StartKubeletRequest) -> pb.StartKubeletResponse:
        await self._to_its_end(self._node.start_kubelet(control_messages.comeback_value(request.how)))
        return pb.StartKubeletResponse()

    async def exit_container(self, request: pb.ExitContainerRequest) -> pb.ExitContainerResponse:
        container = request.container if request.HasField("container") else None
        ended = self._node.exit_container(request.name, container, request.namespace, code=request.code)
        return pb.ExitContainerResponse(container=ended)

    async def inject_fault(self, request: pb.InjectFaultRequest) -> pb.Fault:
        fault = Fault(
            request.name,
            _mapping(request.arguments, "what a fault takes") if request.arguments else {},
            request.count if request.HasField("count") else None,
            request.resource,
            request.socket,
            request.pod,
        )
        injected = await self._to_its_end(self._node.inject(fault))
        return control_messages.fault_message(injected.view())

    async def faults(self, _request: pb.ListFaultsRequest) -> pb.ListFaultsResponse:
        return pb.ListFaultsResponse(
            faults=[control_messages.fault_message(each.view()) for each in self._node.faults()]
        )

    async def undo_faults(self, request: pb.UndoFaultsRequest) -> pb.ListFaultsResponse:
        """One after the other; the first that is not there ends it."""
        numbers = list(request.ids) or [each.view().id for each in self._node.faults()]
        undone = [await self._to_its_end(self._node.undo_fault(number)) for number in numbers]
        return pb.ListFaultsResponse(faults=[control_messages.fault_message(each.view()) for each in undone])

    async def advance(self, request: pb.AdvanceRequest) -> pb.AdvanceResponse:
        """A caller that leaves stops it: time stands still again where it has come to."""
        await self._node.advance(request.seconds)
        return pb.AdvanceResponse(now_s=self._node.transcript.now())

    async def trace(self, request: pb.TraceRequest) -> AsyncGenerator[pb.TraceResponse, None]:
        """Nothing is queued for a slow reader: what it has not got yet is looked up when it takes more."""
        if request.about:
            found = records_about(self._node.transcript, request.about)
            for start in range(0, len(found), _RECORDS_PER_MESSAGE):
                part = found[start : start + _RECORDS_PER_MESSAGE]
                yield pb.TraceResponse(records=[control_messages.record_message(each) for each in part])
            return
        last = 0
        async with contextlib.aclosing(self._changes()) as changes:
            async for _ in changes:
                while records := self._node.transcript.after(last, limit=_RECORDS_PER_MESSAGE):
                    yield pb.TraceResponse(records=[control_messages.record_message(each) for each in records])
                    last = records[-1].number
                if not request.follow:
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


def _mapping(text: str, what: str = "a manifest") -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{what} is a mapping")
    return value


_Context = grpc.aio.ServicerContext[Any, Any]


def _unary(request: Any, method: Callable[[Any], Awaitable[Any]]) -> grpc.RpcMethodHandler[Any, Any]:
    async def answer(message: Any, context: _Context) -> Any:
        try:
            return await method(message)
        except KubeletSimError as error:
            await context.abort(*_status_of(error))

    return grpc.unary_unary_rpc_method_handler(
        answer, request_deserializer=request.FromString, response_serializer=_serialized
    )


def _stream(request: Any, method: Callable[[Any], AsyncGenerator[Any, None]]) -> grpc.RpcMethodHandler[Any, Any]:
    async def answer(message: Any, context: _Context) -> None:
        try:
            async with contextlib.aclosing(method(message)) as answers:
                async for each in answers:
                    await context.write(each)
        except KubeletSimError as error:
            await context.abort(*_status_of(error))

    return grpc.unary_stream_rpc_method_handler(
        answer, request_deserializer=request.FromString, response_serializer=_serialized
    )


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def _status_of(error: KubeletSimError) -> tuple[grpc.StatusCode, str]:
    """Return how a call ends that raised it."""
    is_caller = isinstance(error, UsageError)
    code = grpc.StatusCode.INVALID_ARGUMENT if is_caller else grpc.StatusCode.FAILED_PRECONDITION
    text = control_messages.sendable(str(error))
    return code, text if len(text) <= _LONGEST_ERROR else text[:_LONGEST_ERROR] + "…"
