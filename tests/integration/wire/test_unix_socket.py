from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from kubelet_sim.wire import unix_socket


def test_somebody_listens_whose_queue_is_full_as_well(short_root: Path) -> None:
    """A file, a socket that nobody listens on and a path that cannot be one are nobody."""
    path, file = short_root / "a.sock", short_root / "file"
    file.touch()
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        server.bind(str(path))
        assert not unix_socket.accepts(path)
        server.listen(0)
        waiting = []
        with pytest.raises(BlockingIOError):  # noqa: PT012 - how many fit is the kernel's
            for _ in range(1000):
                waiting.append(stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)))
                waiting[-1].setblocking(False)
                waiting[-1].connect(str(path))
        assert unix_socket.accepts(path)
    assert not any(map(unix_socket.accepts, (path, file, short_root / "none", short_root / ("x" * 108))))
