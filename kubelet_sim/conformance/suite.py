"""Plays checks against a plugin: in stages, each within a time of its own, whatever the plugin does.

Those that share one plugin, idle; those that restart the kubelet of another; those that need an instance of their own. All
side by side if the plugin allows that, else one after the other, the first two on one plugin. What comes of it is a `Report`;
nothing is shown here.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from random import Random

from attrs import evolve, frozen

from kubelet_sim import __version__
from kubelet_sim.conformance import checks as _checks  # noqa: F401 - fills the table
from kubelet_sim.conformance.check import CHECKS, Check, Need, Stage, in_order
from kubelet_sim.conformance.check_run import INTERRUPTED, play_check
from kubelet_sim.conformance.config import Mode, SuiteConfig
from kubelet_sim.conformance.known_failures import known_failures, read_failed, state_file, write_failed
from kubelet_sim.conformance.selection import nothing_selected, selected, why_not
from kubelet_sim.conformance.testbed import Testbed
from kubelet_sim.conformance.verdict import About, Outcome, Report, Status
from kubelet_sim.errors import KubeletSimError, TransportError, UsageError
from kubelet_sim.profiles import Profile, profile_of

SIDE_BY_SIDE = 6
"""How many instances of a plugin run at once, if it allows that at all."""
NO_COMMAND = (126, 127)
"""What a command ends with that cannot be run, or that there is not."""
NEVER_READY = "no plugin was registered and listed its devices: see reg-happens"
NOT_ALL_READY = "not every resource that has to be there was registered and listed: see reg-happens"
NEVER_REGISTERED = "no Register call came: see reg-happens"
LOST = "the plugin was lost in an earlier check, and did not come back"


@frozen
class Progress:
    """Tells a listener what happened in a run: a check began or ended, or something about the whole."""

    done: int
    total: int
    begun: Check | None = None
    outcome: Outcome | None = None
    text: str = ""
    """Something about the run as a whole."""


class CannotBeRun(TransportError):
    """The plugin's command is none, or nobody may run it; the text says why."""


Listener = Callable[[Progress], None]


def run(config: SuiteConfig, listener: Listener = lambda _: None) -> tuple[Report, ...]:
    """`conform` for those who have no event loop."""
    return asyncio.run(conform(config, listener))


async def conform(
    config: SuiteConfig, listener: Listener = lambda _: None, done: Callable[[Report], None] = lambda _: None
) -> tuple[Report, ...]:
    """Test a plugin, once against each kubelet version; the reports in that order.

    Args:
        config: the choices.
        listener: told of each check as it begins and ends.
        done: given each report as it is there. Whoever cancels the run gets that of the kubelet under way with what was
            found so far, `Report.was_interrupted`; the plugin is gone by then. One of a command that cannot be run has no
            check that was made.

    Raises:
        UsageError: the choices cannot be.
        CannotBeRun: there is no such command, or nobody may run it.
        TransportError: there can be no node, or no plugin beside it.
    """
    config.check()
    profiles = [profile_of(version) for version in config.kubelet_versions]
    known = known_failures(config.known_failures, CHECKS)
    remembered = state_file(config)
    wanted = selected(in_order(), config, read_failed(remembered) if config.rerun_failed else frozenset())
    if not wanted:
        raise UsageError(nothing_selected(in_order(), config))
    seed = Random().randrange(2**32) if config.seed is None else config.seed  # noqa: S311 - an order, no secret
    reports: list[Report] = []

    def take(report: Report) -> None:
        reports.append(report)
        done(report)

    try:
        for profile in profiles:
            if len(profiles) > 1:
                listener(Progress(0, len(wanted), text=f"on kubelet {profile.stands_for}"))
            await Suite(evolve(config, seed=seed), profile, wanted, known, listener).run(take)
            if config.fail_fast and reports[-1].bad:
                break
    finally:
        outcomes = [(report, each) for report in reports for each in report.outcomes]
        failed = {each.check.id for report, each in outcomes if report.is_bad(each)}
        write_failed(remembered, {each.check.id for _, each in outcomes if each.status is not Status.SKIPPED}, failed)
    return tuple(reports)


class Suite:
    """Plays the chosen checks against one kubelet, in stages."""

    def __init__(
        self,
        config: SuiteConfig,
        profile: Profile,
        checks: Sequence[Check],
        known: frozenset[str] = frozenset(),
        listener: Listener = lambda _: None,
    ) -> None:
        self._config = config
        self._profile = profile
        self._checks = checks
        self._known = known
        self._listener = listener
        self._seed = config.seed or 0
        self._outcomes: dict[str, Outcome] = {}
        self._resources: tuple[str, ...] = ()
        self._notes: list[str] = []
        self._is_over = False
        self._has_come = True

    async def run(self, done: Callable[[Report], None] = lambda _: None) -> Report:
        """Make all checks; outcomes come in the order of the catalogue. `done` gets what there is when it is cancelled, too."""
        began_s = time.monotonic()
        possible = []
        for check in self._checks:
            if why := why_not(check, self._config, self._profile):
                self._finish(Outcome(check, Status.SKIPPED, reason=why))
            else:
                possible.append(check)
        try:
            await self._staged(possible)
        except asyncio.CancelledError:
            self._notes.append(f"{INTERRUPTED} after {len(self._outcomes)} of {len(self._checks)} checks")
            self._leave_out(possible, INTERRUPTED)
            done(self._report(began_s, was_interrupted=True))
            raise
        except CannotBeRun as error:
            self._notes.append(str(error))
            self._leave_out(possible[:1], str(error), Status.BROKEN)  # a report that is all skips looks well
            self._leave_out(possible, str(error))
            done(self._report(began_s))
            raise
        report = self._report(began_s)
        done(report)
        return report

    def _report(self, began_s: float, *, was_interrupted: bool = False) -> Report:
        """The report of what there is by now."""
        outcomes = tuple(self._outcomes[each.id] for each in self._checks if each.id in self._outcomes)
        config = self._config
        about = About(
            kubelet_sim=__version__,
            kubelet_version=self._profile.stands_for,
            plugin=_tested(config),
            resources=self._resources,
            seed=self._seed,
            mode=config.mode.value,
            window_s=config.window_s(60.0),
        )
        took_s, notes = time.monotonic() - began_s, tuple(self._notes)
        return Report(
            about,
            outcomes,
            took_s,
            is_strict=config.is_strict,
            notes=notes,
            has_come=self._has_come,
            was_interrupted=was_interrupted,
        )

    def _leave_out(self, checks: Sequence[Check], reason: str, status: Status = Status.SKIPPED) -> None:
        """Those of them that were not made; nobody is told of each."""
        for check in checks:
            missing = Outcome(check, status, reason=reason, is_known=check.id in self._known)
            self._outcomes.setdefault(check.id, missing)

    # --- the stages

    async def _staged(self, checks: Sequence[Check]) -> None:
        """Side by side if the plugin allows that; at last and one by one those checks that change what all instances see."""
        is_changing = bool(self._config.hooks)
        quiet = self._by_stage(each for each in checks if not (is_changing and Need.HOOK in each.needs))
        changing = self._by_stage(each for each in checks if is_changing and Need.HOOK in each.needs)
        jobs, own, changing_own = self._config.jobs, quiet[Stage.OWN], changing[Stage.OWN]
        async with AsyncExitStack() as held:
            if any(each.stage is not Stage.OWN for each in checks):
                testbed = await held.enter_async_context(self._testbed())
                lacking = await self._begun(testbed)
                second = None
                has_both = bool(quiet[Stage.SHARED] and quiet[Stage.RESTARTS])
                if not lacking and jobs != 1 and (has_both or (own and jobs is None)):
                    second = await self._second(testbed, held)
                if second is not None:
                    room = asyncio.Semaphore(jobs or SIDE_BY_SIDE)
                    async with asyncio.TaskGroup() as group:
                        group.create_task(self._together(quiet[Stage.SHARED], testbed, room))
                        group.create_task(self._together(quiet[Stage.RESTARTS], second, room))
                        group.create_task(self._apart(own, room))
                    own = []
                else:
                    in_order = [*quiet[Stage.SHARED], *quiet[Stage.RESTARTS]]
                    await self._together(in_order, testbed, asyncio.Semaphore(), lacking)
                in_order = [*changing[Stage.SHARED], *changing[Stage.RESTARTS]]
                await self._together(in_order, second or testbed, asyncio.Semaphore(), lacking)
                if not testbed.seen.registrations:
                    own, changing_own = self._given_up(own), self._given_up(changing_own)
        await self._apart(own, asyncio.Semaphore(jobs or 1))
        await self._apart(changing_own, asyncio.Semaphore())

    def _by_stage(self, checks: Iterable[Check]) -> Mapping[Stage, Sequence[Check]]:
        """Those that look at an idle plugin come first; otherwise by the catalogue, or by the seed."""
        found = list(checks)
        if self._config.is_shuffled:
            Random(self._seed).shuffle(found)  # noqa: S311 - an order, no secret
        found.sort(key=lambda each: not (each.observes or each.leads))
        return {stage: [each for each in found if each.stage is stage] for stage in Stage}

    async def _begun(self, testbed: Testbed) -> str:
        """Start the plugin for the first time, or wait for one to attach to; what checks lack that need it, if anything."""
        is_attached = self._config.attach is not None
        if is_attached:
            wait = f"waiting up to {self._config.start_timeout_s:g} s for a plugin that registers at {testbed.root.registration_socket}"
            self._listener(Progress(0, len(self._checks), text=wait))
        is_ready = await testbed.start_plugin(probes=True)
        self._resources = testbed.resources
        self._has_come = not is_attached or bool(testbed.seen.registrations)
        if testbed.plugin.exit_code in NO_COMMAND and not testbed.seen.registrations:
            raise CannotBeRun(f"the plugin cannot be run: {testbed.state_of_plugin()}")
        if not is_ready:
            self._tell(f"the plugin never got ready: {testbed.state_of_plugin()}")
        elif not any(
            device.is_healthy
            for each in testbed.resources
            if (now := testbed.seen.current_list(each))
            for device in now.devices
        ):
            self._tell("no device is healthy here: what a container would get was not tested")
        if is_ready:
            return ""
        return NOT_ALL_READY if any(map(testbed.seen.is_live, testbed.seen.resources)) else NEVER_READY

    async def _second(self, testbed: Testbed, held: AsyncExitStack) -> Testbed | None:
        """Another instance beside another node, if it gets ready while the first one runs on, as ports may forbid."""
        if not testbed.plugin.can_start:
            return None
        async with AsyncExitStack() as trial:
            other = await trial.enter_async_context(self._testbed())
            if await other.start_plugin() and not testbed.plugin.has_ended and testbed.is_ready():
                await held.enter_async_context(trial.pop_all())
                return other
        self._tell("instances of the plugin cannot run side by side: checks come one after the other")
        return None

    async def _together(
        self, checks: Sequence[Check], testbed: Testbed, room: asyncio.Semaphore, lacking: str = ""
    ) -> None:
        """One after the other on one plugin; without it, those that need it are skipped with that reason."""
        async with room:
            for check in checks:
                is_new = not lacking and not await self._is_there(check, testbed)
                lacking = LOST if is_new else lacking
                await self._one_shared(check, testbed, lacking, is_new=is_new)
            self._resources = tuple(sorted({*self._resources, *testbed.resources}))

    async def _is_there(self, check: Check, testbed: Testbed) -> bool:
        """Whether the plugin is ready for a check that needs it, started again if need be; if not, that is told."""
        if self._is_over or not (check.needs_ready or check.stage is Stage.RESTARTS) or await testbed.ensure_ready():
            return True
        self._tell(f"the plugin was lost in a check, and did not come back: {testbed.state_of_plugin()}")
        return False

    async def _one_shared(self, check: Check, testbed: Testbed, lacking: str, *, is_new: bool) -> None:
        """`is_new`: it is lacking since the check before, of which it is no finding yet unless that restarted the kubelet."""
        if self._is_over:
            return
        notes: tuple[str, ...] = ()
        if lacking and check.needs_ready:
            is_told = not is_new or check.stage is Stage.RESTARTS
            reason = lacking if is_told else f"{lacking}: {testbed.state_of_plugin()}"
            self._finish(Outcome(check, Status.SKIPPED if is_told else Status.BROKEN, reason=reason))
            return
        if testbed.was_lost:
            testbed.was_lost = False
            notes = ("the plugin was lost in the check before, and is ready again",)
        await self._make(check, testbed, notes)

    def _given_up(self, checks: Sequence[Check]) -> Sequence[Check]:
        """A plugin that never calls Register would not do so for these, and each would wait for it anew; those to be made.

        One may have no hardware here, and do well not to register: the checks that take it away are made.
        """
        made = [each for each in checks if "no-hardware" in each.hooks]
        for check in () if self._is_over else checks:
            if check not in made:
                self._finish(Outcome(check, Status.SKIPPED, reason=NEVER_REGISTERED))
        return made

    async def _apart(self, checks: Sequence[Check], room: asyncio.Semaphore) -> None:
        """Each on a testbed of its own, as many at once as there is room."""

        async def make(check: Check) -> None:
            async with room:
                if self._is_over:
                    return
                try:
                    async with self._testbed() as testbed:
                        await self._make(check, testbed)
                        self._resources = tuple(sorted({*self._resources, *testbed.resources}))
                except KubeletSimError as error:
                    self._finish(Outcome(check, Status.BROKEN, reason=str(error)))

        async with asyncio.TaskGroup() as group:
            for check in checks:
                group.create_task(make(check))

    def _testbed(self) -> Testbed:
        return Testbed(self._config, self._profile, self._seed)

    async def _make(self, check: Check, testbed: Testbed, notes: tuple[str, ...] = ()) -> None:
        self._listener(Progress(len(self._outcomes), len(self._checks), begun=check))
        await play_check(check, testbed, notes, self._finish)

    def _finish(self, outcome: Outcome) -> None:
        outcome = evolve(outcome, is_known=outcome.check.id in self._known)
        self._outcomes[outcome.check.id] = outcome
        bad = Report(_NOBODY, (outcome,), 0.0, is_strict=self._config.is_strict).bad
        if bad and self._config.fail_fast:
            self._is_over = True
        self._listener(Progress(len(self._outcomes), len(self._checks), outcome=outcome))

    def _tell(self, text: str) -> None:
        self._notes.append(text)
        self._listener(Progress(len(self._outcomes), len(self._checks), text=text))


def _tested(config: SuiteConfig) -> str:
    """What is tested, as a text for people: a command, a function, or a directory that was attached at."""
    if config.start is not None:
        return f"{getattr(config.start, '__qualname__', config.start)} in this process"
    return shlex.join(config.command or config.consumer) or f"attached at {config.attach}"


_NOBODY = About("", "", "", (), 0, Mode.DEFAULT.value, 0.0)
