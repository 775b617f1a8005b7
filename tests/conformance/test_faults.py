"""Every check is seen to fail on its fault. With KUBELET_SIM_MATRIX=1 the whole matrix: and on nothing else."""

from __future__ import annotations

import os

import pytest
from attrs import evolve

from kubelet_sim.conformance import CHECKS, Group, Level, Outcome, Status
from plugins_examples.faulty.faults import FAULTS
from tests.conformance.trial import faulty, hardware, only, told

IS_WHOLE = os.environ.get("KUBELET_SIM_MATRIX") == "1"
BAD = {Status.FAILED, Status.WARNED}
LEVELLED = {Group.PREFERRED, Group.ALLOCATE, Group.SPEC, Group.PRE_START}
"""Groups whose checks have to find the fault at the level that the check is entered with."""
MILDER = {
    "accepts-unknown",
    "crashes-at-none",
    "dot-in-variable",
    "slow-allocate",
    "slow-pre-start",
    "slow-preference",
}
"""Faults that are a warning of a check that knows errors as well."""
pytestmark = pytest.mark.timeout(300)


def is_bad(outcome: Outcome) -> bool:
    """Whether the check found what it is for: those that only tell something never fail."""
    return outcome.status in BAD or (outcome.check.level is Level.INFO and bool(outcome.findings))


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_check_fails_on_its_fault(name: str) -> None:
    """The checks that the fault names fail, each with evidence, and none breaks."""
    fault = FAULTS[name]
    with hardware() as folder:
        config = faulty(folder, "--fault", name)
        config = evolve(config, is_beyond=True, start_timeout_s=12.0, jobs=4, patience=0.2)
        report = only(config if IS_WHOLE else evolve(config, select=fault.checks))
    bad = {each.check.id for each in report.outcomes if is_bad(each)}
    assert bad >= set(fault.checks), told(report)
    first = next(each for each in report.outcomes if each.check.id == fault.checks[0])
    if first.check.group in LEVELLED:
        assert first.worst is (Level.WARNING if name in MILDER else first.check.level), told(report)
    assert report.count(Status.BROKEN) == 0, told(report)
    if IS_WHOLE:
        assert bad == set(fault.checks), told(report)


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
    no_monitor = {c.id for c in CHECKS.values() if "monitor-down" in c.hooks}
    assert skipped <= asks_for_no_call | no_cdi | nodes_alike | one_resource | no_monitor, told(report)


def test_every_black_box_check_has_a_fault() -> None:
    """A check that was never seen to fail may be one that never does."""
    groups = {"REGISTRATION", "LISTING", "OPTIONS", "NAMES", "PREFERRED", "ALLOCATE", "SPEC", "PRE_START"}
    checks = {each.id for each in CHECKS.values() if each.group.name in groups}
    assert checks <= {check for fault in FAULTS.values() for check in fault.checks}
    assert {check for fault in FAULTS.values() for check in fault.checks} <= set(CHECKS)
