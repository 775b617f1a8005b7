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
def good_plugins() -> Iterator[list[tuple[SuiteConfig, set[str]]]]:
    """Every example plugin, with hooks for its hardware where it has any; and what is rightly said of it."""
    with ExitStack() as held:
        resets, cdi = (Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp")) for _ in range(2))
        for folder in (resets, cdi):
            held.callback(shutil.rmtree, folder, ignore_errors=True)
        good = [
            faulty(held.enter_context(hardware())),
            example("aio"),
            evolve(example("numa"), numa_nodes=(0, 1)),
            example("two_resources"),
            example("pre_start", "--reset-dir", str(resets)),
            example("device_nodes", "--device", "/dev/null", "/dev/zero", "/dev/full"),
            evolve(example("cdi", "--cdi-dir", str(cdi)), cdi_dirs=(cdi,)),
        ]
        yield [*((each, set()) for each in good), (example("env_gpu"), {"sec-env-only-grant"})]


@pytest.mark.timeout(max(1, RUNS) * LONGEST_RUN_S)
@pytest.mark.skipif(not RUNS, reason="takes half a minute a run: KUBELET_SIM_RUNS=50")
def test_good_plugins_are_never_blamed() -> None:
    """The default set, each time with another seed: no error, no warning, nothing broken."""
    blamed = []
    with good_plugins() as plugins, busy_machine():
        for number in range(RUNS):
            plugin, rightly = plugins[number % len(plugins)]
            report = only(evolve(plugin, seed=number, is_strict=True))
            print(f"run {number}: {report.about.plugin}: {report.took_s:.1f} s, {len(report.bad)} bad")  # noqa: T201 - hours may pass
            if {each.check.id for each in report.bad} != rightly:
                blamed.append(f"run {number}:\n{told(report)}")
    assert not blamed, "\n\n".join(blamed)
