"""A plugin's call to the kubelet: Register on `kubelet.sock`, once, as a plugin makes it."""

from __future__ import annotations

from pathlib import Path

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.plugin import Registration
from kubelet_sim.wire import messages, unix_socket
from kubelet_sim.wire.library import grpc
from kubelet_sim.wire.status import rpc_failed

_OPTIONS: tuple[tuple[str, str | int], ...] = (
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)


async def register(kubelet_socket: str | Path, registration: Registration, timeout_s: float | None = None) -> None:
    """Call Register on a connection of its own; returns once the kubelet has accepted.

    Args:
        kubelet_socket: nobody there is a failure at once, with the code `Unavailable`.
        registration: sent as it is.
        timeout_s: in real time; after it the caller gives up with `DeadlineExceeded`. `None`: never.

    Raises:
        RpcFailed: the kubelet's answer, or what became of the connection.

    Rules: DM-21, DM-29, DM-30
    """
    if not unix_socket.is_possible(kubelet_socket):
        raise RpcFailed("Unavailable", f"{kubelet_socket} cannot be the path of a socket")
    async with grpc.aio.insecure_channel(unix_socket.target(kubelet_socket), options=_OPTIONS) as channel:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            f"/{messages.REGISTRATION_SERVICE}/Register"
        )
        try:
            await method(messages.encode_registration(registration), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise rpc_failed(error) from error
