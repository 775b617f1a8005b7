"""Really starts a container, with the OCI runtime of this machine, and brings back what it saw from inside."""

from __future__ import annotations

import contextlib
import copy
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from kubelet_sim.container.observed_container import ObservedContainer
from kubelet_sim.errors import KubeletSimError
from kubelet_sim.node.oci.bundle import Bundle, rewrite

RUNTIMES = ("crun", "runc")
_INSIDE = "/.kubelet-sim"
_LOADERS = (b"ld-linux", b"ld-musl")
_HEAD = 4096
_CLEAN_UP_S = 10.0
_TIMED_OUT = 124
"""As the exit code of a command that was ended for it took too long."""
_PROBE = f"""\
B={_INSIDE}/busybox
R={_INSIDE}/report
$B cat /proc/$$/environ > $R/environ
$B cat /proc/$$/mountinfo > $R/mounts
show() {{ $B stat -c '%F|%t|%T|%a|%u|%g|%n' "$1"; }}
{{
  $B find /dev '(' -type c -o -type b -o -type p ')' -exec $B stat -c '%F|%t|%T|%a|%u|%g|%n' '{{}}' ';'
  while IFS= read -r path; do show "$path"; done < {_INSIDE}/paths
}} > $R/nodes 2> /dev/null
echo done > $R/done
[ $# -eq 0 ] || exec "$@"
"""
"""Runs first in the container, and becomes the command. Needs nothing of the root file system."""


class CannotRun(KubeletSimError):
    """No container can be started on this machine: the text says what is missing."""


@frozen
class ContainerRun:
    """What came of one container that was run."""

    runtime: str
    """The program that ran it."""
    exit_code: int
    output: str
    """What the command wrote, both streams."""
    seen: ObservedContainer | None
    """`None`: the container did not start."""
    is_timed_out: bool = False
    """It took too long, and was ended for that."""


def runtimes_here(wanted: str | None = None) -> tuple[str, ...]:
    """The paths of the runtimes to try, in order. Raises `CannotRun` if there is none."""
    names = (wanted,) if wanted else RUNTIMES
    found = tuple(path for name in names if (path := shutil.which(name)))
    if not found:
        raise CannotRun(f"there is no OCI runtime on PATH ({' or '.join(names)}); on Debian: apt-get install crun")
    return found


def static_busybox() -> Path:
    """The program that looks around in the container. Raises `CannotRun` if there is none that runs anywhere."""
    path = shutil.which("busybox")
    if path is not None:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
        if not any(each in head for each in _LOADERS):
            return Path(path)
    raise CannotRun("there is no statically linked busybox on PATH to look around with; on Debian: busybox-static")


def run_probed(bundle: Bundle, command: Sequence[str], runtime: str | None, timeout_s: float) -> ContainerRun:
    """Run a command in the container of a bundle, after everything in it was looked at.

    Args:
        bundle: of the container. Its `config.json` is rewritten.
        command: what runs; nothing but the looking around if it is empty.
        runtime: a program; else those that are here are tried in turn, until one starts the container.
        timeout_s: real time, for each runtime.

    Raises:
        CannotRun: no runtime, no busybox, or no runtime that could start even an empty container.
    """
    busybox = static_busybox()
    candidates = runtimes_here(runtime)
    probed = _with_probe(bundle, busybox, command)
    failures = []
    for candidate in candidates:
        outcome = _run(candidate, probed, timeout_s)
        if outcome.seen is not None:
            return outcome
        failures.append(outcome)
    for failed in failures:
        if _starts_anything(failed.runtime, bundle.path / f"plain-{Path(failed.runtime).name}", busybox, timeout_s):
            return failed
    told = "; ".join(f"{Path(each.runtime).name}: {_last_line(each.output)}" for each in failures)
    raise CannotRun(f"no container can be started on this machine: {told}")


def _with_probe(bundle: Bundle, busybox: Path, command: Sequence[str]) -> Bundle:
    probe = bundle.path / "probe"
    (probe / "report").mkdir(parents=True)
    (probe / "report").chmod(0o777)  # whoever the container runs as
    shutil.copy(busybox, probe / "busybox")
    (probe / "busybox").chmod(0o755)
    (probe / "probe.sh").write_text(_PROBE, encoding="utf-8")
    paths = [each["path"] for each in bundle.wanted["linux"].get("devices", ())]
    (probe / "paths").write_text("".join(f"{each}\n" for each in paths if "\n" not in each), encoding="utf-8")
    spec = copy.deepcopy(dict(bundle.spec))
    spec["mounts"].append({"destination": _INSIDE, "type": "bind", "source": str(probe), "options": ["rbind", "rw"]})
    spec["process"]["args"] = [f"{_INSIDE}/busybox", "sh", f"{_INSIDE}/probe.sh", *command]
    spec["process"]["terminal"] = False
    return rewrite(bundle, spec)


def _run(runtime: str, bundle: Bundle, timeout_s: float) -> ContainerRun:
    name = f"kubelet-sim-{secrets.token_hex(4)}"
    base = [runtime, "--root", str(bundle.path / f"state-{Path(runtime).name}")]
    report = bundle.path / "probe" / "report"
    # Into a file: a pipe would be held open by what the command leaves behind.
    with (bundle.path / "output").open("wb+") as output:
        process = subprocess.Popen(  # noqa: S603 - the runtime that the user has
            [*base, "run", "--bundle", str(bundle.path), name],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        is_timed_out = False
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code, is_timed_out = _TIMED_OUT, True
        finally:
            _clean_up(base, name, process)
        output.seek(0)
        text = output.read().decode("utf-8", "backslashreplace")
    seen = _seen(report)
    if seen is None and is_timed_out:
        text = f"{text.rstrip()}\nit did not start the container within {timeout_s:g} s".lstrip()
    return ContainerRun(runtime, code, text, seen, is_timed_out)


def _clean_up(base: list[str], name: str, process: subprocess.Popen[bytes]) -> None:
    """Whatever happened, neither container nor runtime stay."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603 - as above
            [*base, "delete", "--force", name], capture_output=True, timeout=_CLEAN_UP_S, check=False
        )
    if process.poll() is None:
        process.kill()
        process.wait()


def _seen(report: Path) -> ObservedContainer | None:
    if not (report / "done").exists():
        return None
    parts = {}
    for name in ("environ", "nodes", "mounts"):
        parts[name] = (report / name).read_bytes() if (report / name).exists() else b""
    found = ObservedContainer.of(**parts)
    mounts = tuple(each for each in found.mounts if each.path != _INSIDE)
    return ObservedContainer(found.env, found.nodes, mounts)


def _starts_anything(runtime: str, directory: Path, busybox: Path, timeout_s: float) -> bool:
    """Whether this runtime starts a container with nothing in it: then the failure is the other container's own."""
    (directory / "rootfs" / "proc").mkdir(parents=True, exist_ok=True)
    namespaces = [{"type": "mount"}, {"type": "pid"}]
    linux: dict[str, Any] = {"namespaces": namespaces}
    if os.geteuid() != 0:
        namespaces.append({"type": "user"})
        linux["uidMappings"] = [{"containerID": 0, "hostID": os.geteuid(), "size": 1}]
        linux["gidMappings"] = [{"containerID": 0, "hostID": os.getegid(), "size": 1}]
    spec: Mapping[str, Any] = {
        "ociVersion": "1.0.2",
        "process": {"args": ["true"], "cwd": "/", "user": {"uid": 0, "gid": 0}, "env": [], "terminal": False},
        "root": {"path": "rootfs"},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
        ],
        "linux": linux,
    }
    plain = _with_probe(Bundle(directory, spec, spec), busybox, ())
    return _run(runtime, plain, timeout_s).seen is not None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
