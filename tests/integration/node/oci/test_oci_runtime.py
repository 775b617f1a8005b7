"""How a runtime is found and used, shown with programs of ours in its place; real ones start in `tests/examples`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubelet_sim.container import KubeletContext, container_config
from kubelet_sim.node.oci.bundle import Bundle, kubelet_root, new_directory, write_bundle
from kubelet_sim.node.oci.host_files import LocalFiles
from kubelet_sim.node.oci.oci_runtime import CannotRun, run_probed, runtimes_here, static_busybox
from tests.unit.container.parts import pod, share

REPORTS = """
report = bundle / "probe" / "report"
(report / "environ").write_bytes(b"A=1\\0")
(report / "nodes").write_text("character special file|1|3|666|0|0|/dev/a\\n")
(report / "mounts").write_text("1 0 0:1 / /.kubelet-sim rw - ext4 x rw\\n2 0 0:1 / /etc/hosts rw - ext4 x rw\\n")
(report / "done").write_text("done")
"""


@pytest.fixture
def path(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, with a busybox that nobody runs."""
    folder = short_root / "bin"
    folder.mkdir()
    program(folder, "busybox", "")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, body: str) -> None:
    """A program that knows its bundle, and how often it was called with `run`."""
    lines = [
        f"#!{sys.executable}",
        "import sys, time",
        "from pathlib import Path",
        "if 'run' not in sys.argv: sys.exit(0)",
        "bundle = Path(sys.argv[sys.argv.index('--bundle') + 1])",
        body,
    ]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.fixture
def bundle(short_root: Path) -> Bundle:
    """Of a container with a variable and a device."""
    place = new_directory(short_root / "bundle")
    of = share(envs={"A": "1"}, devices=[("/dev/a", "/dev/null", "rw")])
    config = container_config(pod(), "main", of, KubeletContext(kubelet_root=kubelet_root(place)))
    return write_bundle(config, place, LocalFiles())


def test_what_the_container_saw_is_told_without_the_probe(path: Path, bundle: Bundle) -> None:
    """What the probe reports, without its own mount; the output and the exit code are the command's."""
    program(path, "crun", f"{REPORTS}\nprint('hello'); sys.exit(7)")
    outcome = run_probed(bundle, ["cmd"], None, 20)
    assert outcome.seen is not None
    assert (outcome.exit_code, outcome.output) == (7, "hello\n")
    assert outcome.seen.env == {"A": "1"}
    assert [each.path for each in outcome.seen.mounts] == ["/etc/hosts"]
    config = (bundle.path / "config.json").read_text()
    assert '"/.kubelet-sim/probe.sh",\n      "cmd"' in config


def test_a_command_that_takes_too_long(path: Path, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended, and that is another thing than a command's own exit code of 124."""
    program(path, "crun", REPORTS)
    waits = subprocess.Popen.wait

    def wait(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        code = waits(process, 60)
        if timeout == 77:  # the time is over as soon as all was seen
            raise subprocess.TimeoutExpired("crun", timeout)
        return code

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    late = run_probed(bundle, ["cmd"], None, 77)
    assert (late.exit_code, late.is_timed_out, late.seen is not None) == (124, True, True)


def test_a_command_that_ends_as_if_it_took_too_long(path: Path, bundle: Bundle) -> None:
    """`timeout` in the container has the same code."""
    program(path, "crun", f"{REPORTS}\nsys.exit(124)")
    outcome = run_probed(bundle, ["cmd"], None, 60)
    assert (outcome.exit_code, outcome.is_timed_out) == (124, False)


def test_the_next_runtime_is_tried(path: Path, bundle: Bundle) -> None:
    """One that cannot start the container is not the end."""
    program(path, "crun", "print('no cgroup'); sys.exit(1)")
    program(path, "runc", REPORTS)
    outcome = run_probed(bundle, (), None, 20)
    assert (Path(outcome.runtime).name, outcome.seen is not None) == ("runc", True)


def test_no_runtime_starts_anything(path: Path, bundle: Bundle) -> None:
    """Then it is the machine, and the last word of each is told."""
    program(path, "crun", "print('first\\nno cgroup\\n'); sys.exit(1)")
    program(path, "runc", "sys.exit(1)")
    with pytest.raises(CannotRun, match="crun: no cgroup; runc: it said nothing"):
        run_probed(bundle, (), None, 20)


def test_it_is_the_container(path: Path, bundle: Bundle) -> None:
    """A runtime that starts a plain container and not this one speaks about this one."""
    program(path, "crun", f"if 'plain' not in str(bundle):\n    print('bad env'); sys.exit(1)\n{REPORTS}")
    outcome = run_probed(bundle, (), None, 20)
    assert (outcome.seen, outcome.output.strip()) == (None, "bad env")


def test_a_runtime_that_hangs_is_ended(path: Path, bundle: Bundle) -> None:
    """It is ended; what was seen before counts."""
    program(path, "crun", f"{REPORTS}\ntime.sleep(60)")
    outcome = run_probed(bundle, (), None, 2)
    assert (outcome.exit_code, outcome.seen is not None) == (124, True)


def test_a_runtime_that_never_starts_it(path: Path, bundle: Bundle) -> None:
    """The time is told: a busy machine looks like one that cannot start containers at all."""
    program(path, "crun", "time.sleep(60)")
    with pytest.raises(CannotRun, match=r"crun: it did not start the container within 0\.5 s"):
        run_probed(bundle, (), None, 0.5)


def test_what_is_missing_is_named(path: Path, bundle: Bundle) -> None:
    """A runtime, the one that was asked for, and a busybox that needs no library."""
    with pytest.raises(CannotRun, match="crun or runc"):
        runtimes_here()
    with pytest.raises(CannotRun, match="mine"):
        runtimes_here("mine")
    assert static_busybox() == path / "busybox"
    (path / "busybox").write_bytes(b"\x7fELF... /lib64/ld-linux-x86-64.so.2")
    with pytest.raises(CannotRun, match="busybox-static"):
        static_busybox()
    (path / "busybox").unlink()
    with pytest.raises(CannotRun, match="busybox-static"):
        run_probed(bundle, (), None, 20)
