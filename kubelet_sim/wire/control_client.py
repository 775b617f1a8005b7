"""The command line's way to a running node; for one thread, and for programs that only wait for the answer.

Every failure is ours again when it gets here: `UsageError` for what the node says the caller got wrong, `TransportError`
for the rest, with one line that says what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import AS_USUAL, GRACEFUL, Comeback, Deletion
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.transcript import Record
from kubelet_sim.wire import control_messages, unix_socket
from kubelet_sim.wire.control_address import no_node
from kubelet_sim.wire.control_server import OPTIONS, SERVICE
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.pb import control_v1_pb2 as pb

T = TypeVar("T")

_CONNECT_S = 10.0
"""A node that is alive answers in milliseconds; one that was stopped by a debugger does not."""
_CLIENT_OPTIONS: tuple[tuple[str, str | int], ...] = (
    *OPTIONS,
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)


class ControlClient:
    """A connection to the node at a root directory; a context manager.

    Args:
        socket_path: the node's control socket.
        root: what to call the node by in errors.
        connect_s: how long to wait for a sign of life.
    """

    def __init__(self, socket_path: Path, root: Path, *, connect_s: float = _CONNECT_S) -> None:
        self._path = socket_path
        self._root = root
        self._connect_s = connect_s
        self._channel: grpc.Channel | None = None

    def __enter__(self) -> Self:
        self._look()
        self._channel = grpc.insecure_channel(unix_socket.target(self._path), options=_CLIENT_OPTIONS)
        return self

    def __exit__(self, *_: object) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def status(self, timeout_s: float | None = None) -> NodeSnapshot:
        """Return the node at this moment. Raises `TimeoutError` after so much real time."""
        return control_messages.snapshot_value(self._unary("Status", pb.StatusRequest(), pb.NodeSnapshot, timeout_s))

    def watch(self, timeout_s: float | None = None) -> Iterator[NodeSnapshot]:
        """Yield the node at once and at every change; ends with the node. Raises `TimeoutError` after so much real time."""
        for message in self._stream("Watch", pb.WatchRequest(), pb.NodeSnapshot, timeout_s):
            yield control_messages.snapshot_value(message)

    def apply(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        """Put pods on the node, all or none."""
        request = pb.ApplyRequest(manifests=[json.dumps(manifest) for manifest in manifests])
        answer = self._unary("Apply", request, pb.ApplyResponse)
        return tuple(AppliedPod(pod.name, pod.namespace, pod.created, pod.is_resized) for pod in answer.pods)

    def delete(self, name: str, namespace: str, how: Deletion = GRACEFUL) -> None:
        """Deletes a pod from the node, as `kubectl delete` does."""
        request = pb.DeleteRequest(
            name=name, namespace=namespace, grace_s=how.grace_s, is_forced=how.is_forced, at_once=not how.waits
        )
        self._unary("Delete", request, pb.DeleteResponse)

    def container_spec(self, name: str, container: str | None, namespace: str) -> ContainerSpec:
        """Return what a container got when it was created."""
        request = pb.GetContainerSpecRequest(name=name, namespace=namespace, container=container)
        return control_messages.spec_value(self._unary("GetContainerSpec", request, pb.ContainerSpec))

    def pod(self, name: str, namespace: str) -> dict[str, Any]:
        """Return a pod as the API would show it: its manifest with a status."""
        answer = self._unary("GetPod", pb.GetPodRequest(name=name, namespace=namespace), pb.GetPodResponse)
        pod: dict[str, Any] = json.loads(answer.pod)
        return pod

    def objects(self, kind: str) -> tuple[dict[str, Any], ...]:
        """Return the objects of a kind, named in the plural, that the API server has."""
        answer = self._unary("ListObjects", pb.ListObjectsRequest(kind=kind), pb.ListObjectsResponse)
        return tuple(json.loads(each) for each in answer.objects)

    def events(self) -> tuple[EventView, ...]:
        """Return the events that the node remembers, in order of the last time of each."""
        answer = self._unary("ListEvents", pb.ListEventsRequest(), pb.ListEventsResponse)
        return tuple(map(control_messages.event_value, answer.events))

    def restart(self, how: Comeback = AS_USUAL) -> None:
        """Restart the kubelet; returns when every pod was admitted again."""
        request = pb.RestartRequest(how=control_messages.comeback_message(how))
        self._unary("Restart", request, pb.RestartResponse)

    def reboot(self, how: Comeback = AS_USUAL, *, seed: int | None = None) -> None:
        """Reboot the node; returns when every pod was admitted again."""
        request = pb.RebootRequest(how=control_messages.comeback_message(how), seed=seed)
        self._unary("Reboot", request, pb.RebootResponse)

    def crash(self) -> None:
        """End the kubelet; the node goes on without one."""
        self._unary("Crash", pb.CrashRequest(), pb.CrashResponse)

    def start_kubelet(self, how: Comeback = AS_USUAL) -> None:
        """Start a kubelet on a node that has none."""
        request = pb.StartKubeletRequest(how=control_messages.comeback_message(how))
        self._unary("StartKubelet", request, pb.StartKubeletResponse)

    def exit_container(self, name: str, container: str | None, namespace: str, *, code: int) -> str:
        """End a container that runs; returns its name."""
        request = pb.ExitContainerRequest(name=name, namespace=namespace, container=container, code=code)
        return self._unary("ExitContainer", request, pb.ExitContainerResponse).container

    def inject(self, fault: Fault) -> FaultView:
        """Has a fault injected into the node; returns what is known of it."""
        request = pb.InjectFaultRequest(
            name=fault.name,
            arguments=json.dumps(dict(fault.arguments)),
            count=fault.count,
            resource=fault.resource,
            socket=fault.socket,
            pod=fault.pod,
        )
        return control_messages.fault_value(self._unary("InjectFault", request, pb.Fault))

    def faults(self, timeout_s: float | None = None) -> tuple[FaultView, ...]:
        """Return the faults that are not over, oldest first. Raises `TimeoutError` after so much real time."""
        answer = self._unary("ListFaults", pb.ListFaultsRequest(), pb.ListFaultsResponse, timeout_s)
        return tuple(map(control_messages.fault_value, answer.faults))

    def undo_faults(self, *ids: int) -> tuple[FaultView, ...]:
        """End these faults, or all; returns them as they were in the end."""
        answer = self._unary("UndoFaults", pb.UndoFaultsRequest(ids=ids), pb.ListFaultsResponse)
        return tuple(map(control_messages.fault_value, answer.faults))

    def advance(self, seconds: float) -> float:
        """Let time pass; returns the node's clock, in seconds since its start."""
        return self._unary("Advance", pb.AdvanceRequest(seconds=seconds), pb.AdvanceResponse).now_s

    def trace(self, *, follow: bool = False, about: str = "") -> Iterator[Record]:
        """Yield the records so far, with `follow` also those to come until the node ends.

        With `about`, only those about this subject and of the walks in which it is spoken of, and only the last of them.
        """
        for message in self._stream("Trace", pb.TraceRequest(follow=follow, about=about), pb.TraceResponse):
            yield from map(control_messages.record_value, message.records)

    def _look(self) -> None:
        """See whether somebody listens, lets us in and is alive: an HTTP/2 server speaks first.

        The library would try again and again, and does not say which of the three it is.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(self._connect_s)
            try:
                probe.connect(os.fsencode(self._path))
                is_let_in = bool(probe.recv(1))
            except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
                raise no_node(self._root) from error
            except TimeoutError as error:
                text = f"the node at {self._root} has not answered for {self._connect_s:g} s; was its process stopped?"
                raise TransportError(text) from error
            except ConnectionResetError:
                is_let_in = False
            except OSError as error:
                cause = error.strerror or str(error)
                raise TransportError(f"cannot reach the node at {self._root}: {cause}") from error
        if not is_let_in:
            raise TransportError(
                f"the node at {self._root} takes orders from the user who started it alone, or is ending"
            )

    def _opened(self) -> grpc.Channel:
        if self._channel is None:
            raise UsageError("the connection to the node is not open")
        return self._channel

    def _unary(self, name: str, request: Any, answer: type[T], timeout_s: float | None = None) -> T:
        method: Callable[..., T] = self._opened().unary_unary(
            f"/{SERVICE}/{name}", request_serializer=_serialized, response_deserializer=_parser(answer)
        )
        with self._translated():
            return method(request, timeout=timeout_s)

    def _stream(self, name: str, request: Any, answer: type[T], timeout_s: float | None = None) -> Iterator[T]:
        method = self._opened().unary_stream(
            f"/{SERVICE}/{name}", request_serializer=_serialized, response_deserializer=_parser(answer)
        )
        call = method(request, timeout=timeout_s)
        try:
            with self._translated():
                yield from call
        finally:
            call.cancel()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            raise self._translation(error) from error

    def _translation(self, error: grpc.RpcError) -> Exception:
        call: Any = error  # what the library raises is a call, too, which its stubs do not know
        code, text = call.code(), call.details() or ""
        match code:
            case grpc.StatusCode.INVALID_ARGUMENT:
                return UsageError(text)
            case grpc.StatusCode.FAILED_PRECONDITION:
                return TransportError(text)
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                return TimeoutError(text)
            case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.CANCELLED:
                return TransportError(f"the node at {self._root} ended meanwhile")
            case grpc.StatusCode.UNIMPLEMENTED:
                return TransportError(f"the node at {self._root} is of another version of kubelet-sim: restart it")
        return TransportError(f"the node at {self._root} failed: {text}")


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def _parser(answer: type[T]) -> Callable[[bytes], T]:
    parse: Callable[[bytes], T] = answer.FromString  # type: ignore[attr-defined] # all are messages
    return parse
