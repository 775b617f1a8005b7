"""Runs of the suite on the faulty plugin, and on good ones."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve

from kubelet_sim.conformance import Isolation, Report, SuiteConfig, run
from plugins_examples.faulty.conduct import MONITOR_DOWN

ROOT = Path(__file__).resolve().parents[2]
DEVICES = ("dev-0", "dev-1", "dev-2")
MOST_DEVICES = 60_000


@contextmanager
def hardware() -> Iterator[Path]:
    """A directory of healthy devices, as the faulty plugin reads it."""
    folder = Path(tempfile.mkdtemp(prefix="ks-hw-", dir="/tmp"))
    try:
        for name in DEVICES:
            (folder / name).write_text("ok")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hooks(folder: Path) -> dict[str, str]:
    """What breaks and mends such devices; mending none means all of them."""
    quoted = shlex.quote(str(folder))
    blind = shlex.quote(str(folder / MONITOR_DOWN))
    everything = f"rm -f {blind}; for id in {' '.join(DEVICES)}; do echo ok > {quoted}/$id; done"
    return {
        "break": f"echo broken > {quoted}/{{id}}",
        "mend": f"if [ -n {{id}} ]; then echo ok > {quoted}/{{id}}; else {everything}; fi",
        "add": f"id={{id}}; echo ok > {quoted}/${{id:-added}}",
        "remove": f"rm -f {quoted}/{{id}}",
        "no-hardware": f"rm -f {quoted}/*",
        "monitor-down": f"touch {blind}",
    }


def example(name: str, *options: str) -> SuiteConfig:
    """An example plugin by its name."""
    command = (sys.executable, "-m", f"plugins_examples.{name}", "--socket-dir", "{dir}", *options)
    return SuiteConfig(command=command, cwd=ROOT, isolate=Isolation.NONE, seed=1)


def faulty(folder: Path, *options: str) -> SuiteConfig:
    """The faulty plugin on that hardware, with hooks for it."""
    config = example("faulty", "--hardware", str(folder), *options)
    return evolve(config, hooks=hooks(folder), numa_nodes=(0, 1), most_devices=MOST_DEVICES)


@contextmanager
def hasty(name: str) -> Iterator[SuiteConfig]:
    """The faulty plugin with that fault and all checks; a plugin that does not answer is given up soon."""
    with hardware() as folder:
        config = evolve(faulty(folder, "--fault", name), is_beyond=True, jobs=4, patience=0.2, start_timeout_s=12.0)
        yield evolve(config, host_paths={"ghost": (str(folder / "ghost"),)}) if name == "ghost" else config


def only(config: SuiteConfig) -> Report:
    """The report of a run against one kubelet."""
    (report,) = run(config)
    return report


def told(report: Report) -> str:
    """What is wrong, for an assertion's message."""
    from kubelet_sim.conformance.reports.terminal import report_lines

    return "\n".join(report_lines(report))
