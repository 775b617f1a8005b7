"""`scenario check`, `scenario show`, `scenario record`, and the stand-in plugin, as a user has them."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import PROGRAM, data, ks, node, ok, pod, started, stop, until

DEV = "example.com/dev"
OK = {"code": "OK", "message": ""}


def story(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A story with a plugin `p` of two devices."""
    script = {"resource": DEV, "socket": "p.sock", "devices": [{"id": "a"}, {"id": "b"}]}
    return {"name": name, "plugins": {"p": script}, "steps": list(steps), **more}


GOOD = story("good", {"do": "register", "plugin": "p", "expect": OK})
WRONG = story("wrong", {"do": "register", "plugin": "p"}, {"do": "in-use", "expect": {DEV: 1}})
MEANWHILE = story("meanwhile", {"do": "in-use", "expect": {}})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where stories may lie."""
    return tmp_path / "stories.json"


def test_stories_are_checked(file: Path) -> None:
    """A line for each, the wrong step with both answers and the journal, and the count last; exit code 1."""
    file.write_text(json.dumps([GOOD, WRONG, MEANWHILE]), encoding="utf-8")
    done = ks("scenario", "check", file, "-j", "2")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert [lines[0], lines[1], *lines[-2:]] == [
        "passed  good",
        "FAILED  wrong",
        "passed  meanwhile",
        "2 passed, 1 failed",
    ]
    assert lines[2] == f"  {file}:1: wrong, step 2: in-use"
    assert 'expected: {"example.com/dev": 1}' in lines[3]
    assert "came:     {}" in lines[4]


def test_right_stories_are_clean(file: Path) -> None:
    """Of several files; quiet says the count alone."""
    file.write_text(json.dumps(GOOD), encoding="utf-8")
    assert ok("scenario", "check", "-q", file, file, root=Path("/")) == "2 passed, 0 failed\n"


@pytest.mark.parametrize("text", ["", "[]", "a: [", '{"name": "s", "steps": [{"do": "dance"}]}', None])
def test_what_is_no_story_is_misuse(file: Path, text: str | None) -> None:
    """Nothing is played; one line says where."""
    if text is not None:
        file.write_text(text, encoding="utf-8")
    for command in ("check", "show"):
        done = ks("scenario", command, file)
        assert (done.returncode, done.stdout) == (2, "")
        assert str(file) in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_misuse(file: Path) -> None:
    """One line, before anything is played."""
    file.write_text(json.dumps(GOOD), encoding="utf-8")
    done = ks("scenario", "check", file, "--transcript", file / "below")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: cannot write to {file / 'below'}: Not a directory\n"


def test_stories_are_told(file: Path) -> None:
    """In words."""
    file.write_text(json.dumps(WRONG), encoding="utf-8")
    text = ok("scenario", "show", file, root=Path("/"))
    assert text.splitlines()[-1] == '    2. Number of devices in use: expected {"example.com/dev": 1}'


def test_stories_are_recorded(file: Path) -> None:
    """In place, to another file, or to standard output; what was recorded passes."""
    file.write_text(json.dumps([GOOD, WRONG], indent=2), encoding="utf-8")
    other = file.with_name("other.json")
    assert ok("scenario", "record", file, "--output", other, root=Path("/")).endswith(
        "recorded, stories: 2, steps: 3\n"
    )
    assert json.loads(file.read_text(encoding="utf-8")) == [GOOD, WRONG]
    written = other.read_text(encoding="utf-8")
    assert ok("scenario", "record", file, "--output", "-", root=Path("/")) == written
    ok("scenario", "record", file, root=Path("/"))
    assert file.read_text(encoding="utf-8") == written
    assert ok("scenario", "check", "-q", file, root=Path("/")) == "2 passed, 0 failed\n"


def test_nothing_is_recorded_of_what_cannot_be_played(file: Path) -> None:
    """The file stays as it was."""
    text = json.dumps(story("s", {"do": "unlink", "name": "nothing"}))
    file.write_text(text, encoding="utf-8")
    done = ks("scenario", "record", file)
    assert done.returncode == 3
    assert "step 1 (unlink) could not be played" in done.stderr
    assert file.read_text(encoding="utf-8") == text
    assert list(file.parent.iterdir()) == [file]


def test_where_nothing_can_be_written_nothing_is_played(file: Path) -> None:
    """The story would go wrong if it were."""
    file.write_text(json.dumps(story("s", {"do": "unlink", "name": "nothing"})), encoding="utf-8")
    target = file.parent / "none" / "other.json"
    for words in (("record", file, "--output", target), ("check", file, "--junit", target)):
        done = ks("scenario", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: cannot write {target}: {target.parent} is no directory that you may write to\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_check_can_be_interrupted(file: Path, number: signal.Signals) -> None:
    """Exit code 130; the folders of its nodes are gone."""
    during = {"options_during": {"sleep": 60}}
    slow = story("slow", {"do": "set", "plugin": "p", "spec": during}, {"do": "register", "plugin": "p"})
    file.write_text(json.dumps([MEANWHILE, slow]), encoding="utf-8")
    with started(*PROGRAM, "scenario", "check", str(file)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "passed  meanwhile\n"
        until(lambda: bool(folders_of(process)))
        folders = folders_of(process)
        assert stop(process, number) == 130
        assert "Traceback" not in process.stdout.read()
    assert not any(folder.exists() for folder in folders)


def folders_of(process: subprocess.Popen[str]) -> set[Path]:
    """The folders of nodes in which a process has something open."""
    found = set()
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = descriptor.readlink()
            if str(target).startswith("/tmp/ks-"):
                found.add(Path(*target.parts[:3]))
    return found


def test_a_plugin_that_is_not_there(running_root: Path, tmp_path: Path) -> None:
    """Devices on two NUMA nodes, a variable with the ids; what it is asked is told; it ends cleanly and comes back."""
    script = tmp_path / "script.yaml"
    script.write_text("allocate: {envs: {A: '1'}}\noptions: {}\n", encoding="utf-8")
    ill = tmp_path / "ill"
    options = ["--numa", "0:1,1:2", "--env", "IDS={ids}", "--script", str(script), "--unhealthy-file", str(ill)]
    command = (*PROGRAM, "plugin", "--resource", DEV, *options, "--root", str(running_root))
    with started(*command) as process:
        ok("wait", "--for", f"resource/{DEV}=3", root=running_root)
        ok("apply", "-f", "-", root=running_root, text=pod("p", 3).replace("example.com/gpu", DEV))
        ok("wait", "--for", "pod/p=Running", root=running_root)
        envs = data("container-spec", "p", root=running_root)["envs"]
        assert envs == {"A": "1", "IDS": "dev-0,dev-1,dev-2"}
        assert [each["numa_nodes"] for each in data("get", "devices", root=running_root)] == [[0], [1], [1]]
        ill.write_text("dev-1\n", encoding="utf-8")
        ok("wait", "--for", f"resource/{DEV}=2", root=running_root)
        ok("restart", root=running_root)
        ok("wait", "--for", f"resource/{DEV}=2", root=running_root)
        assert stop(process, signal.SIGTERM) == 0
        assert process.stdout is not None
        said = process.stdout.read()
    assert "Allocate: dev-0, dev-1, dev-2\n" in said
    assert said.count(f"registered {DEV}\n") == 2
    assert [path.name for path in (running_root / "device-plugins").iterdir() if path.is_socket()] == ["kubelet.sock"]


def test_a_plugin_waits_for_its_kubelet(root: Path) -> None:
    """It may be started first, and with the directory of any kubelet."""
    sockets = str(root / "device-plugins")
    with started(*PROGRAM, "plugin", "--resource", DEV, "--socket-dir", sockets) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"waiting for {sockets} to appear, and a kubelet in it\n"
        with node(root):
            ok("wait", "--for", f"resource/{DEV}=4", root=root)
        until(lambda: not (root / "device-plugins" / "kubelet.sock").exists())
        assert stop(process, signal.SIGINT) == 0


@pytest.mark.parametrize("options", [[], ["--resource", DEV, "--numa", "x"], ["--script", "/nowhere"]])
def test_a_plugin_that_cannot_be(root: Path, options: list[str]) -> None:
    """Misuse, in one line."""
    done = ks("plugin", *options, root=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [["--resource", "cpu"], ["--resource", DEV, "--socket", "kubelet.sock"], ["--resource", DEV, "--socket", ""]],
)
def test_a_plugin_with_a_wrong_name_is_refused(root: Path, options: list[str]) -> None:
    """Misuse, before anything is served."""
    done = ks("plugin", *options, root=root)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
