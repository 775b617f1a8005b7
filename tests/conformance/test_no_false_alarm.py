"""Good plugins, judged again and again on a machine that is busy otherwise: `KUBELET_SIM_RUNS=50 pytest -s` on this file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from attrs import evolve

from kubelet_sim.conformance import SuiteConfig
from tests.conformance.trial import example, faulty, hardware, only, told

RUNS = int(os.environ.get("KUBELET_SIM_RUNS", "0"))
BUSY_LOOPS = 2
LONGEST_RUN_S = 300


@contextmanager
def busy_machine() -> Iterator[None]:
    """Processes beside us that do nothing, as fast as they can."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextmanager
def good_plugins() -> Iterator[list[SuiteConfig]]:
    """Every example plugin; with hooks for its hardware, where it has any."""
    with ExitStack() as held:
        resets, cdi = (Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp")) for _ in range(2))
        for folder in (resets, cdi):
            held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield [
            faulty(held.enter_context(hardware())),
            example("env_gpu"),
            example("aio"),
            example("numa"),
            example("two_resources"),
            example("pre_start", "--reset-dir", str(resets)),
            example("device_nodes", "--device", "/dev/null", "/dev/zero", "/dev/full"),
            evolve(example("cdi", "--cdi-dir", str(cdi)), cdi_dirs=(cdi,)),
        ]


@pytest.mark.timeout(max(1, RUNS) * LONGEST_RUN_S)
@pytest.mark.skipif(not RUNS, reason="takes half a minute a run: KUBELET_SIM_RUNS=50")
def test_good_plugins_are_never_blamed() -> None:
    """The default set, each time with another seed: no error, no warning, nothing broken."""
    blamed = []
    with good_plugins() as plugins, busy_machine():
        for number in range(RUNS):
            report = only(evolve(plugins[number % len(plugins)], seed=number, is_strict=True))
            print(f"run {number}: {report.about.plugin}: {report.took_s:.1f} s, {len(report.bad)} bad")  # noqa: T201 - hours may pass
            if report.bad:
                blamed.append(f"run {number}:\n{told(report)}")
    assert not blamed, "\n\n".join(blamed)
