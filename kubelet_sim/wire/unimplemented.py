"""What a server of the kubelet answers to calls that it has no method for, in the words of its library. Rules: DM-29, PR-4"""

from __future__ import annotations

from typing import NoReturn

from kubelet_sim.wire.library import grpc

_Context = grpc.aio.ServicerContext[bytes, bytes]


def unknown_service(service: str) -> grpc.RpcMethodHandler[bytes, bytes]:
    """Return the handler for any method of a service that is not there."""
    return _unimplemented(f"unknown service {service}")


def unknown_method(service: str, method: str) -> grpc.RpcMethodHandler[bytes, bytes]:
    """Return the handler for a method that the service does not have."""
    return _unimplemented(f"unknown method {method} for service {service}")


def _unimplemented(text: str) -> grpc.RpcMethodHandler[bytes, bytes]:
    async def refuse(_requests: object, context: _Context) -> NoReturn:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, text)

    return grpc.stream_stream_rpc_method_handler(refuse)
