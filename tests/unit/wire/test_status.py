from __future__ import annotations

import grpc
import pytest

from kubelet_sim.wire import status


def failed(code: grpc.StatusCode, details: str | None) -> grpc.aio.AioRpcError:
    """What our library raises for a call that ended so."""
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)


@pytest.mark.parametrize("code", list(grpc.StatusCode))
def test_every_code_has_a_name_and_back(code: grpc.StatusCode) -> None:
    """A name is the code's words without spaces, as Go writes them. Rules: DM-29"""
    name = status.go_name(code)
    assert status.status_code(name) is code
    spelled = code.name.replace("CANCELLED", "CANCELED").replace("_", "").lower()
    assert name.lower() == spelled


def test_an_unknown_name_says_which_there_are() -> None:
    """A typing error is answered with the choice."""
    with pytest.raises(ValueError, match="'Cancelled' is no gRPC status code; expected one of OK, Canceled, "):
        status.status_code("Cancelled")


def test_a_failed_call_reads_as_the_kubelets() -> None:
    """Code by its name, text as the plugin sent it. Rules: DM-78"""
    failure = status.rpc_failed(failed(grpc.StatusCode.INVALID_ARGUMENT, "no such\ndevice"))
    assert (failure.code, failure.description) == ("InvalidArgument", "no such\ndevice")
    assert str(failure) == "rpc error: code = InvalidArgument desc = no such\ndevice"


def test_a_status_without_text_has_an_empty_one() -> None:
    """`None` never shows."""
    assert status.rpc_failed(failed(grpc.StatusCode.UNKNOWN, None)).description == ""


@pytest.mark.parametrize(
    "ours",
    [
        "CLIENT: Received message larger than max (5242890 vs. 4194304)",
        "Received message larger than max (5242890 vs. 4194304)",
        "Stream removed (CLIENT: Received message larger than max (5242890 vs. 4194304))",
    ],
)
def test_a_message_over_the_limit_reads_as_the_kubelets(ours: str) -> None:
    """What our own library says is put in the kubelet's words, a plugin's text is not. Rules: DM-42"""
    failure = status.rpc_failed(failed(grpc.StatusCode.RESOURCE_EXHAUSTED, ours))
    assert failure.description == "grpc: received message larger than max (5242890 vs. 4194304)"
    assert status.rpc_failed(failed(grpc.StatusCode.UNKNOWN, ours)).description == ours
    assert status.rpc_failed(failed(grpc.StatusCode.RESOURCE_EXHAUSTED, f"x {ours}")).description == f"x {ours}"
