"""`describe`, `get events`, Pods and the Node as kubectl shows them, static pods, completion, the live view."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from attrs import define

from tests.cli.running import PROGRAM, RESOURCE, data, environment, ks, node, ok, plugin, pod, until
from tests.patience import PATIENCE_S


def test_why_a_pod_is_as_it_is(running_root: Path) -> None:
    """Described for eyes and for programs; its events; and as kubectl would show it."""
    with plugin(running_root):
        ok("apply", "-f", "-", root=running_root, text=pod("p", 2) + pod("big", 9))
        ok("wait", "--for", "pod/p=Running", root=running_root)
        ok("wait", "--for", "pod/big=Failed", root=running_root)
        text = ok("describe", "pod", "p", root=running_root)
        for expected in ("Phase:         Running", "env NVIDIA_VISIBLE_DEVICES=", "Container started", "[DM-98]"):
            assert expected in text
        described = data("describe", "pod", "big", root=running_root)
        assert "DM-77" in described["why"][-1]["rules"]
        (event,) = data("get", "events", "big", root=running_root)
        assert (event["type"], event["reason"]) == ("Warning", "UnexpectedAdmissionError")
        assert event["involvedObject"]["uid"] == data("get", "pods", "big", root=running_root)["metadata"]["uid"]
        assert f"Pod was rejected: {event['message']}" == described["message"]
        shown = yaml.safe_load(ok("get", "pods", "p", "-o", "yaml", root=running_root))
        (status,) = shown["status"]["containerStatuses"][0]["allocatedResourcesStatus"]
        assert (status["name"], [each["health"] for each in status["resources"]]) == (RESOURCE, ["Healthy"] * 2)
        assert "Allocate(" in ok("describe", "plugin", RESOURCE, root=running_root)
        assert "default/p/main" in ok("describe", "resource", RESOURCE, root=running_root)
        assert "SUBOBJECT" in ok("get", "events", "-o", "wide", root=running_root)
    ok("advance", "1m", root=running_root)
    ok("wait", "--for", f"resource/{RESOURCE}=0", root=running_root)
    assert "left, then a node status forgets the resource" in ok("describe", "resource", RESOURCE, root=running_root)


@pytest.mark.parametrize("kind", ["pod", "plugin", "resource"])
def test_describing_what_there_is_not_is_told_in_one_line(shared_root: Path, kind: str) -> None:
    """One line, exit code 2."""
    done = ks("describe", kind, "nothing", root=shared_root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_static_pods(root: Path) -> None:
    """Those of a directory are there when the node is ready, and follow their files on its clock."""
    pods = root.parent / "pods"
    pods.mkdir()
    (pods / "a.json").write_text(pod("a", 0), encoding="utf-8")
    with node(root, "--clock", "manual", "--pods", str(pods), "--node-name", "n1.test"):
        assert [each["name"] for each in data("get", "pods", root=root)] == ["a-n1.test"]
        assert data("get", "pods", "a-n1.test", root=root)["spec"]["nodeName"] == "n1.test"
        shown = data("get", "node", root=root)
        assert (shown["metadata"]["name"], shown["status"]["conditions"][-1]["type"]) == ("n1.test", "Ready")
        assert "Name:            n1.test" in ok("describe", "node", root=root)
        (pods / "a.json").write_text("nonsense", encoding="utf-8")
        ok("advance", "20s", root=root)
        assert data("get", "pods", root=root) == []
    assert (root.parent / "log").read_text(encoding="utf-8").count("no static pod: a.json") == 1


def test_a_node_name_that_no_node_can_have(root: Path) -> None:
    """Misuse, in one line, before anything is started."""
    done = ks("run", "--root", root, "--node-name", "My_Node")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'My_Node' is no node name: expected lower-case letters")
    assert not root.exists()


def test_a_directory_of_static_pods_has_to_be_there(root: Path) -> None:
    """Misuse, before anything is started."""
    done = ks("run", "--root", root, "--pods", root / "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr


def completions(root: Path, line: str) -> list[str]:
    """What bash is offered for the last word of a command line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_KUBELET_SIM_COMPLETE": "bash_complete"}
    done = ks(root=root, env=words)
    assert (done.returncode, done.stderr) == (0, "")
    return [found.partition(",")[2] for found in done.stdout.splitlines() if found]


def test_a_shell_completes_names_of_the_node(running_root: Path) -> None:
    """Commands, kinds of output, and pods as they are at the moment."""
    ok("apply", "-f", "-", root=running_root, text=pod("first", 0) + pod("second", 0, "other"))
    assert completions(running_root, "kubelet-sim desc") == ["describe"]
    assert completions(running_root, "kubelet-sim describe pod ") == ["first", "other/second"]
    assert completions(running_root, "kubelet-sim container-spec first ") == ["main"]
    assert completions(running_root, "kubelet-sim wait --for pod/f") == ["pod/first="]


def test_a_shell_gets_no_names_without_a_node(root: Path) -> None:
    """And no error."""
    assert completions(root, "kubelet-sim describe pod ") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    """They ask our program under the name that it has."""
    assert f"_KUBELET_SIM_COMPLETE={shell}_complete" in ok("completion", shell, root=Path("/"))


@define
class Terminal:
    """A process on a terminal of its own."""

    process: subprocess.Popen[bytes]
    descriptor: int
    data: bytes = b""

    def resize(self, lines: int, columns: int) -> None:
        """As a window manager does."""
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, timeout_s: float = 0.2) -> bool:
        """Take what was written; whether there may be more."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                piece = os.read(self.descriptor, 65536)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            except OSError:  # the other end is closed
                return False
            self.data += piece
            return True
        return True

    def shows(self, text: bytes) -> None:
        """Wait until it was written."""

        def holds() -> bool:
            self.read()
            return text in self.data

        until(holds)

    def end(self, number: signal.Signals) -> int:
        """Send the signal, read on until the end; the exit code."""
        self.process.send_signal(number)
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        while self.read() and time.monotonic() < deadline:
            pass
        return self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def on_terminal(root: Path, *options: str, term: str = "xterm-256color") -> Iterator[Terminal]:
    """A node whose user sits at a terminal."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    with subprocess.Popen(
        [*PROGRAM, "run", "--root", str(root), "--clock", "manual", *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM=term),
        start_new_session=True,
    ) as process:
        os.close(theirs)
        terminal = Terminal(process, ours)
        terminal.resize(30, 100)
        try:
            yield terminal
        finally:
            process.kill()
            process.wait()
            os.close(ours)


ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_live_view_on_a_terminal(root: Path, number: signal.Signals) -> None:
    """It shows pods as they come, survives another size of the window, and gives the terminal back at the end."""
    with on_terminal(root) as terminal:
        terminal.shows(b"What happens")
        terminal.resize(20, 80)
        ok("apply", "-f", "-", root=root, text=pod("seen-there", 0))
        terminal.shows(b"seen-there")
        assert terminal.end(number) == 0
    assert terminal.data.count(ENTER) == terminal.data.count(LEAVE) == 1
    assert terminal.data.rindex(b"\x1b[?25h") > terminal.data.rindex(b"\x1b[?25l")
    assert b"has stopped" in terminal.data.partition(LEAVE)[2]
    assert b"Traceback" not in terminal.data


@pytest.mark.parametrize("options, term", [(["--plain"], "xterm-256color"), ([], "dumb")])
def test_lines_on_a_terminal(root: Path, options: list[str], term: str) -> None:
    """If they are wanted, or if the terminal can do nothing else."""
    with on_terminal(root, *options, term=term) as terminal:
        terminal.shows(b"listening on")
        assert terminal.end(signal.SIGTERM) == 0
    assert b"\x1b" not in terminal.data


def test_an_error_stays_on_the_screen(root: Path) -> None:
    """A node that cannot start leaves the terminal as it is."""
    with node(root), on_terminal(root) as terminal:
        terminal.shows(b"error: ")
        assert terminal.process.wait(PATIENCE_S) == 2
    assert ENTER not in terminal.data


def test_a_terminal_that_goes_away_ends_the_node(root: Path) -> None:
    """As a closed window does: nothing is left."""
    with on_terminal(root) as terminal:
        terminal.shows(b"What happens")
        assert terminal.end(signal.SIGHUP) == 0
    assert [path for path in root.rglob("*") if path.is_socket()] == []
