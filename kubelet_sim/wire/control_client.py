"""The command line's way to a running node; for one thread, and for programs that only wait for the answer.

Every failure is ours again when it gets here: `UsageError` for what the node says the caller got wrong, `TransportError`
for the rest, with one line that says what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.codec import from_json, to_json
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import AS_USUAL, GRACEFUL, Comeback, Deletion
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.transcript import Record
from kubelet_sim.wire import unix_socket
from kubelet_sim.wire.control_address import OPTIONS, SERVICE, no_node
from kubelet_sim.wire.library import grpc

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
        return self._ask("status", NodeSnapshot, timeout_s)

    def watch(self, timeout_s: float | None = None) -> Iterator[NodeSnapshot]:
        """Yield the node at once and at every change; ends with the node. Raises `TimeoutError` after so much real time."""
        return self._follow("watch", NodeSnapshot, timeout_s)

    def apply(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        """Put pods on the node, all or none."""
        return self._ask("apply", tuple[AppliedPod, ...], manifests=manifests)

    def delete(self, name: str, namespace: str, how: Deletion = GRACEFUL) -> None:
        """Deletes a pod from the node, as `kubectl delete` does."""
        self._tell("delete", name=name, namespace=namespace, how=how)

    def container_spec(self, name: str, container: str | None, namespace: str) -> ContainerSpec:
        """Return what a container got when it was created."""
        return self._ask("container_spec", ContainerSpec, name=name, container=container, namespace=namespace)

    def pod(self, name: str, namespace: str) -> dict[str, Any]:
        """Return a pod as the API would show it: its manifest with a status."""
        return self._ask("pod", dict[str, Any], name=name, namespace=namespace)

    def objects(self, kind: str) -> tuple[dict[str, Any], ...]:
        """Return the objects of a kind, named in the plural, that the API server has."""
        return self._ask("objects", tuple[dict[str, Any], ...], kind=kind)

    def events(self) -> tuple[EventView, ...]:
        """Return the events that the node remembers, in order of the last time of each."""
        return self._ask("events", tuple[EventView, ...])

    def restart(self, how: Comeback = AS_USUAL) -> None:
        """Restart the kubelet; returns when every pod was admitted again."""
        self._tell("restart", how=how)

    def reboot(self, how: Comeback = AS_USUAL, *, seed: int | None = None) -> None:
        """Reboot the node; returns when every pod was admitted again."""
        self._tell("reboot", how=how, seed=seed)

    def crash(self) -> None:
        """End the kubelet; the node goes on without one."""
        self._tell("crash")

    def start_kubelet(self, how: Comeback = AS_USUAL) -> None:
        """Start a kubelet on a node that has none."""
        self._tell("start_kubelet", how=how)

    def exit_container(self, name: str, container: str | None, namespace: str, *, code: int) -> str:
        """End a container that runs; returns its name."""
        return self._ask("exit_container", str, name=name, container=container, namespace=namespace, code=code)

    def inject(self, fault: Fault) -> FaultView:
        """Has a fault injected into the node; returns what is known of it."""
        return self._ask("inject", FaultView, fault=fault)

    def faults(self, timeout_s: float | None = None) -> tuple[FaultView, ...]:
        """Return the faults that are not over, oldest first. Raises `TimeoutError` after so much real time."""
        return self._ask("faults", tuple[FaultView, ...], timeout_s)

    def undo_faults(self, *ids: int) -> tuple[FaultView, ...]:
        """End these faults, or all; returns them as they were in the end."""
        return self._ask("undo_faults", tuple[FaultView, ...], ids=ids)

    def advance(self, seconds: float) -> float:
        """Let time pass; returns the node's clock, in seconds since its start."""
        return self._ask("advance", float, seconds=seconds)

    def trace(self, *, follow: bool = False, about: str = "") -> Iterator[Record]:
        """Yield the records so far, with `follow` also those to come until the node ends.

        With `about`, only those about this subject and of the walks in which it is spoken of, and only the last of them.
        """
        for records in self._follow("trace", tuple[Record, ...], follow=follow, about=about):
            yield from records

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

    def _tell(self, method: str, **arguments: object) -> None:
        self._call(method, arguments)

    def _ask(self, method: str, answer: type[T], timeout_s: float | None = None, **arguments: object) -> T:
        return self._read(self._call(method, arguments, timeout_s), answer)

    def _call(self, method: str, arguments: Mapping[str, object], timeout_s: float | None = None) -> bytes:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._opened().unary_unary(f"/{SERVICE}/{method}")
        with self._translated():
            return call(_request(arguments), timeout=timeout_s)

    def _follow(self, method: str, answer: type[T], timeout_s: float | None = None, **arguments: object) -> Iterator[T]:
        begin: grpc.UnaryStreamMultiCallable[bytes, bytes] = self._opened().unary_stream(f"/{SERVICE}/{method}")
        call = begin(_request(arguments), timeout=timeout_s)
        try:
            with self._translated():
                for each in call:
                    yield self._read(each, answer)
        finally:
            call.cancel()

    def _read(self, data: bytes, answer: type[T]) -> T:
        try:
            return from_json(json.loads(data), answer)
        except (UsageError, ValueError) as error:
            raise self._of_another_version() from error

    def _of_another_version(self) -> TransportError:
        return TransportError(f"the node at {self._root} is of another version of kubelet-sim: restart it")

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
                return self._of_another_version()
        return TransportError(f"the node at {self._root} failed: {text}")


def _request(arguments: Mapping[str, object]) -> bytes:
    return json.dumps({name: to_json(value) for name, value in arguments.items()}).encode("ascii")
