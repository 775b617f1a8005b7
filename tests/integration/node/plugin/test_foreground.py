from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.plugin.foreground import run_plugin
from kubelet_sim.node.plugin.isolation import isolated_command, supervised_command
from kubelet_sim.node.plugin.plugin_output import LONGEST_LINE
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[4]


def sh(script: str) -> list[str]:
    """The command line that runs a shell's script."""
    return ["sh", "-c", script]


def wait_until(holds: Callable[[], bool]) -> None:
    """Look until it holds; fail when that takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return False


def test_lines_and_exit_code() -> None:
    """Both streams arrive line by line in the order written, the last one without a line end too."""
    lines: list[str] = []
    code = run_plugin(sh("echo one; echo two >&2; printf 'crlf\\r\\n\\nlast'; exit 7"), out=lines.append)
    assert (code, lines) == (7, ["one", "two", "crlf", "", "last"])


def test_lines_arrive_while_it_runs() -> None:
    """A line is handed on when it is written, not when the plugin ends."""
    lines: list[str] = []

    def out(line: str) -> None:
        lines.append(line)
        if line.isdecimal():
            os.kill(int(line), signal.SIGKILL)

    assert run_plugin(sh("echo $$; exec sleep 60"), out=out) == 128 + signal.SIGKILL
    assert len(lines) == 1


def test_output_that_is_no_text_is_shown_as_escapes() -> None:
    """Bytes that are no text are shown as escapes; NUL and control characters are handed on for others to escape."""
    lines: list[str] = []
    run_plugin(sh(r"printf '\377\000\033[m\n'"), out=lines.append)
    assert lines == ["\\xff\x00\x1b[m"]


def test_a_line_without_end() -> None:
    """A line longer than the limit comes in pieces; nothing is lost."""
    lines: list[str] = []
    length = 3 * LONGEST_LINE + 17
    run_plugin([sys.executable, "-c", f"import sys; sys.stdout.write('x' * {length})"], out=lines.append)
    assert "".join(lines) == "x" * length
    assert max(map(len, lines)) == LONGEST_LINE


def test_closed_output_is_not_the_end() -> None:
    """A plugin that closes its output is waited for."""
    assert run_plugin(sh("exec >&- 2>&-; sleep 0.1; exit 5"), out=lambda _: None) == 5


def test_environment_and_working_directory(tmp_path: Path) -> None:
    """The plugin gets the environment and the working directory that were asked for, and no input."""
    lines: list[str] = []
    run_plugin(
        sh("echo $WORD; pwd; cat"), out=lines.append, env={"WORD": "w", "PATH": os.environ["PATH"]}, cwd=tmp_path
    )
    assert lines == ["w", str(tmp_path)]


def test_a_working_directory_that_is_missing(tmp_path: Path) -> None:
    """A working directory that cannot be entered is our caller's mistake."""
    with pytest.raises(UsageError, match="missing"):
        run_plugin(sh("true"), out=lambda _: None, cwd=tmp_path / "missing")


def test_a_command_that_is_missing() -> None:
    """A command that is not found gives one line and 127."""
    lines: list[str] = []
    assert run_plugin(["no-such-command-here"], out=lines.append) == 127
    assert lines == ["kubelet-sim: 'no-such-command-here': command not found"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    """SIGINT and SIGTERM of ours reach the plugin, which ends in its own way."""
    lines: list[str] = []

    def out(line: str) -> None:
        lines.append(line)
        if line == "ready":
            os.kill(os.getpid(), number)

    name = number.name.removeprefix("SIG")
    script = f"trap 'echo cleaned; exit 9' {name}; sleep 60 & echo ready; wait"
    assert run_plugin(sh(script), out=out) == 9
    assert lines == ["ready", "cleaned"]


def test_handlers_are_as_before() -> None:
    """Afterwards our own signal handling is what it was."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    run_plugin(sh("true"), out=lambda _: None)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)] == before


def test_a_plugin_that_will_not_stop_is_killed() -> None:
    """A plugin that ignores the signal is killed when its time is over."""

    def out(line: str) -> None:
        if line == "ready":
            os.kill(os.getpid(), signal.SIGTERM)

    script = "trap '' TERM INT; echo ready; while :; do sleep 1; done"
    assert run_plugin(sh(script), out=out, stop_s=0.2) == 128 + signal.SIGKILL


DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN) if {stubborn} else None
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
os.wait()
sys.exit(4)
"""


@pytest.mark.parametrize("stubborn", [False, True])
def test_nothing_is_left_behind(stubborn: bool) -> None:
    """A daemon that left the group and holds the output open neither survives nor keeps us waiting."""
    lines: list[str] = []
    code = run_plugin([sys.executable, "-c", DAEMON.format(stubborn=stubborn)], out=lines.append)
    if not lines:
        pytest.skip("the daemon was ended before it could tell its name")
    assert code == 4
    assert not Path(f"/proc/{lines[0]}").exists()


def test_children_in_the_group_are_ended() -> None:
    """A child that the plugin leaves running in its group is ended with it."""
    lines: list[str] = []
    assert run_plugin(sh("sleep 60 & echo $!"), out=lines.append) == 0
    assert not Path(f"/proc/{lines[0]}").exists()


def test_other_children_are_left_alone() -> None:
    """A child that we had before is none of its business."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        run_plugin(sh("true"), out=lambda _: None)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_consumer_that_fails() -> None:
    """If nobody can take the lines any more, the plugin is ended properly and the error goes on."""
    pids: list[int] = []

    def out(line: str) -> None:
        pids.append(int(line))
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run_plugin(sh("echo $$; while :; do echo 1; done"), out=out, stop_s=PATIENCE_S)
    assert not Path(f"/proc/{pids[0]}").exists()


RUNNER = """
import sys
from kubelet_sim.node.plugin.foreground import run_plugin
run_plugin(sys.argv[1:], out=lambda line: print(line, flush=True))
"""


def test_a_killed_runner_takes_the_plugin_along() -> None:
    """SIGKILL for the runner is the plugin's end, too."""
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, *sh("echo $$; exec sleep 60")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert runner.stdout is not None
    with contextlib.closing(runner.stdout):
        pid = int(runner.stdout.readline())
        runner.kill()
        runner.wait(PATIENCE_S)
        wait_until(lambda: not is_alive(pid))


def test_one_launcher_is_enough() -> None:
    """A command that is isolated already is not wrapped a second time."""
    isolated = isolated_command(Path("/tmp"), ["true"])
    supervised = supervised_command(isolated)
    assert supervised[: len(isolated) - 5] == isolated[: len(isolated) - 5]
    assert supervised.count("--") == 1
    assert supervised[-5:] == isolated[-5:]


def test_a_second_interrupt_kills_at_once() -> None:
    """The first one is told and passed on; a plugin that does not mind is not waited for."""
    told: list[str] = []

    def out(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    script = "trap 'echo again' INT; echo ready; while :; do sleep 0.01; done"
    began = time.monotonic()
    code = run_plugin(sh(script), out=out, interrupted=lambda: told.append("told"), stop_s=10 * PATIENCE_S)
    assert (code, told) == (128 + signal.SIGKILL, ["told"])
    assert time.monotonic() - began < PATIENCE_S
