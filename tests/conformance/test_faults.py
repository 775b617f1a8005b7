"""Every check is seen to fail on its fault. With KUBELET_SIM_MATRIX=1 the whole matrix: and on nothing else."""

from __future__ import annotations

import os

import pytest
from attrs import evolve

from kubelet_sim.conformance import CHECKS, Status
from plugins_examples.faulty.faults import FAULTS
from tests.conformance.trial import faulty, hardware, only, told

IS_WHOLE = os.environ.get("KUBELET_SIM_MATRIX") == "1"
BAD = {Status.FAILED, Status.WARNED}
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_check_fails_on_its_fault(name: str) -> None:
    """The checks that the fault names fail, each with evidence, and none breaks."""
    fault = FAULTS[name]
    with hardware() as folder:
        config = faulty(folder, "--fault", name)
        config = evolve(config, is_beyond=True, start_timeout_s=12.0, jobs=4, patience=0.2)
        report = only(config if IS_WHOLE else evolve(config, select=fault.checks))
    bad = {each.check.id for each in report.outcomes if each.status in BAD}
    assert bad >= set(fault.checks), told(report)
    assert report.count(Status.BROKEN) == 0, told(report)
    if IS_WHOLE:
        assert bad == set(fault.checks), told(report)


def test_a_plugin_without_fault_passes_everything() -> None:
    """No finding at all, and the only checks that are skipped need what it has not."""
    with hardware() as folder:
        report = only(evolve(faulty(folder), is_beyond=True))
    assert not [each for each in report.outcomes if each.status not in (Status.PASSED, Status.SKIPPED)], told(report)
    skipped = {each.check.id for each in report.outcomes if each.status is Status.SKIPPED}
    assert skipped <= {"law-ids-unique-across-resources", *(c.id for c in CHECKS.values() if "monitor-down" in c.hooks)}


def test_every_black_box_check_has_a_fault() -> None:
    """A check that was never seen to fail may be one that never does."""
    groups = {"REGISTRATION", "LISTING", "OPTIONS", "NAMES"}
    checks = {each.id for each in CHECKS.values() if each.group.name in groups}
    assert checks <= {check for fault in FAULTS.values() for check in fault.checks}
    assert {check for fault in FAULTS.values() for check in fault.checks} <= set(CHECKS)
