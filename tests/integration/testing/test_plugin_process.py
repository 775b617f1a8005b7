"""A plugin's command beside a test: what it is told, and that nothing of it is left."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.testing.plugin_process import SyncPluginProcess
from tests.patience import PATIENCE_S


def _said(process: SyncPluginProcess) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while not (said := process.output()).endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.01)
    return said


def test_every_placeholder_is_filled_in(tmp_path: Path) -> None:
    """In the command and in what is added to the environment: the directory, and the sockets of the node."""
    directory = tmp_path / "device-plugins"
    process = SyncPluginProcess(directory, ("sh", "-c", "echo {dir} {socket} $API"), env={"API": "{pod-resources}"})
    assert process.wait() == 0
    assert process.output() == f"{directory} {directory}/kubelet.sock {tmp_path}/pod-resources/kubelet.sock\n"
    process.close()


def test_a_daemon_of_the_plugin_ends_with_it(tmp_path: Path) -> None:
    """A process that has left the session of its plugin is found by its environment."""
    script = "setsid sleep 600 & echo $! {dir}; exec sleep 600"
    process = SyncPluginProcess(tmp_path / "device-plugins", ("sh", "-c", script))
    daemon = int(_said(process).split()[0])
    assert psutil.pid_exists(daemon)
    process.close()
    assert not psutil.pid_exists(daemon) or psutil.Process(daemon).status() == psutil.STATUS_ZOMBIE
    assert process.exit_code == -15


def test_a_working_directory_that_there_is_not(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(UsageError, match=r"^cannot start a plugin in '.*/none': No such file or directory$"):
        SyncPluginProcess(tmp_path / "device-plugins", ("true", "{dir}"), cwd=tmp_path / "none")
