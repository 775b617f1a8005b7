"""How a plugin's process begins, and which processes are its own until its end, whoever starts it.

Every plugin has a session of its own and is killed by the kernel should this process die. `plugin_process` runs one beside an
event loop, `foreground` in place of one, `testing.plugin_process` for a test without one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import psutil
from attrs import evolve, field, frozen

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.node.plugin.isolation import isolated_in_root, supervised_command
from kubelet_sim.node.root_directory.layout import RootLayout

STOP_S = 5.0
"""How long a plugin may take after SIGTERM at the end of everything, when nobody measures it any more."""
GIVE_UP_S = 5.0
"""How long after SIGKILL we go on looking: not even that ends a process inside a system call that hangs."""
AGAIN_S = 0.02
ENDED = frozenset({psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})
"""How a process stands that nobody has waited for yet: it is none any more."""
_MARK = "KUBELET_SIM_INSTANCE"
"""A variable in the plugin's environment: what has it belongs to the instance, even a daemon that left its parents."""
_HOW: Mapping[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stderr": subprocess.STDOUT,
    "start_new_session": True,
    "bufsize": 0,
}


@frozen
class Launch:
    """What is started, and what it is told and shown of the node."""

    command: tuple[str, ...]
    layout: RootLayout
    env: Mapping[str, str] = field(factory=dict)
    """Added to ours."""
    cwd: Path | None = None
    is_isolated: bool = False
    """Whether it sees the node where a real kubelet's directory is."""

    @property
    def has_placeholder(self) -> bool:
        """Whether the plugin is told where the node is."""
        return any(self.layout.fill_in(text) != text for text in (*self.command, *self.env.values()))

    def isolated_unless_told(self) -> Launch:
        """Returns the launch as it is without a word of the user: who is not told where the node is has to find it."""
        return evolve(self, is_isolated=not self.has_placeholder)

    @property
    def words(self) -> list[str]:
        """The command line, the placeholders replaced, with the launcher that isolates it."""
        filled = [self.layout.fill_in(word) for word in self.command]
        return isolated_in_root(self.layout.path, filled) if self.is_isolated else filled

    def environment(self, mark: str) -> dict[str, str]:
        """Ours, with what was given and the mark of the instance."""
        given = {name: self.layout.fill_in(value) for name, value in self.env.items()}
        return {**os.environ, **given, _MARK: mark}


def start(
    words: Sequence[str], stdout: int | IO[bytes], env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a command as plugins are started. Call it in a thread that lives as long as the plugin.

    A command that is not there ends with 127 and says so. Raises `UsageError` for a working directory that there is not,
    and `TransportError` if no process can be made.
    """
    with _refusals(cwd):
        return subprocess.Popen(  # noqa: S603 - running what the user asks for is the purpose
            supervised_command(words), stdout=stdout, env=env, cwd=cwd, **_HOW
        )


async def start_beside(
    words: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> asyncio.subprocess.Process:
    """As `start`, beside an event loop, which reads its output."""
    pipe = subprocess.PIPE
    with _refusals(cwd):
        return await asyncio.create_subprocess_exec(*supervised_command(words), stdout=pipe, env=env, cwd=cwd, **_HOW)


@contextlib.contextmanager
def _refusals(cwd: Path | None) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise UsageError(f"cannot start a plugin in {str(cwd or Path.cwd())!r}: {error.strerror}") from error
    except OSError as error:
        raise TransportError(f"cannot start the plugin: {error.strerror}") from error


class Instance:
    """The processes of one plugin: those of the sessions that were begun for it, and whatever has its mark."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self._leaders: set[int] = set()

    def begun(self, leader: int) -> None:
        """A session of the plugin was begun by that process."""
        self._leaders.add(leader)

    def processes(self) -> list[int]:
        """The ids of the processes of this plugin that run."""
        return [pid for pid in psutil.pids() if self._is_ours(pid)] if self._leaders else []

    def killed(self) -> Iterator[None]:
        """Kill all of them, again and again as they may go on multiplying, until none is left, or we give up.

        The caller waits `AGAIN_S` at each step.
        """
        deadline = time.monotonic() + GIVE_UP_S
        while (alive := self.processes()) and time.monotonic() < deadline:
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            yield

    def _is_ours(self, pid: int) -> bool:
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            if process.status() in ENDED:
                return False
            return os.getsid(pid) in self._leaders or process.environ().get(_MARK) == self.mark
        return False


def signal_session(leader: int, number: int) -> None:
    """Send a signal to a plugin and what it has started in its process group; nothing if all of that is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
