"""Runs somebody's plugin in the foreground: its output line by line, our signals passed on, nothing of it left behind.

Knows nothing of namespaces and of terminals: the command line comes ready from `isolation`, the lines go out as they were
written, and whoever shows them escapes them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import psutil

from kubelet_sim.node.plugin.launch import AGAIN_S, ENDED, GIVE_UP_S, STOP_S, signal_session, start
from kubelet_sim.node.plugin.plugin_output import LONGEST_LINE, LineSplitter

STRAY_S = 1.0
"""How long processes may take that outlive the plugin."""
FORWARDED = (signal.SIGINT, signal.SIGTERM)
PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37


def run_plugin(
    command: Sequence[str],
    *,
    out: Callable[[str], None],
    interrupted: Callable[[], None] = lambda: None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stop_s: float = STOP_S,
) -> int:
    r"""Run the command to its end; its exit code, 128 + N if signal N ended it.

    `out` gets each line of its stdout and stderr, without the line end, undecodable bytes as `\xff`; otherwise raw. A
    line longer than 64 KiB comes in pieces. If `out` raises, the plugin is ended and the exception goes on.

    SIGINT and SIGTERM that reach this process go to the plugin's process group; after `stop_s` seconds it is killed.
    `interrupted` is called at the first SIGINT, and a second one kills at once, whatever the plugin has left included. When
    this returns, every process that the plugin started is gone, daemons included; should this process be killed, the
    plugin is killed by the kernel.

    Call it in the main thread of a process that starts no other children meanwhile. Raises what `start` raises. A command
    that cannot be run says so as its output and gives 127 or 126.
    """
    with _Signals() as signals, _Subreaper():
        process = start(command, subprocess.PIPE, env, cwd)
        return _ForegroundRun(process, signals, out, interrupted).to_its_end(stop_s)


class _ForegroundRun:
    """One plugin, from its start to its last descendant's end."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        signals: _Signals,
        out: Callable[[str], None],
        interrupted: Callable[[], None],
    ) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for
        self._process = process
        self._signals = signals
        self._family = Descendants(process.pid)
        self._output = process.stdout.fileno()
        self._lines = LineSplitter()
        self._out = out
        self._interrupted = interrupted
        self._interrupts = 0
        self._selector = selectors.DefaultSelector()
        os.set_blocking(self._output, False)
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(signals.wakeup, selectors.EVENT_READ)

    def to_its_end(self, stop_s: float) -> int:
        try:
            self._supervise(stop_s)
            self._end_family(STRAY_S)
            self._read_all()
            self._emit(self._lines.rest())
        except BaseException:
            self._out = _ignore
            self._end_family(stop_s)
            raise
        finally:
            self._selector.close()
            if self._process.stdout is not None:
                self._process.stdout.close()
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def _supervise(self, stop_s: float) -> None:
        """Pass on output and signals until the plugin itself has ended."""
        kill_at: float | None = None
        while self._process.poll() is None:
            for number in self._signals.taken():
                self._family.signal(number, group_only=True)
                kill_at = kill_at or time.monotonic() + stop_s
                if self._is_impatient(number):
                    kill_at = time.monotonic()
            self._pump(kill_at)
            if kill_at is not None and time.monotonic() >= kill_at:
                self._family.signal(signal.SIGKILL)
                kill_at += AGAIN_S
            self._family.reap()

    def _is_impatient(self, number: int) -> bool:
        """Whether this is not the first SIGINT; the first one is told."""
        if number == signal.SIGINT:
            self._interrupts += 1
            if self._interrupts == 1:
                self._interrupted()
        return self._interrupts > 1

    def _end_family(self, grace_s: float) -> None:
        """End whatever is left: asked first, then killed. Its output is still read, or it could not end."""
        now = time.monotonic()
        kill_at, give_up_at = now + grace_s, now + grace_s + GIVE_UP_S
        self._family.signal(signal.SIGTERM)
        while self._process.poll() is None or self._family.members():
            now = time.monotonic()
            if any(self._is_impatient(number) for number in self._signals.taken()):
                kill_at = now
            if now >= give_up_at:
                # Not even SIGKILL ends a process inside a system call that hangs.
                return
            if now >= kill_at:
                # Again and again: it may go on multiplying.
                self._family.signal(signal.SIGKILL)
            # Only our own children's end wakes us, not that of their children.
            self._pump(now + AGAIN_S)
            self._family.reap()
        self._family.reap()

    def _pump(self, until: float | None) -> None:
        """Wait for output, a signal or a child's end, but not beyond `until`; pass the output on."""
        timeout = None if until is None else max(0.0, until - time.monotonic())
        for key, _ in self._selector.select(timeout):
            if key.fd == self._output:
                self._read_some()
            else:
                self._signals.drain()

    def _read_some(self) -> bool:
        """Read a piece of output and pass its lines on; returns whether there may be more."""
        try:
            piece = os.read(self._output, LONGEST_LINE)
        except BlockingIOError:
            return False
        if not piece:
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._output)
            return False
        self._emit(self._lines.add(piece))
        return True

    def _read_all(self) -> None:
        """What is in the pipe now. Not until its end: somebody we cannot end may hold it open."""
        limit = time.monotonic() + GIVE_UP_S
        while self._read_some() and time.monotonic() < limit:
            pass

    def _emit(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._out(line.decode("utf-8", errors="backslashreplace"))


def _ignore(_line: str) -> None:
    """Where output goes when nobody takes it any more."""


class Descendants:
    """A child of ours and everything that descends from it, also what has left its parents to live as a daemon."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._me = psutil.Process()
        # Our other children, if any, are none of our business.
        self._others = [child for child in self._me.children() if child.pid != leader]

    def members(self) -> list[int]:
        """Those that are there, dead but unreaped ones left out."""
        return [process.pid for process in self._all() if _status(process) not in ENDED]

    def signal(self, number: int, *, group_only: bool = False) -> None:
        """Send it to the leader's process group, and to all others unless `group_only`."""
        signal_session(self._leader, number)
        for pid in [] if group_only else self.members():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getpgid(pid) != self._leader:
                    os.kill(pid, number)

    def reap(self) -> None:
        """Collect orphans that have ended. The leader's exit code is left to who started it."""
        for process in self._all():
            if process.pid != self._leader and _status(process) == psutil.STATUS_ZOMBIE:
                with contextlib.suppress(ChildProcessError):  # whose parent is there, and is to collect it
                    os.waitpid(process.pid, os.WNOHANG)

    def _all(self) -> list[psutil.Process]:
        strangers = {each for other in self._others for each in (other, *_descendants(other))}
        return [process for process in _descendants(self._me) if process not in strangers]


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _status(process: psutil.Process) -> str:
    try:
        return process.status()
    except psutil.Error:
        return psutil.STATUS_DEAD


class _Signals:
    """SIGINT and SIGTERM taken note of, and SIGCHLD made to wake us, for as long as the block lasts."""

    def __init__(self) -> None:
        self.wakeup, self._write = os.pipe()
        for end in (self.wakeup, self._write):
            os.set_blocking(end, False)
        self._taken: list[int] = []
        self._old_wakeup = -1
        self._old: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> Self:
        self._old_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (*FORWARDED, signal.SIGCHLD):
            self._old[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self.wakeup)
        os.close(self._write)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if number in FORWARDED:
            self._taken.append(number)

    def taken(self) -> list[int]:
        """The signals since the last time, in their order."""
        taken, self._taken = self._taken, []
        return taken

    def drain(self) -> None:
        """Empty the pipe that wakes us."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wakeup, 4096):
                pass


class _Subreaper:
    """Makes orphaned descendants children of ours, so that we find them. Only on Linux; elsewhere the group must do."""

    def __init__(self) -> None:
        self._before = ctypes.c_int(0)

    def __enter__(self) -> Self:
        if sys.platform.startswith("linux"):
            libc = ctypes.CDLL(None)
            libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(self._before), 0, 0, 0)
            libc.prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        if sys.platform.startswith("linux"):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(self._before.value), 0, 0, 0)
