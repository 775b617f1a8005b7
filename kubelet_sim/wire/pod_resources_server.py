"""The server of the pod resources API: two services on one socket, behind one rate limit.

Knows how the socket comes into being and how refusals are worded; which pods there are, and what they hold, is the
business of whoever it asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen
from google.protobuf import json_format
from google.protobuf.message import Message

from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.model.pod_resources import AllocatableResources, ApiVersion, PodResources
from kubelet_sim.profiles import Offer, Profile
from kubelet_sim.wire import noise, unix_socket
from kubelet_sim.wire import pod_resources_messages as messages
from kubelet_sim.wire.decoder import parse
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.pb import podresources_v1_pb2 as v1
from kubelet_sim.wire.pb import podresources_v1alpha1_pb2 as v1alpha1
from kubelet_sim.wire.rate_limit import TokenBucket
from kubelet_sim.wire.socket_server import SocketServer
from kubelet_sim.wire.status import status_code
from kubelet_sim.wire.unimplemented import unknown_method, unknown_service

CALLS_PER_S = 100
BURST = 10
"""Rules: PR-6"""
_DIRECTORY_MODE = 0o750
_PREFIX = "pod_resources_endpoint_"

_Context = grpc.aio.ServicerContext[bytes, bytes]
_Answer = Callable[[Message], Awaitable[Message]]
Called = Callable[[str], Awaitable[None]]
Count = Callable[[str, str], None]
"""Told the name of a counter, without the prefix `kubelet_`, and the API version whenever it goes up. Rules: PR-32"""


class CallObserver(Protocol):
    """Is told of every call when it is answered."""

    def __call__(self, method: str, status: str, took_s: float, values: Callable[[], tuple[Any, Any]]) -> None:
        """Take note of it.

        Args:
            method: as it was called: `/v1.PodResourcesLister/List`.
            status: gRPC's code, as the kubelet's library names it.
            took_s: on the clock of the rate limit.
            values: makes JSON of request and answer, `None` for one that there is not: that takes time.
        """


class PodResourcesProvider(Protocol):
    """Who knows the pods and what they hold."""

    async def listed(self, version: ApiVersion) -> Sequence[PodResources]:
        """The answer to `List`, devices of inactive pods freed before. Rules: PR-11, PR-13, PR-31"""

    async def found(self, name: str, namespace: str) -> PodResources | None:
        """The pod, if it is known and active; nothing is freed before. Rules: PR-16, PR-17, PR-18, PR-19"""

    async def allocatable(self) -> AllocatableResources:
        """What the node has to give. Rules: PR-20"""


class PodResourcesServer(SocketServer):
    """One kubelet process's server; listens once.

    Args:
        provider: is asked.
        profile: which methods this kubelet answers, and whether it limits the rate of calls.
        now: the clock of the rate limit, in seconds.
        count: told of every counter that goes up.
        rejected: told of every call that the rate limit refused.
        called: awaited with the method of every call before it is looked at; may refuse it with `RpcFailed`.
        seen: told of every call.

    Rules: PR-1, PR-4, PR-5, PR-6
    """

    def __init__(
        self,
        provider: PodResourcesProvider,
        profile: Profile,
        *,
        now: Callable[[], float],
        count: Count = lambda _name, _version: None,
        rejected: Callable[[], None] = lambda: None,
        called: Called | None = None,
        seen: CallObserver = lambda method, status, took_s, values: None,  # noqa: ARG005 - nobody is told
    ) -> None:
        super().__init__()
        watched = _CallObservers(now, called, seen)
        self._methods = _PodResourcesMethods(
            _OfferedMethods(provider, profile, count), _RateLimit(profile, now, rejected), watched
        )

    async def listen(self, socket_path: str | Path) -> None:
        """Listen and serve at that absolute path. An old file there goes first, missing folders are made (0750).

        The socket appears by a rename, so whoever sees it can dial it.

        Raises:
            TransportError: with what ends the kubelet. Nothing of ours is left.

        Rules: PR-2, PR-3
        """
        path = Path(socket_path)
        _make_room(path)
        hidden = path.with_name(f".{secrets.token_hex(4)}")
        # Renamed, a socket may get a path that nobody could dial.
        problem = unix_socket.bind_problem(hidden) if unix_socket.is_possible(path) else "invalid argument"
        if problem is not None:
            raise _failed(f"listen unix {path}: {problem}")
        noise.hush(asyncio.get_running_loop())

        def failed(cause: str) -> TransportError:
            return _failed(f"listen unix {path}: {cause}")

        await self._serve(grpc.aio.server(), [self._methods], path, failed, first_path=hidden)

    async def stop(self, *, leave_socket: bool = True) -> None:
        """Stop at once; the socket's file stays, as a kubelet leaves it, unless the whole node goes. Rules: PR-2"""
        await super().stop(leave_socket=leave_socket)


class _OfferedMethods:
    """The methods that this kubelet has, by service. Rules: PR-4, PR-7, PR-8, PR-9"""

    def __init__(self, provider: PodResourcesProvider, profile: Profile, count: Count) -> None:
        self._provider = provider
        self._profile = profile
        self._count = count
        newer: dict[str, tuple[type[Message], _Answer]] = {"List": (v1.ListPodResourcesRequest, self._list)}
        if profile.pod_resources_allocatable is not Offer.ABSENT:
            newer["GetAllocatableResources"] = (v1.AllocatableResourcesRequest, self._allocatable)
        if profile.pod_resources_get is not Offer.ABSENT:
            newer["Get"] = (v1.GetPodResourcesRequest, self._get)
        self.methods: dict[str, dict[str, tuple[type[Message], _Answer]]] = {
            messages.SERVICES[ApiVersion.V1]: newer,
            messages.SERVICES[ApiVersion.V1ALPHA1]: {"List": (v1alpha1.ListPodResourcesRequest, self._older_list)},
        }

    async def _list(self, _request: Message) -> Message:
        self._counted("requests_total", "requests_list")
        return messages.list_message(await self._provider.listed(ApiVersion.V1), ApiVersion.V1)

    async def _older_list(self, _request: Message) -> Message:
        self._count(f"{_PREFIX}requests_total", ApiVersion.V1ALPHA1.value)
        return messages.list_message(await self._provider.listed(ApiVersion.V1ALPHA1), ApiVersion.V1ALPHA1)

    async def _allocatable(self, _request: Message) -> Message:
        self._counted("requests_total", "requests_get_allocatable")
        if self._profile.pod_resources_allocatable is Offer.OFF:
            self._counted("errors_get_allocatable")
            raise RpcFailed("Unknown", "Pod Resources API GetAllocatableResources disabled")
        return messages.allocatable_message(await self._provider.allocatable())

    async def _get(self, request: Message) -> Message:
        assert isinstance(request, v1.GetPodResourcesRequest)  # noqa: S101 - it was parsed as one
        self._counted("requests_total", "requests_get")
        if self._profile.pod_resources_get is Offer.OFF:
            self._counted("errors_get")
            raise RpcFailed("Unknown", "PodResources API Get method disabled")
        pod = await self._provider.found(request.pod_name, request.pod_namespace)
        if pod is None:
            self._counted("errors_get")
            text = f"pod {request.pod_name} in namespace {request.pod_namespace} not found"
            raise RpcFailed("Unknown", text)
        return v1.GetPodResourcesResponse(pod_resources=messages.pod_message(pod))

    def _counted(self, *names: str) -> None:
        for name in names:
            self._count(f"{_PREFIX}{name}", ApiVersion.V1.value)


class _RateLimit:
    """One bucket for all calls of the server. Rules: PR-6"""

    def __init__(self, profile: Profile, now: Callable[[], float], rejected: Callable[[], None]) -> None:
        limited = profile.pod_resources_rate_limited
        self._bucket = TokenBucket(now, rate=CALLS_PER_S, capacity=BURST) if limited else None
        self._rejected = rejected

    def check(self) -> None:
        """Take a token. Raises `RpcFailed` if there is none."""
        if self._bucket is not None and not self._bucket.take():
            self._rejected()
            raise RpcFailed("ResourceExhausted", "rejected by rate limit")


@frozen
class _CallObservers:
    """Who hears of calls: before, and after."""

    now: Callable[[], float]
    called: Called | None
    seen: CallObserver


class _PodResourcesMethods(grpc.GenericRpcHandler):
    """Finds the method; a request is decoded before it takes a token, as the kubelet's library does it."""

    def __init__(self, services: _OfferedMethods, limit: _RateLimit, watched: _CallObservers) -> None:
        self._services = services
        self._limit = limit
        self._watched = watched

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        service, _, method = handler_call_details.method.removeprefix("/").rpartition("/")
        methods = self._services.methods.get(service)
        if methods is None:
            return unknown_service(service)
        if method not in methods:
            return unknown_method(service, method)
        request_type, answer = methods[method]
        watched = self._watched

        async def handle(data: bytes, context: _Context) -> bytes:
            begun_at_s, request, given, code = watched.now(), None, None, "Canceled"
            try:
                request = _parsed(request_type, data)
                if watched.called is not None:
                    await watched.called(method)
                self._limit.check()
                given, code = await answer(request), "OK"
            except RpcFailed as failure:
                code = failure.code
                await context.abort(status_code(failure.code), failure.description)
            finally:
                asked, came, took_s = request, given, watched.now() - begun_at_s
                watched.seen(handler_call_details.method, code, took_s, lambda: (_json(asked), _json(came)))
            return given.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(handle)


def _parsed(request_type: type[Message], data: bytes) -> Message:
    try:
        return parse(request_type, data)
    except ValueError as error:
        raise RpcFailed("Internal", f"grpc: error unmarshalling request: {error}") from error


def _json(message: Message | None) -> Any:
    return None if message is None else json_format.MessageToDict(message, preserving_proto_field_name=True)


def _make_room(path: Path) -> None:
    """Removes what lies at the socket's path, and makes its folder. Rules: PR-2"""
    try:
        with contextlib.suppress(FileNotFoundError):
            _remove(path)
    except OSError as error:
        raise _failed(f"failed to unlink socket file {path}: {_words(error)}") from error
    try:
        path.parent.mkdir(_DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise _failed(f"error creating socket directory {path.parent}: {_words(error)}") from error


def _remove(path: Path) -> None:
    """Whatever it is, as Go removes: an empty directory, too."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _failed(cause: str) -> TransportError:
    return TransportError(f"failed to create listener for podResources endpoint: {cause}")
