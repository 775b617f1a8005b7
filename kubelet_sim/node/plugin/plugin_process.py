"""The plugin under test as a process of ours: started, asked to end, killed, listened to, and never left behind.

How it begins is told by `launch`. What it says is kept with times, as raw text without colours: whoever shows it
escapes it.
"""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence

from kubelet_sim.errors import UsageError
from kubelet_sim.node.plugin.launch import (
    AGAIN_S,
    GIVE_UP_S,
    STOP_S,
    Instance,
    Launch,
    signal_session,
    start_beside,
)
from kubelet_sim.node.plugin.plugin_output import LineSplitter, OutputLine

_KEPT_LINES = 5000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""Some loggers send them whoever reads, and words of one message are apart with them between."""
_PIECE = 64 * 1024


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
        self._instance = Instance()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self.lines: deque[OutputLine] = deque(maxlen=_KEPT_LINES)
        """What it said, oldest first; stdout and stderr together."""
        self.started_at_s: float | None = None
        self.ended_at_s: float | None = None

    @property
    def is_isolated(self) -> bool:
        """Whether it sees the node where a real kubelet's directory is."""
        return self._launch.is_isolated

    @property
    def pid(self) -> int | None:
        """The id of the process that was started, while it runs."""
        return self._process.pid if self._process is not None and not self.has_ended else None

    @property
    def was_started(self) -> bool:
        """Whether the plugin's process was ever started."""
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
        process = await start_beside(launch.words, launch.environment(self._instance.mark), launch.cwd)
        self._process, self.started_at_s, self.ended_at_s = process, time.monotonic(), None
        self._instance.begun(process.pid)
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
        self.lines.extend(OutputLine(now_s, _COLOURS.sub("", text)) for text in texts)
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
                    await asyncio.sleep(AGAIN_S)
        except TimeoutError:
            return False
        # A child that lives on may hold the pipe open.
        await asyncio.wait({reader}, timeout=0.2)
        return True

    def signal(self, number: int) -> None:
        """Send it to the plugin's process group; nothing if it is gone."""
        if (pid := self.pid) is not None:
            signal_session(pid, number)

    def stop(self) -> None:
        """SIGTERM, as a container runtime sends it; see `ended`."""
        self.signal(signal.SIGTERM)

    async def kill(self) -> None:
        """SIGKILL to it and to whatever it has started; returns when all of it is gone."""
        for _ in self._instance.killed():
            await asyncio.sleep(AGAIN_S)
        await self.ended(GIVE_UP_S)
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
        return self._instance.processes()
