"""Who listens on a socket, and whom no signal is sent to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.faults.signals import Listener, listener
from tests.patience import PATIENCE_S

LISTENS = """
import socket, sys
here = socket.socket(socket.AF_UNIX)
here.bind(sys.argv[1])
here.listen()
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_process_behind_a_socket_gets_the_signal(short_root: Path) -> None:
    """The kernel knows who listens, and the process is ended."""
    short_root.mkdir(exist_ok=True)
    path = short_root / "p.sock"
    command = [sys.executable, "-c", LISTENS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        found = listener(path)
        assert found == Listener(process.pid, os.geteuid())
        found.send(signal.SIGKILL)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
    with pytest.raises(UsageError, match=r"nobody listens on p\.sock"):
        listener(path)


def test_our_own_process_gets_none(short_root: Path) -> None:
    """A plugin may live in the node's process, as in tests."""
    short_root.mkdir(exist_ok=True)
    path = short_root / "p.sock"
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(str(path))
        here.listen()
        with pytest.raises(UsageError, match="own process"):
            listener(path).send(signal.SIGKILL)


@pytest.mark.parametrize(
    "refused, why",
    [
        (Listener(0, os.geteuid()), "cannot be seen"),
        (Listener(1, os.geteuid()), "process 1"),
        (Listener(os.getppid(), os.geteuid() + 1), "another user"),
        (Listener(2**22 + 1, os.geteuid()), "cannot be had"),
    ],
)
def test_a_process_that_is_not_a_plugin_of_ours_gets_none(refused: Listener, why: str) -> None:
    """Init, somebody else's, one that is gone or cannot be seen."""
    with pytest.raises(UsageError, match=why):
        refused.send(signal.SIGKILL)


@pytest.mark.parametrize("path", ["/nowhere/p.sock", f"/tmp/{'x' * 200}"])
def test_a_path_that_cannot_be_dialled(path: str) -> None:
    """One line, whatever is wrong with it."""
    with pytest.raises(UsageError, match="nobody listens"):
        listener(Path(path))
