"""A client of the pod resources API, for a node of ours and for a real one: what a monitoring agent would see."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self, TypeVar

from google.protobuf.message import Message

from kubelet_sim.errors import RpcFailed, TransportError, UsageError
from kubelet_sim.model.pod_resources import AllocatableResources, ApiVersion, PodResources
from kubelet_sim.wire import noise, unix_socket
from kubelet_sim.wire import pod_resources_messages as messages
from kubelet_sim.wire.decoder import parse
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.pb import podresources_v1_pb2 as v1
from kubelet_sim.wire.pb import podresources_v1alpha1_pb2 as v1alpha1
from kubelet_sim.wire.status import rpc_failed, undecodable_message

M = TypeVar("M", bound=Message)

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes: the library's own 4 MiB are too few for a large node. Rules: PR-5"""
_TIMEOUT_S = 10.0


class PodResourcesClient:
    """A connection to one socket, from one event loop; an asynchronous context manager.

    Args:
        socket_path: the API's socket; `/var/lib/kubelet/pod-resources/kubelet.sock` on a real node.
        timeout_s: in real time, for each call.

    Raises:
        UsageError: when it is entered, if there is something else than a socket.
        TransportError: when it is entered, if nobody listens there; by a call, if there is no answer in time.
        RpcFailed: by a call that the server refused, with its code and text.
    """

    def __init__(self, socket_path: str | Path, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._path = Path(socket_path)
        self._timeout_s = timeout_s
        self._channel: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        _look(self._path)
        noise.hush(asyncio.get_running_loop())
        options = (
            ("grpc.default_authority", "localhost"),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
            ("grpc.max_receive_message_length", LARGEST_ANSWER),
        )
        self._channel = grpc.aio.insecure_channel(unix_socket.target(self._path.absolute()), options=options)
        return self

    async def __aexit__(self, *_: object) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def list(self, version: ApiVersion = ApiVersion.V1) -> tuple[PodResources, ...]:
        """Return the pods, in the order of the answer. Rules: PR-11, PR-31"""
        if version is ApiVersion.V1:
            newer = await self._call(version, "List", v1.ListPodResourcesRequest(), v1.ListPodResourcesResponse)
            return messages.list_value(newer)
        request = v1alpha1.ListPodResourcesRequest()
        return messages.list_value(await self._call(version, "List", request, v1alpha1.ListPodResourcesResponse))

    async def get(self, name: str, namespace: str = "default") -> PodResources:
        """Return one pod; one that there is not is `RpcFailed` with the code Unknown. Rules: PR-16"""
        request = v1.GetPodResourcesRequest(pod_name=name, pod_namespace=namespace)
        answer = await self._call(ApiVersion.V1, "Get", request, v1.GetPodResourcesResponse)
        return messages.pod_value(answer.pod_resources)

    async def allocatable(self) -> AllocatableResources:
        """Return what the node has to give, in use or not. Rules: PR-20"""
        request = v1.AllocatableResourcesRequest()
        answer = v1.AllocatableResourcesResponse
        return messages.allocatable_value(await self._call(ApiVersion.V1, "GetAllocatableResources", request, answer))

    async def _call(self, version: ApiVersion, name: str, request: Message, answer: type[M]) -> M:
        if self._channel is None:
            raise UsageError("the connection is not open; use the client in an `async with`")
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(
            f"/{messages.SERVICES[version]}/{name}"
        )
        try:
            data = await method(request.SerializeToString(), timeout=self._timeout_s)
        except grpc.aio.AioRpcError as error:
            raise self._translated(rpc_failed(error)) from error
        try:
            return parse(answer, data)
        except ValueError as error:
            raise undecodable_message(error) from error

    def _translated(self, failure: RpcFailed) -> Exception:
        if failure.code == "DeadlineExceeded":
            return TransportError(f"the kubelet at {self._path} has not answered for {self._timeout_s:g} s")
        if failure.code == "Unavailable":
            return TransportError(f"the connection to {self._path} is lost: {failure.description}")
        return failure


def _look(path: Path) -> None:
    """Raises `TransportError` unless somebody listens on the socket."""
    try:
        unix_socket.knock(path)
    except FileNotFoundError as error:
        raise TransportError(f"there is no socket {path}; does a kubelet run, with this API?") from error
    except ConnectionRefusedError as error:
        if not path.is_socket():
            raise UsageError(f"{path} is no socket") from error
        raise TransportError(f"nobody listens on {path}; has the kubelet ended?") from error
    except PermissionError as error:
        raise TransportError(f"no permission to connect to {path}; real kubelets let root in") from error
    except OSError as error:
        raise TransportError(f"cannot connect to {path}: {error.strerror or error}") from error
