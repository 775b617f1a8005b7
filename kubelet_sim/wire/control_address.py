"""What is said when no node is found at a root directory. Apart from the client, so that it costs no import of gRPC."""

from __future__ import annotations

from pathlib import Path

from kubelet_sim.errors import TransportError


def no_node(root: Path) -> TransportError:
    """Return the error for a root at which nobody answers."""
    return TransportError(f"no node answers at {root}: start one with `kubelet-sim run`, or name its root with --root")
