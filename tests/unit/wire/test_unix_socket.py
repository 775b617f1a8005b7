from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.wire import unix_socket


@pytest.mark.parametrize(
    "path, is_possible",
    [("", False), ("/a", True), ("x" * 107, True), ("x" * 108, False), ("ü" * 54, False), ("/a\0b", False)],
)
def test_a_path_has_up_to_107_bytes(path: str, is_possible: bool) -> None:
    """Bytes count, not characters; a NUL would cut the path short unseen. Rules: DM-40"""
    assert unix_socket.is_possible(path) is is_possible


def test_a_target_is_quoted() -> None:
    """What means something in a URI is part of the name."""
    assert unix_socket.target("/run/100%#1 ?.sock") == "unix:/run/100%25%231%20%3F.sock"


def test_a_path_that_no_socket_can_have_is_said() -> None:
    """Whoever gave it reads how long one may be."""
    with pytest.raises(UsageError, match="at most 107 bytes"):
        unix_socket.knock("x" * 108)
