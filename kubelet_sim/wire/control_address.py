"""What both ends of the control API agree on, and what is said when no node is found. Costs no import of gRPC."""

from __future__ import annotations

from pathlib import Path

from kubelet_sim.errors import TransportError

SERVICE = "kubelet_sim.control.v2.Control"
"""Its methods take a JSON object of arguments by name and answer with JSON (see `kubelet_sim.model.codec`). The name changes
with that form, so that both ends notice when they are of two versions of kubelet-sim."""
OPTIONS: tuple[tuple[str, int], ...] = (
    # A snapshot with all devices, and the manifests of a whole directory, have no natural bound; both ends are ours.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # For the text of an error, which travels as a header.
    ("grpc.max_metadata_size", 64 * 1024),
)


def no_node(root: Path) -> TransportError:
    """Return the error for a root at which nobody answers."""
    return TransportError(f"no node answers at {root}: start one with `kubelet-sim run`, or name its root with --root")
