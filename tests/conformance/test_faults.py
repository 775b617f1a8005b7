"""Every check is seen to fail on its fault, at the level that it should.

The usual run plays a sample of the faults, of a size that does not grow with their number; `-m whole` plays the others.
With KUBELET_SIM_MATRIX=1 the whole matrix: on nothing else, and those faults, too, that take long to be seen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys

import pytest
from attrs import evolve

from kubelet_sim.conformance import CHECKS, Group, Level, Outcome, Report, Status
from plugins_examples.faulty.faults import FAULTS
from tests.conformance.record_matrix import LEFT_OUT, matrix, others
from tests.conformance.trial import ROOT, example, faulty, hardware, hasty, only, told
from tests.patience import PATIENCE_S

IS_WHOLE = os.environ.get("KUBELET_SIM_MATRIX") == "1"
BAD = {Status.FAILED, Status.WARNED}
UNLEVELLED = {Group.REGISTRATION, Group.LISTING, Group.OPTIONS, Group.NAMES}
"""The checks of the other groups have to find the fault at the level that the check is entered with."""
MILDER = {
    "accepts-unknown",
    "crashes-at-none",
    "dot-in-variable",
    "empty-topology",
    "fails-without-hardware",
    "lingers",
    "localhost-only",
    "slow-allocate",
    "slow-pre-start",
    "slow-preference",
    "stays-cut-off",
    "wary",
}
"""Faults that are a warning of a check that knows errors as well."""
NEEDS_MORE = {
    "health-missing-path-unhealthy",
    "multi-resource-independent",
    "restart-poll-fallback",
    "restart-same-inode",
    "sec-clear-permission-error",
    "sock-stale-file-replaced",
}
"""A mapping of ids, a second resource, another machine, file system or user, one socket name."""
SEEN_ELSEWHERE = {"sock-dir-configurable", "restart-poll-fallback"}
"""By a test of its own; and never, as the check cannot be made."""
HAS_ALL_RIGHTS = os.geteuid() == 0 and os.environ.get("KUBELET_SIM_FEWER_RIGHTS") != "1"
SAMPLE_SIZE = 24
pytestmark = pytest.mark.timeout(1800 if IS_WHOLE else 900)


def by_hash(name: str) -> str:
    """What faults are drawn by: as good as chance, and a new fault takes the place of one other at most."""
    return hashlib.sha256(name.encode()).hexdigest()


NAMES = sorted(name for name, fault in FAULTS.items() if fault.checks)
SAMPLE = frozenset(sorted(NAMES, key=by_hash)[:SAMPLE_SIZE])


def is_bad(outcome: Outcome) -> bool:
    """Whether the check found what it is for: those that only tell something never fail."""
    return outcome.status in BAD or (outcome.check.level is Level.INFO and bool(outcome.findings))


def found(report: Report) -> set[str]:
    """The ids of the checks that found what they are for."""
    return {each.check.id for each in report.outcomes if is_bad(each)}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if IS_WHOLE or name in SAMPLE else pytest.mark.whole) for name in NAMES]
)
def test_a_check_fails_on_its_fault(name: str) -> None:
    """The checks that the fault names fail, each with evidence, and none breaks."""
    fault = FAULTS[name]
    if fault.is_slow and not IS_WHOLE:
        pytest.skip("takes long to be seen: KUBELET_SIM_MATRIX=1")
    if name == "silent-without-rights" and HAS_ALL_RIGHTS:
        pytest.skip("root may write everywhere: see the test below")
    with hasty(name) as whole:
        config = evolve(whole, select=fault.checks)
        patient = evolve(config, patience=1.0, start_timeout_s=30.0)
        report = only(patient if fault.is_slow else config)
        if not found(report) >= set(fault.checks) and not fault.is_slow:
            report = only(patient)  # A busy machine: with the patience that users have it must be found.
        assert found(report) >= set(fault.checks), told(report)
        first = next(each for each in report.outcomes if each.check.id == fault.checks[0])
        if first.check.group not in UNLEVELLED:
            assert first.worst is (Level.WARNING if name in MILDER else first.check.level), told(report)
        assert report.count(Status.BROKEN) == 0, told(report)
        if IS_WHOLE and not fault.is_slow and name not in LEFT_OUT:
            report = only(whole)
            assert found(report) >= set(fault.checks), told(report)  # at the end of a whole run as well
            assert others(name, report) <= set(matrix()[name]), told(report)


@pytest.mark.whole
@pytest.mark.skipif(not HAS_ALL_RIGHTS or shutil.which("setpriv") is None, reason="needs root, and setpriv")
def test_a_root_without_its_rights_is_refused_like_anybody() -> None:
    """The check of the refusal is made, and fails on its fault, as soon as root cannot write everywhere."""
    test = f"{__file__}::{test_a_check_fails_on_its_fault.__name__}[silent-without-rights]"
    command = [
        "setpriv",
        "--bounding-set=-dac_override",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "",
        test,
    ]
    environment = {**os.environ, "KUBELET_SIM_FEWER_RIGHTS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_directory_that_is_compiled_in_is_told() -> None:
    """What a container's engine mounts is no word of the directory to the plugin; one that never registers has found none."""
    script = (
        "import sys, plugins_examples.faulty.__main__ as it; it.main(['--socket-dir', sys.argv[1].partition(':')[0]])"
    )
    mounted = (sys.executable, "-c", script, "{dir}:/var/lib/kubelet/device-plugins")
    config = evolve(example("faulty"), command=mounted, select=("sock-dir-configurable",))
    assert [each.level for each in only(config).outcomes[0].findings] == [Level.INFO]
    idle = only(evolve(config, command=("sleep", "60"), start_timeout_s=0.5))
    assert [each.status for each in idle.outcomes] == [Status.SKIPPED]


def test_a_plugin_without_fault_passes_everything() -> None:
    """No finding at all, and the only checks that are skipped need what it has not."""
    with hardware() as folder:
        report = only(evolve(faulty(folder), is_beyond=True))
    assert not [each for each in report.outcomes if each.status not in (Status.PASSED, Status.SKIPPED)], told(report)
    skipped = {each.check.id for each in report.outcomes if each.status is Status.SKIPPED}
    asks_for_no_call = {c.id for c in CHECKS.values() if c.group in {Group.PREFERRED, Group.PRE_START}}
    no_cdi = {c.id for c in CHECKS.values() if c.id.startswith("cdi-")}
    nodes_alike = {"alloc-isolated"}
    one_resource = {"law-ids-unique-across-resources", "spec-cross-resource-conflicts"}
    assert skipped <= asks_for_no_call | no_cdi | nodes_alike | one_resource | NEEDS_MORE, told(report)


def test_every_black_box_check_has_a_fault() -> None:
    """A check that was never seen to fail may be one that never does."""
    checks = {each.id for each in CHECKS.values() if each.group is not Group.CONSUMERS} - SEEN_ELSEWHERE
    assert checks <= {check for fault in FAULTS.values() for check in fault.checks}
    assert {check for fault in FAULTS.values() for check in (*fault.checks, *fault.also)} <= set(CHECKS)
