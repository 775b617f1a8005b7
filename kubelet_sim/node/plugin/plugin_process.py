"""The plugin under test as a process of ours: started, asked to end, killed, listened to, and never left behind.

Its command line is made of `node.isolation`. What it says is kept with times, as raw text without colours: whoever shows it
escapes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil
from attrs import frozen

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.node.plugin.foreground import ENDED, LineSplitter
from kubelet_sim.node.plugin.isolation import isolated_in_root, supervised_command
from kubelet_sim.node.root_directory.layout import RootLayout

_MARK = "KUBELET_SIM_INSTANCE"
"""A variable in the plugin's environment: what has it belongs to the instance, even a daemon that left its parents."""
_KEPT_LINES = 5000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""Some loggers send them whoever reads, and words of one message are apart with them between."""
_PIECE = 64 * 1024
_AGAIN_S = 0.02
_GIVE_UP_S = 5.0
STOP_S = 5.0
"""How long a plugin may take after SIGTERM at the end of everything, when nobody measures it any more."""


@frozen
class Line:
    """One line of the plugin's output, without its end."""

    at_s: float
    """Monotonic."""
    text: str


@frozen
class Launch:
    """How the plugin is started."""

    command: tuple[str, ...]
    layout: RootLayout
    env: Mapping[str, str]
    cwd: Path | None
    is_isolated: bool

    @property
    def filled(self) -> list[str]:
        """The plugin's own command line, the placeholders replaced."""
        return [self.layout.fill_in(word) for word in self.command]

    @property
    def has_placeholder(self) -> bool:
        """Whether the plugin is told where the node is."""
        return any(self.layout.fill_in(text) != text for text in (*self.command, *self.env.values()))

    def environment(self, mark: str) -> dict[str, str]:
        """Ours, with what was given and the mark of the instance."""
        given = {name: self.layout.fill_in(value) for name, value in self.env.items()}
        return {**os.environ, **given, _MARK: mark}


class PluginProcess:
    """One instance of the plugin. It may be started again when it has ended; its output goes on then.

    Args:
        launch: how it is started.
        changed: called when it says something, and when it ends.
    """

    can_start = True

    def __init__(self, launch: Launch, changed: Callable[[], None] = lambda: None) -> None:
        self._launch = launch
        self._changed = changed
        self._mark = secrets.token_hex(8)
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._leaders: set[int] = set()
        self.lines: deque[Line] = deque(maxlen=_KEPT_LINES)
        """What it said, oldest first; stdout and stderr together."""
        self.started_at_s: float | None = None
        self.ended_at_s: float | None = None

    @property
    def is_isolated(self) -> bool:
        """Whether it sees the node where a real kubelet's directory is."""
        return self._launch.is_isolated

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and not self.has_ended else None

    @property
    def was_started(self) -> bool:
        """Whether it was ever started."""
        return self._process is not None

    @property
    def has_ended(self) -> bool:
        """Whether it was started and is gone."""
        return self._process is not None and self._process.returncode is not None

    @property
    def exit_code(self) -> int | None:
        """What it ended with, -N for signal N; `None` while it runs."""
        return None if self._process is None else self._process.returncode

    def output(self, since_s: float = 0.0) -> str:
        """What it said from that moment on, line by line."""
        return "\n".join(line.text for line in self.lines if line.at_s >= since_s)

    async def start(self) -> None:
        """Start it, in a session of its own; it is killed by the kernel should this process die.

        Call it in a thread that lives as long as the plugin. Raises `UsageError` for a working directory that there is
        not, and `TransportError` if no process can be made; a command that is not there ends with 127 and says so.
        """
        if self._process is not None and not self.has_ended:
            raise UsageError("the plugin runs already")
        launch = self._launch
        command = launch.filled
        if launch.is_isolated:
            command = isolated_in_root(launch.layout.path, command)
        try:
            process = await asyncio.create_subprocess_exec(
                *supervised_command(command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                env=launch.environment(self._mark),
                cwd=launch.cwd,
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise UsageError(f"cannot start a plugin in {str(launch.cwd)!r}: {error.strerror}") from error
        except OSError as error:
            raise TransportError(f"cannot start the plugin: {error.strerror}") from error
        self._process, self.started_at_s, self.ended_at_s = process, time.monotonic(), None
        self._leaders.add(process.pid)
        self._reader = asyncio.get_running_loop().create_task(self._read(process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for
        splitter, ended = LineSplitter(), asyncio.ensure_future(process.wait())
        ended.add_done_callback(self._note_end)
        while piece := await process.stdout.read(_PIECE):
            self._take(splitter.add(piece))
        self._take(splitter.rest())
        await ended

    def _note_end(self, _: object) -> None:
        self.ended_at_s = time.monotonic()
        self._changed()

    def _take(self, lines: Sequence[bytes]) -> None:
        now_s = time.monotonic()
        texts = (line.decode("utf-8", errors="backslashreplace") for line in lines)
        self.lines.extend(Line(now_s, _COLOURS.sub("", text)) for text in texts)
        if lines:
            self._changed()

    async def ended(self, within_s: float) -> bool:
        """Whether it is gone within so many seconds; its last words are in `lines` then, as far as they came."""
        process, reader = self._process, self._reader
        if process is None or reader is None:
            return True
        try:
            async with asyncio.timeout(within_s):
                # `wait` would also wait for the pipe, which a child that lives on may hold open.
                while process.returncode is None:  # noqa: ASYNC110
                    await asyncio.sleep(_AGAIN_S)
        except TimeoutError:
            return False
        # A child that lives on may hold the pipe open.
        await asyncio.wait({reader}, timeout=0.2)
        return True

    def signal(self, number: int) -> None:
        """Send it to the plugin's process group; nothing if it is gone."""
        if (pid := self.pid) is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, number)

    def stop(self) -> None:
        """SIGTERM, as a container runtime sends it; see `ended`."""
        self.signal(signal.SIGTERM)

    async def kill(self) -> None:
        """SIGKILL to it and to whatever it has started; returns when all of it is gone."""
        deadline = time.monotonic() + _GIVE_UP_S
        while (alive := self.family()) and time.monotonic() < deadline:
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(_AGAIN_S)
        await self.ended(_GIVE_UP_S)
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def close(self, grace_s: float = STOP_S) -> None:
        """The end: asked first, then killed, with everything that it has started. May be repeated."""
        if self._process is not None:
            self.stop()
            await self.ended(grace_s)
            await self.kill()

    def family(self) -> list[int]:
        """The processes of this instance that run: of its session, or with its mark."""
        if not self._leaders:
            return []
        return [pid for pid in psutil.pids() if self._is_ours(pid)]

    def _is_ours(self, pid: int) -> bool:
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            if process.status() in ENDED:
                return False
            return os.getsid(pid) in self._leaders or process.environ().get(_MARK) == self._mark
        return False
