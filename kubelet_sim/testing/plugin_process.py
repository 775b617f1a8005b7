"""A plugin's command beside a node, for tests without an event loop: started, asked to end, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.foreign import ending, gist
from kubelet_sim.node.plugin.isolation import isolated_command, namespaces_available, supervised_command
from kubelet_sim.node.waited_for import Gone

STOP_S = 10.0
NO_COMMAND = (126, 127)
"""What a command ends with that cannot be run, or that there is not."""


class SyncPluginProcess:
    """One run of a plugin's command. Its output is kept; what it starts ends with it.

    `{dir}` in the command and in the environment is the device-plugin directory, `{socket}` the kubelet's socket in it. A
    command without either finds the directory where it expects it, at `/var/lib/kubelet`, in a mount namespace of its own.

    Args:
        directory: the device-plugin directory.
        command: its words.
        env: added to ours.
        cwd: where it is started; here if none is given.
        isolated: whether it gets the namespace; `None`: if it has no placeholder.

    Raises:
        UsageError: it cannot be started.
        TransportError: there can be no namespace.
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
        def filled(text: str) -> str:
            return text.replace("{dir}", str(directory)).replace("{socket}", str(directory / "kubelet.sock"))

        given = dict(env or {})
        words, variables = [filled(each) for each in command], {name: filled(each) for name, each in given.items()}
        if isolated is None:
            isolated = (words, variables) == (list(command), given)
        if isolated:
            if why := namespaces_available():
                raise TransportError(f"the plugin cannot be kept away from /var/lib/kubelet: {why}; or give it {{dir}}")
            words = isolated_command(directory, words)
        self.command = tuple(command)
        """As given."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        try:
            self._process = subprocess.Popen(  # noqa: S603 - that is what we are for
                supervised_command(words),
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            self._said.close()
            raise UsageError(f"cannot start the plugin in {str(cwd or Path.cwd())!r}: {error.strerror}") from error

    @property
    def pid(self) -> int:
        """Its process id."""
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
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def stop(self, timeout_s: float = STOP_S) -> int:
        """Ask it to end, as a container runtime does; the exit code. Raises `TimeoutError`."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def kill(self) -> None:
        """End it and what it has started, at once."""
        self.signal(signal.SIGKILL)
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
