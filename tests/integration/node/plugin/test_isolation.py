from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kubelet_sim.node.plugin import isolation
from kubelet_sim.node.plugin.isolation import DEVICE_PLUGIN_DIR, LAUNCHER, isolated_command, namespaces_available
from tests.patience import PATIENCE_S

NOBODY = 65534

reason = namespaces_available()
needs_namespaces = pytest.mark.skipif(reason is not None, reason=f"no namespaces: {reason}")


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short directory that others may enter."""
    path = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def run(command: Sequence[str], *, nobody: bool = False) -> subprocess.CompletedProcess[str]:
    """The ended process, run as ourselves or as nobody."""
    user: dict[str, object] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if nobody else {}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd="/", **user
    )


@pytest.fixture
def unprivileged(directory: Path) -> Callable[[Sequence[str]], subprocess.CompletedProcess[str]]:
    """Runs a launcher's command line as a user without privileges; skips where such a user may not have namespaces."""
    # Our own file and our own Python may lie where that user cannot look.
    file = str(shutil.copy(isolation.__file__, directory / "launch.py"))
    is_root = os.geteuid() == 0
    failures = []
    for python in (sys.executable, "/usr/bin/python3"):
        launcher = [python, "-I", "-S", file]
        try:
            probe = run([*launcher, "--probe"], nobody=is_root)
        except OSError as error:
            failures.append(str(error))
            continue
        if probe.returncode == 0:
            return lambda command: run([*launcher, *command[len(LAUNCHER) :]], nobody=is_root)
        failures.append(f"{python}: {probe.stderr.strip()}")
    pytest.skip(f"no unprivileged namespaces: {'; '.join(failures)}")


@needs_namespaces
def test_shows_the_directory_at_the_kubelets_path(directory: Path) -> None:
    """What the command writes at the kubelet's path lies in the node's directory, and the host has no such path after."""
    before = Path(DEVICE_PLUGIN_DIR).exists()
    done = run(isolated_command(directory, ["sh", "-c", f"echo made > {DEVICE_PLUGIN_DIR}/by-plugin"]))
    assert (done.returncode, done.stderr) == (0, "")
    assert (directory / "by-plugin").read_text() == "made\n"
    assert Path(DEVICE_PLUGIN_DIR).exists() == before


def test_what_lies_beside_the_directory_is_shown_too(
    directory: Path, unprivileged: Callable[[Sequence[str]], subprocess.CompletedProcess[str]]
) -> None:
    """`plugins_registry` and the like, where they are, at the paths of a kubelet; what is not there is not made."""
    for name in ("device-plugins", "plugins_registry"):
        (directory / name).mkdir()
        (directory / name / f"of-{name}").touch()
    parent = Path(DEVICE_PLUGIN_DIR).parent
    script = f"cd {parent}; ls device-plugins plugins_registry; test -e pod-resources || echo none"
    done = unprivileged(isolated_command(directory / "device-plugins", ["sh", "-c", script]))
    assert done.stderr == ""
    assert [word for word in done.stdout.split() if not word.endswith(":")] == [
        "of-device-plugins",
        "of-plugins_registry",
        "none",
    ]


def test_works_without_privileges(
    directory: Path, unprivileged: Callable[[Sequence[str]], subprocess.CompletedProcess[str]]
) -> None:
    """A plain user gets the same, and is root inside, as plugins expect."""
    (directory / "kubelet.sock").touch()
    done = unprivileged(isolated_command(directory, ["sh", "-c", f"ls {DEVICE_PLUGIN_DIR}; id -u"]))
    assert done.stderr == ""
    assert done.stdout.split() == ["kubelet.sock", "launch.py", "0"]


def bind_command(source: Path, target: Path, script: str) -> list[str]:
    """A launcher's command line with any target."""
    return [*LAUNCHER, "--bind", str(source), str(target), "--", "sh", "-c", script]


@needs_namespaces
def test_a_missing_path_is_made_inside_only(directory: Path) -> None:
    """Directories that are missing appear inside, beside everything that was there; outside nothing is new."""
    source = directory / "source"
    host = directory / "host"
    (source / "sub").mkdir(parents=True)
    (host / "full").mkdir(parents=True)
    (host / "full" / "file").write_text("content")
    (host / "plain").write_text("text")
    (host / "link").symlink_to("full/file")
    (host / "dangling").symlink_to("nowhere")
    script = (
        f"cd {host}; cat full/file link plain; ls -d a/b/sub dangling; readlink dangling; "
        "stat -c %a a a/b; echo more >> plain"
    )
    done = run(["sh", "-c", 'umask 077; exec "$@"', "sh", *bind_command(source, host / "a" / "b", script)])
    source_mode = f"{source.stat().st_mode & 0o777:o}"
    assert done.stderr == ""
    # The link's content follows the file's without a line end.
    expected = ["contentcontenttexta/b/sub", "dangling", "nowhere", "755", source_mode]
    assert done.stdout.split() == expected
    assert sorted(path.name for path in host.iterdir()) == ["dangling", "full", "link", "plain"]
    assert (host / "plain").read_text() == "textmore\n"


@needs_namespaces
def test_an_existing_path_is_covered(directory: Path) -> None:
    """A path that exists on the host is covered inside; its own content stays."""
    source, target = directory / "source", directory / "target"
    source.mkdir()
    target.mkdir()
    (target / "real").touch()
    done = run(bind_command(source, target, f"ls {target}; touch {target}/new"))
    assert (done.returncode, done.stdout) == (0, "")
    assert [path.name for path in target.iterdir()] == ["real"]
    assert [path.name for path in source.iterdir()] == ["new"]


@needs_namespaces
def test_the_source_may_lie_in_what_is_covered(directory: Path) -> None:
    """A node's directory below the ancestor that is rebuilt is found all the same, by both of its names."""
    source = directory / "source"
    source.mkdir()
    (source / "marker").touch()
    done = run(bind_command(source, directory / "a" / "b", f"ls {directory}/a/b {source}"))
    assert done.stdout.count("marker") == 2


@needs_namespaces
def test_links_on_the_way_are_followed(directory: Path) -> None:
    """A link in the target's path, to a place that exists or not, leads where it leads outside."""
    source = directory / "source"
    source.mkdir()
    (source / "marker").touch()
    (directory / "link").symlink_to(directory / "elsewhere")
    done = run(bind_command(source, directory / "link" / "b", f"ls {directory}/link/b {directory}/elsewhere/b"))
    assert done.stdout.count("marker") == 2


def test_a_closed_directory_is_made_anew(
    directory: Path, unprivileged: Callable[[Sequence[str]], subprocess.CompletedProcess[str]]
) -> None:
    """A directory on the way that a user may not enter, as a real kubelet's, is replaced for the command."""
    source, closed = directory / "source", directory / "closed"
    source.mkdir()
    (source / "marker").touch()
    closed.mkdir(mode=0o700)
    if os.geteuid() != 0:
        closed.chmod(0)
    done = unprivileged(bind_command(source, closed / "device-plugins", f"ls {closed}/device-plugins"))
    assert (done.stdout, done.stderr) == ("marker\n", "")
    closed.chmod(0o700)


@needs_namespaces
@pytest.mark.parametrize(
    "source, target, word",
    [
        ("nowhere", "target", "nowhere"),
        ("source", "file/below", "file"),
        ("source", "/missing-root/below", "/missing-root"),
    ],
)
def test_what_cannot_be_bound(directory: Path, source: str, target: str, word: str) -> None:
    """A source or target that cannot be is named in one line, exit code 3; the command does not run."""
    (directory / "source").mkdir()
    (directory / "file").touch()
    done = run(bind_command(directory / source, directory / target, "echo ran"))
    assert (done.returncode, done.stdout) == (3, "")
    assert word in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["--", "no-such-command-here"], 127, "'no-such-command-here': command not found"),
        (["--", "/no/such/file"], 127, "'/no/such/file': command not found"),
        (["--", "/etc/passwd"], 126, "'/etc/passwd': Permission denied"),
        (["--", "/"], 126, "'/': Permission denied"),
        (["--"], 2, "no command given"),
        ([], 2, "no command given"),
        (["--frobnicate", "--", "true"], 2, "'--frobnicate'"),
        (["--bind", "/tmp", "--", "true"], 2, "'--bind'"),
    ],
)
def test_what_cannot_be_run(arguments: list[str], code: int, text: str) -> None:
    """A command that cannot be run gives one clear line and the exit code of env(1)."""
    done = run([*LAUNCHER, *arguments])
    assert done.returncode == code
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_script_without_its_interpreter(directory: Path) -> None:
    """A script whose interpreter is missing is not called missing itself."""
    script = directory / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = run([*LAUNCHER, "--", str(script)])
    assert done.returncode == 127
    assert "interpreter was not found" in done.stderr


def test_signals_are_as_a_program_expects_them() -> None:
    """The command does not inherit that Python ignores SIGPIPE."""
    done = run([*LAUNCHER, "--", "grep", "SigIgn", "/proc/self/status"])
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << 12)


def test_the_environment_passes_through() -> None:
    """Python's own variables mean nothing to the launcher and reach the command unchanged."""
    done = subprocess.run(
        [*LAUNCHER, "--", "sh", "-c", "echo $PYTHONPATH $PYTHONHOME"],
        env={**os.environ, "PYTHONPATH": "/no/where", "PYTHONHOME": "/no/home"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("/no/where /no/home\n", "")


def test_needs_nothing_but_the_standard_library() -> None:
    """The launcher imports none of our packages and none of others: it starts anew for each command."""
    program = (
        "import runpy, sys; sys.argv = ['x', '--', 'no-such-command-here']\n"
        f"try: runpy.run_path({isolation.__file__!r}, run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'__main__'}))"
    )
    done = run([sys.executable, "-I", "-S", "-c", program])
    assert done.stdout == "[]\n"


def test_a_probe_that_stumbles_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback of ours is no answer to why nothing can be isolated; its last line is."""
    script = "import sys; sys.stderr.write('a warning\\n'); raise OSError('no room')"
    monkeypatch.setattr(isolation, "LAUNCHER", [sys.executable, "-c", script])
    assert namespaces_available() == "OSError: no room"
