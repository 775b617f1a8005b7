"""A plugin's command beside a node, for tests without an event loop: started, asked to end, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve

from kubelet_sim.errors import TransportError
from kubelet_sim.foreign import ending, gist
from kubelet_sim.node.plugin.isolation import namespaces_available
from kubelet_sim.node.plugin.launch import AGAIN_S, Instance, Launch, signal_session, start
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.waited_for import Gone

STOP_S = 10.0
NO_COMMAND = (126, 127)
"""What a command ends with that cannot be run, or that there is not."""


class SyncPluginProcess:
    """One run of a plugin's command. Its output is kept; what it starts ends with it.

    `{dir}` in the command and in the environment is the device-plugin directory, `{socket}` the kubelet's socket in it,
    `{pod-resources}` the socket of the pod resources API. A command without any finds the directory where it expects it, at `/var/lib/kubelet`, in a mount namespace of its own.

    Args:
        directory: the device-plugin directory.
        command: its words.
        env: added to ours.
        cwd: where it is started; here if none is given.
        isolated: whether it gets the namespace; `None`: if it has no placeholder.

    Raises:
        UsageError: its working directory cannot be entered.
        TransportError: there can be no namespace, or no process.
    """

    def __init__(
        self,
        directory: Path,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        isolated: bool | None = None,
    ) -> None:
        launch = Launch(tuple(command), RootLayout(directory.parent), dict(env or {}), Path(cwd) if cwd else None)
        launch = launch.isolated_unless_told() if isolated is None else evolve(launch, is_isolated=isolated)
        if launch.is_isolated and (why := namespaces_available()):
            raise TransportError(f"the plugin cannot be kept away from /var/lib/kubelet: {why}; or give it {{dir}}")
        self.command = launch.command
        """As given."""
        self._instance = Instance()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        try:
            self._process = start(launch.words, self._said, launch.environment(self._instance.mark), launch.cwd)
        except BaseException:
            self._said.close()
            raise
        self._instance.begun(self._process.pid)

    @property
    def pid(self) -> int:
        """The id of the plugin's process."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with, -N for signal N; `None` while it runs."""
        return self._process.poll()

    def output(self) -> str:
        """What it has said so far, stdout and stderr together; not escaped."""
        if self._said.closed:
            return self._kept
        size = os.fstat(self._said.fileno()).st_size
        return os.pread(self._said.fileno(), size, 0).decode("utf-8", errors="backslashreplace")

    def gone(self) -> Gone | None:
        """How it ended, with its name and the gist of its output; `None` while it runs."""
        if (code := self.exit_code) is None:
            return None
        said = gist(self.output().splitlines())
        return Gone(
            f"the process {self.command[0]} {ending(code)}, and said {said or 'nothing'}", never_ran=code in NO_COMMAND
        )

    def wait(self, timeout_s: float = STOP_S) -> int:
        """Wait for its end; the exit code. Raises `TimeoutError`."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError(f"the plugin did not end within {timeout_s:g} s") from late

    def signal(self, number: int) -> None:
        """Send it a signal, and to what it has started; nothing if all of that is gone."""
        signal_session(self._process.pid, number)

    def stop(self, timeout_s: float = STOP_S) -> int:
        """Ask it to end, as a container runtime does; the exit code. Raises `TimeoutError`."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def kill(self) -> None:
        """End it and what it has started, at once."""
        self.signal(signal.SIGKILL)
        for _ in self._instance.killed():
            time.sleep(AGAIN_S)
        self._process.wait(STOP_S)

    def close(self) -> None:
        """Ask it to end, then make it end, with whatever it has started. May be repeated."""
        if self._said.closed:
            return
        with contextlib.suppress(TimeoutError):
            self.stop()
        self.kill()
        self._kept = self.output()
        self._said.close()
