"""gRPC's status codes under the names that the kubelet's library gives them, and failed calls as `RpcFailed`.

The one place where errors of the gRPC library become ours.
"""

from __future__ import annotations

import re

from kubelet_sim.errors import RpcFailed
from kubelet_sim.wire.library import grpc

_GO_NAMES: dict[grpc.StatusCode, str] = {
    grpc.StatusCode.OK: "OK",
    grpc.StatusCode.CANCELLED: "Canceled",
    grpc.StatusCode.UNKNOWN: "Unknown",
    grpc.StatusCode.INVALID_ARGUMENT: "InvalidArgument",
    grpc.StatusCode.DEADLINE_EXCEEDED: "DeadlineExceeded",
    grpc.StatusCode.NOT_FOUND: "NotFound",
    grpc.StatusCode.ALREADY_EXISTS: "AlreadyExists",
    grpc.StatusCode.PERMISSION_DENIED: "PermissionDenied",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
    grpc.StatusCode.FAILED_PRECONDITION: "FailedPrecondition",
    grpc.StatusCode.ABORTED: "Aborted",
    grpc.StatusCode.OUT_OF_RANGE: "OutOfRange",
    grpc.StatusCode.UNIMPLEMENTED: "Unimplemented",
    grpc.StatusCode.INTERNAL: "Internal",
    grpc.StatusCode.UNAVAILABLE: "Unavailable",
    grpc.StatusCode.DATA_LOSS: "DataLoss",
    grpc.StatusCode.UNAUTHENTICATED: "Unauthenticated",
}
_CODES: dict[str, grpc.StatusCode] = {name: code for code, name in _GO_NAMES.items()}
_TOO_LARGE = re.compile(r"(?:Stream removed \()?(?:CLIENT: )?Received message larger than max \((\d+) vs\. (\d+)\)\)?")
"""As the versions of our own library since 1.63 say it."""


def go_name(code: grpc.StatusCode) -> str:
    """Return the name as it stands in `rpc error: code = …`. Rules: DM-29"""
    return _GO_NAMES[code]


def status_code(name: str) -> grpc.StatusCode:
    """Return the code of that name; raises `ValueError` for a name that there is not."""
    try:
        return _CODES[name]
    except KeyError:
        message = f"{name!r} is no gRPC status code; expected one of {', '.join(_CODES)}"
        raise ValueError(message) from None


def enum_name(name: str) -> str:
    """Return how the protocol writes the code that Go names so: `INVALID_ARGUMENT` for `InvalidArgument`."""
    return status_code(name).name


def go_name_of(enum_name: str) -> str:
    """Return Go's name for `INVALID_ARGUMENT` and the like; raises `ValueError` for a name that there is not."""
    try:
        return _GO_NAMES[grpc.StatusCode[enum_name]]
    except KeyError:
        known = ", ".join(code.name for code in _GO_NAMES)
        raise ValueError(f"{enum_name!r} is no gRPC status code; expected one of {known}") from None


def rpc_failed(error: grpc.aio.AioRpcError) -> RpcFailed:
    """Return the failure of a call with the status it ended with.

    A description that the plugin sent is kept as it is. What our own library says of a message over the limit is put
    in the words of the kubelet's; it words lost connections differently too, and those are left alone, because nothing
    tells them from a plugin's own text.

    Rules: DM-29, DM-42
    """
    description = error.details() or ""
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and (match := _TOO_LARGE.fullmatch(description)):
        description = f"grpc: received message larger than max ({match[1]} vs. {match[2]})"
    return RpcFailed(go_name(error.code()), description)


def connection_closing() -> RpcFailed:
    """Return how a call ends whose connection we close. Rules: DM-44"""
    return RpcFailed("Canceled", "grpc: the client connection is closing")


def undecodable_message(cause: ValueError) -> RpcFailed:
    """Return how a call ends whose answer cannot be decoded; `cause` is of `decoding.parse`. Rules: DM-125"""
    return RpcFailed("Internal", f"grpc: failed to unmarshal the received message: {cause}")


def no_message() -> RpcFailed:
    """Return how a call ends that the plugin ended with OK before it had answered. Rules: DM-29, DM-98"""
    return RpcFailed("Internal", "cardinality violation: received no response message from non-server-streaming RPC")
