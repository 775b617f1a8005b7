"""Which checks are made at once: as many as the plugin's instances allow, and none beside one that changes the hardware."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from attrs import define, evolve, field

from kubelet_sim.conformance import CHECKS, Check, Stage, Status, SuiteConfig
from kubelet_sim.conformance.check import Need
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.suite import Suite
from kubelet_sim.conformance.verdict import Report
from kubelet_sim.profiles import V1_36
from tests.conformance.trial import example, told
from tests.patience import PATIENCE_S

GOOD = example("env_gpu", "--gpus", "2")


@define
class Meeting:
    """Checks that wait for each other, and what was under way at once."""

    expected: int
    under_way: set[str] = field(factory=set)
    met: list[frozenset[str]] = field(factory=list)
    """For each check what else was under way at its end, itself included."""
    _all: asyncio.Event = field(factory=asyncio.Event)

    def check(self, name: str, stage: Stage, *needs: Need) -> Check:
        """One that ends when as many are under way as are expected; a lonely one after a moment."""

        async def body(ctx: CheckContext) -> None:
            self.under_way.add(ctx.check.id)
            if len(self.under_way) >= self.expected:
                self._all.set()
            if not needs:
                await asyncio.wait_for(self._all.wait(), PATIENCE_S)
            self.met.append(frozenset(self.under_way))
            await asyncio.sleep(0)
            self.under_way.discard(ctx.check.id)

        return evolve(CHECKS["law-unique-ids"], id=name, run=body, stage=stage, needs=frozenset(needs), limit_s=60.0)


def played(config: SuiteConfig, *checks: Check) -> Report:
    """The report of these checks, all of which passed."""
    report = asyncio.run(Suite(config, V1_36, checks).run())
    assert {each.status for each in report.outcomes} == {Status.PASSED}, told(report)
    return report


def test_all_stages_at_once() -> None:
    """One of the shared plugin, one that restarts the kubelet, and two with an instance of their own."""
    meeting = Meeting(4)
    stages = (Stage.SHARED, Stage.RESTARTS, Stage.OWN, Stage.OWN)
    played(GOOD, *(meeting.check(f"check-{number}", stage) for number, stage in enumerate(stages)))
    assert len(meeting.met[0]) == 4


def test_what_changes_the_hardware_is_alone() -> None:
    """With hooks: those that need one come last, one after the other, whatever their stage."""
    meeting = Meeting(3)
    changing = [meeting.check(f"z-{stage.value}", stage, Need.HOOK) for stage in Stage]
    quiet = [meeting.check(f"a-{stage.value}", stage) for stage in Stage]
    played(evolve(GOOD, hooks={"break": "true", "mend": "true"}), *changing, *quiet)
    assert sorted(map(len, meeting.met[3:])) == [1, 1, 1]
    assert {name for each in meeting.met[3:] for name in each} == {each.id for each in changing}


@pytest.mark.skipif(shutil.which("flock") is None, reason="needs flock")
def test_a_plugin_that_there_can_be_only_one_of(tmp_path: Path) -> None:
    """As with a port of its own: the second instance ends, and everything is done one after the other."""
    meeting = Meeting(1)
    config = evolve(GOOD, command=("flock", "-n", str(tmp_path / "lock"), *GOOD.command), start_timeout_s=15.0)
    checks = [meeting.check(f"check-{number}", stage) for number, stage in enumerate((*Stage, Stage.OWN))]
    report = played(config, *checks)
    assert [len(each) for each in meeting.met] == [1, 1, 1, 1]
    assert report.notes == ("instances of the plugin cannot run side by side: checks come one after the other",)
