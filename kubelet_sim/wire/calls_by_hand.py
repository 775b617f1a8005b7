"""Calls made by hand, to any socket of a kubelet or a plugin: requests and answers as JSON, under the names of the protos.

Nothing is judged and nothing is hidden: a request goes out as it was given, an answer is shown as it came. Which of the
APIs a socket speaks is found out by calling it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from attrs import frozen
from google.protobuf import json_format
from google.protobuf.message import Message

from kubelet_sim.errors import RpcFailed, TransportError, UsageError
from kubelet_sim.model.plugin import DIAL_TIMEOUT_S, PRE_START_TIMEOUT_S
from kubelet_sim.wire import noise, registry_messages, unix_socket
from kubelet_sim.wire.decoder import parse
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.messages import PLUGIN_SERVICE, REGISTRATION_SERVICE
from kubelet_sim.wire.pb import deviceplugin_v1beta1_pb2 as plugins
from kubelet_sim.wire.pb import pluginregistration_v1_pb2 as registry
from kubelet_sim.wire.pb import podresources_v1_pb2 as v1
from kubelet_sim.wire.pb import podresources_v1alpha1_pb2 as v1alpha1
from kubelet_sim.wire.pod_resources_client import LARGEST_ANSWER
from kubelet_sim.wire.status import no_message, rpc_failed, undecodable_message

V1, V1ALPHA1 = "v1.PodResourcesLister", "v1alpha1.PodResourcesLister"
_OPTIONS: tuple[tuple[str, str | int], ...] = (
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", LARGEST_ANSWER),
)
PATIENCE_S = 5.0
"""How long an answer may take that needs nobody else."""
_NO_METHOD = "KubeletSimAsksWhoIsThere"
"""A method that no service has: Go's servers say whether it is the method that they miss, or the service."""


@frozen
class CallableMethod:
    """One method that can be called."""

    service: str
    name: str
    request: type[Message]
    answer: type[Message]
    is_stream: bool = False
    patience_s: float = PATIENCE_S
    """How long whoever calls by hand waits, if nothing else is said."""

    @property
    def path(self) -> str:
        """The method as gRPC names it: `/v1beta1.DevicePlugin/Allocate`."""
        return f"/{self.service}/{self.name}"


METHODS: tuple[CallableMethod, ...] = (
    CallableMethod(PLUGIN_SERVICE, "GetDevicePluginOptions", plugins.Empty, plugins.DevicePluginOptions),
    CallableMethod(PLUGIN_SERVICE, "ListAndWatch", plugins.Empty, plugins.ListAndWatchResponse, is_stream=True),
    CallableMethod(
        PLUGIN_SERVICE,
        "GetPreferredAllocation",
        plugins.PreferredAllocationRequest,
        plugins.PreferredAllocationResponse,
    ),
    CallableMethod(PLUGIN_SERVICE, "Allocate", plugins.AllocateRequest, plugins.AllocateResponse),
    CallableMethod(
        PLUGIN_SERVICE,
        "PreStartContainer",
        plugins.PreStartContainerRequest,
        plugins.PreStartContainerResponse,
        patience_s=PRE_START_TIMEOUT_S,
    ),
    CallableMethod(registry_messages.SERVICE, "GetInfo", registry.InfoRequest, registry.PluginInfo),
    CallableMethod(
        registry_messages.SERVICE,
        "NotifyRegistrationStatus",
        registry.RegistrationStatus,
        registry.RegistrationStatusResponse,
    ),
    CallableMethod(
        REGISTRATION_SERVICE,
        "Register",
        plugins.RegisterRequest,
        plugins.Empty,
        patience_s=DIAL_TIMEOUT_S + PATIENCE_S,
    ),
    CallableMethod(V1, "List", v1.ListPodResourcesRequest, v1.ListPodResourcesResponse),
    CallableMethod(V1, "Get", v1.GetPodResourcesRequest, v1.GetPodResourcesResponse),
    CallableMethod(V1, "GetAllocatableResources", v1.AllocatableResourcesRequest, v1.AllocatableResourcesResponse),
    CallableMethod(V1ALPHA1, "List", v1alpha1.ListPodResourcesRequest, v1alpha1.ListPodResourcesResponse),
)
"""Of a name that two services have, the first is meant. Rules: DM-11, DM-21, DM-40, DM-103, DM-148, PR-4"""
SERVICES = tuple(dict.fromkeys(method.service for method in METHODS))
_HARMLESS = {
    PLUGIN_SERVICE: "GetDevicePluginOptions",
    registry_messages.SERVICE: "GetInfo",
    V1: "List",
    V1ALPHA1: "List",
}
"""What can be called to see who is there. `Register` cannot: it would be counted."""


def method_named(text: str) -> CallableMethod:
    """The method of a name, `Allocate` or `v1beta1.DevicePlugin/Allocate`. Raises `UsageError`."""
    service, _, name = text.lstrip("/").rpartition("/")
    for method in METHODS:
        if method.name == name and service in {"", method.service}:
            return method
    known = ", ".join(dict.fromkeys(method.name for method in METHODS))
    raise UsageError(f"there is no method {text}; there are: {known}, each also as SERVICE/METHOD")


def to_request(method: CallableMethod, value: Mapping[str, Any]) -> bytes:
    """The bytes of a request in JSON. Raises `UsageError` for what is none of that method."""
    try:
        return json_format.ParseDict(dict(value), method.request()).SerializeToString()
    except (json_format.ParseError, TypeError, ValueError) as error:
        raise UsageError(f"no request for {method.name}: {_told(error, method)}") from error


def _told(error: Exception, method: CallableMethod) -> str:
    """The words of the library on one line, with the fields that there are as the protos name them."""

    def listed(found: re.Match[str]) -> str:
        return f"; there are: {', '.join(names.get(each, each) for each in re.findall(r'[A-Za-z_]+', found[1]))}"

    names = dict(_field_names(method.request.DESCRIPTOR))
    text = " ".join(str(error).split())
    return re.sub(r'\.? Available Fields\(except extensions\): "\[([^"]*)\]"', listed, text)


def _field_names(message: Any) -> Iterator[tuple[str, str]]:
    """The name in JSON and in the proto of each field of a message and of what is in it."""
    for each in message.fields:
        yield each.json_name, each.name
        if each.message_type is not None:
            yield from _field_names(each.message_type)


def to_json(message_type: type[Message], data: bytes) -> dict[str, Any]:
    """A message as JSON has it, fields that were left out included. Raises `RpcFailed` for bytes that are none."""
    try:
        message = parse(message_type, data)
    except ValueError as error:
        raise undecodable_message(error) from error
    shown: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return shown


class HandCalls:
    """A connection for calls by hand; an asynchronous context manager.

    Args:
        socket_path: of whoever serves there.
        timeout_s: in real time, for each call; `None`: none.

    Raises:
        TransportError: when it is entered, if nobody listens there.
    """

    def __init__(self, socket_path: str | Path, timeout_s: float | None = PATIENCE_S) -> None:
        self._path = Path(socket_path)
        self._timeout_s = timeout_s
        self._stack = contextlib.AsyncExitStack()
        self._channel: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        look(self._path)
        noise.hush(asyncio.get_running_loop())
        channel = grpc.aio.insecure_channel(unix_socket.target(self._path.absolute()), options=_OPTIONS)
        self._channel = await self._stack.enter_async_context(channel)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def call(self, method: CallableMethod, request: bytes) -> AsyncGenerator[dict[str, Any], None]:
        """Yield each answer: one, or those of a stream as they come. Raises `RpcFailed` with the status of the end."""
        try:
            if method.is_stream:
                stream: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._opened().unary_stream(method.path)
                call = stream(request, timeout=self._timeout_s)
                try:
                    while isinstance(data := await call.read(), bytes):
                        yield to_json(method.answer, data)
                finally:
                    call.cancel()
                return
            yield to_json(method.answer, await self._unary(method.path, request))
        except grpc.aio.AioRpcError as error:
            raise rpc_failed(error) from error

    async def services(self) -> tuple[str, ...]:
        """Which of the services answer there, in the order of `SERVICES`. Raises `RpcFailed` if the connection fails."""
        found = [name for name in SERVICES if await self._is_served(name)]
        return tuple(found)

    async def _is_served(self, service: str) -> bool:
        status = await self._status(f"/{service}/{_NO_METHOD}")
        if status.code == "Unimplemented" and status.description.startswith("unknown service"):
            return False
        if status.code == "Unimplemented" and status.description.startswith("unknown method"):
            return True
        if service not in _HARMLESS:
            return False  # only a kubelet serves it, and a kubelet's library tells
        return (await self._status(f"/{service}/{_HARMLESS[service]}")).code != "Unimplemented"

    async def _status(self, path: str) -> RpcFailed:
        try:
            await self._unary(path, b"")
        except grpc.aio.AioRpcError as error:
            failure = rpc_failed(error)
            if failure.code == "Unavailable":
                raise failure from error
            return failure
        return RpcFailed("OK", "")

    async def _unary(self, path: str, request: bytes) -> bytes:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._opened().unary_unary(path)
        answer: bytes | None = await method(request, timeout=self._timeout_s)
        if answer is None:  # the library takes a status of OK for an answer
            raise no_message()
        return answer

    def _opened(self) -> grpc.aio.Channel:
        if self._channel is None:
            raise UsageError("the connection is not open; use it in an `async with`")
        return self._channel


def methods_of(services: Iterable[str]) -> dict[str, list[str]]:
    """The names of the methods of each service."""
    return {service: [method.name for method in METHODS if method.service == service] for service in services}


def look(path: Path) -> None:
    """See whether somebody listens.

    Raises:
        UsageError: the path can be no socket's.
        TransportError: nobody listens, or we may not connect.
    """
    try:
        unix_socket.knock(path)
    except FileNotFoundError as error:
        raise TransportError(f"there is no socket {path}") from error
    except ConnectionRefusedError as error:
        raise TransportError(f"nobody listens on {path}: it is no socket, or its program has ended") from error
    except OSError as error:
        raise TransportError(f"cannot connect to {path}: {error.strerror or error}") from error
