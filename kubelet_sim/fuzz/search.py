"""Looks for a plan that goes wrong, within a time, and makes it short."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from hypothesis import HealthCheck, Phase, given, seed, settings

from kubelet_sim.fuzz.actions import PLUGIN
from kubelet_sim.fuzz.config import FuzzConfig
from kubelet_sim.fuzz.plan_runs import OutOfTime, PlanFailure, first_look, run
from kubelet_sim.fuzz.plans import Plan, document, first_plans, plans, story_of
from kubelet_sim.fuzz.shrinker import simpler, without_some

Steps = tuple[Mapping[str, Any], ...]
SIMPLE_RUNS = sum(1 for _ in first_plans())
"""How many runs there are before anything is drawn."""


@frozen
class FoundFailure:
    """A story that goes wrong, as short as it was made."""

    document: Mapping[str, Any]
    failure: PlanFailure
    """Of its last step."""
    found_after_s: float
    shrunk_in_s: float = 0.0
    reruns: int = 0
    is_certain: bool = False
    """Whether it went wrong when it was played again, too."""
    is_shortest: bool = False
    """Whether shrinking came to its end."""

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The steps of the story that goes wrong."""
        steps: Sequence[Mapping[str, Any]] = self.document["steps"]
        return steps


@frozen
class SearchResult:
    """What came of a search: how much was tried, and what was found."""

    config: FuzzConfig
    runs: int
    """Those that came to their end, or went wrong."""
    actions: int
    """What happened in them."""
    seconds: float
    found: FoundFailure | None = None
    fleeting: tuple[PlanFailure, ...] = ()
    """What went wrong once, and was right when the same story was played again."""
    was_interrupted: bool = False
    was_cut: bool = False
    """Whether the time was over during one more run, of which nothing is known."""

    @property
    def is_hardly_begun(self) -> bool:
        """Whether not even each thing was tried alone."""
        return self.runs < SIMPLE_RUNS


Progress = Callable[[str], None]


class _TimeOver(BaseException):
    """Ends Hypothesis from inside, which takes an `Exception` for a failure and would play it again."""


def search(config: FuzzConfig, progress: Progress = lambda _: None, news: Progress = lambda _: None) -> SearchResult:
    """Try plans until one goes wrong or the time is over, or until Ctrl-C or SIGTERM; what was found until then is there.

    Call it in the main thread. Raises `TransportError` if the plugin does not register even if nothing happens.

    Args:
        config: what to try, and for how long.
        progress: takes a line for each run.
        news: takes a line when something was found, and shrinking begins.
    """
    return _CrashSearch(config, progress, news).search()


class _CrashSearch:
    def __init__(self, config: FuzzConfig, progress: Progress, news: Progress) -> None:
        self._config = config
        self._progress = progress
        self._news = news
        self._begun_s = time.monotonic()
        self._runs = self._actions = self._reruns = 0
        self._healthy: Mapping[str, int] = {}
        self._fleeting: list[PlanFailure] = []
        self._found: FoundFailure | None = None
        self._shrinks_since_s = 0.0
        self._was_cut = False

    @property
    def _passed_s(self) -> float:
        return time.monotonic() - self._begun_s

    def search(self) -> SearchResult:
        was_interrupted = False
        with _sigterm_as_ctrl_c():
            try:
                self._look_for_one()
            except _TimeOver:
                pass
            except KeyboardInterrupt:
                was_interrupted = True
        found = self._found and evolve(self._found, reruns=self._reruns)
        return SearchResult(
            self._config,
            self._runs,
            self._actions,
            self._passed_s,
            found,
            tuple(self._fleeting),
            was_interrupted,
            self._was_cut,
        )

    def _look_for_one(self) -> None:
        self._healthy = first_look(self._config)
        shown = ", ".join(f"{name} with {count} devices" for name, count in self._healthy.items())
        self._progress(f"the plugin serves {shown}")
        for plan in first_plans():
            self._try(plan[: self._config.longest_plan])
        self._draw()

    def _draw(self) -> None:
        @seed(self._config.seed)
        @settings(
            max_examples=self._config.most_runs,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(plans(self._config))
        def draw(plan: Plan) -> None:
            self._try(plan)

        draw()

    def _try(self, plan: Plan) -> None:
        left_s = self._config.time_s - self._passed_s
        if left_s <= 0 or self._runs >= self._config.most_runs:
            raise _TimeOver
        steps = self._steps_of(plan)
        try:
            failure = run(self._document(steps), self._config, left_s)
        except OutOfTime:
            self._was_cut = True
            raise _TimeOver from None
        self._runs += 1
        self._actions += len(plan)
        self._progress(f"run {self._runs}: {', '.join(map(str, plan))}: {'ok' if failure is None else failure.problem}")
        if failure is not None:
            self._look_again(plan, failure)

    def _look_again(self, plan: Plan, failure: PlanFailure) -> None:
        steps = self._steps_of(plan)
        self._found = FoundFailure(self._document(steps[: failure.index + 1]), failure, self._passed_s)
        again = self._rerun(steps, failure)
        if again is None:
            self._found = None
            self._fleeting.append(failure)
            self._progress("it did not happen again")
            return
        self._keep(steps, again)
        self._news(f"found after {self._found.found_after_s:.0f} s, and it happens again: {again.do}: {again.problem}")
        if self._config.shrink_s:
            self._news(f"making it short: {self._config.shrink_s:g} s at most (Ctrl-C: leave it as it is)")
            self._shrink(plan, again)
        raise _TimeOver

    # --- making it short

    def _shrink(self, plan: Plan, failure: PlanFailure) -> None:
        self._shrinks_since_s = time.monotonic()

        def fails(shorter: Plan) -> bool:
            return self._fails(self._steps_of(shorter), failure)

        plan = without_some(plan, fails, lambda _: False)
        plan = simpler(plan, fails)
        self._progress(f"shortest plan: {', '.join(map(str, plan)) or 'nothing at all'}")
        self._leave_out_steps(failure)
        assert self._found is not None  # noqa: S101 - it is being made short
        spent_s = time.monotonic() - self._shrinks_since_s
        self._found = evolve(self._found, shrunk_in_s=spent_s, is_shortest=spent_s < self._config.shrink_s)

    def _leave_out_steps(self, failure: PlanFailure) -> None:
        """Looks that are not needed are left out, in the end; what was done stays."""
        assert self._found is not None  # noqa: S101 - it is being made short
        steps = tuple(self._found.steps)

        def fails(shorter: Steps) -> bool:
            return self._fails(shorter, failure, is_last=True)

        def keep(step: Mapping[str, Any]) -> bool:
            return step is steps[-1] or step == {"do": "register", "plugin": PLUGIN}

        without_some(steps, fails, keep)

    def _fails(self, steps: Steps, failure: PlanFailure, *, is_last: bool = False) -> bool:
        """Whether these go wrong in the same way, in their last step if that is asked; they are kept if so."""
        left_s = self._shrinking_left_s
        came = self._rerun(steps, failure, left_s) if left_s > 0 else None
        if came is None or (is_last and came.index != len(steps) - 1):
            return False
        self._keep(steps, came)
        return True

    @property
    def _shrinking_left_s(self) -> float:
        return self._shrinks_since_s + self._config.shrink_s - time.monotonic()

    def _rerun(self, steps: Steps, failure: PlanFailure, at_most_s: float = math.inf) -> PlanFailure | None:
        """The failure of these steps if it is of the same sort."""
        self._reruns += 1
        try:
            came = run(self._document(steps), self._config, at_most_s)
        except OutOfTime:
            return None
        return came if came is not None and came.sort == failure.sort else None

    def _keep(self, steps: Steps, failure: PlanFailure) -> None:
        """What was found is this from now on, up to the step that went wrong."""
        assert self._found is not None  # noqa: S101 - it was found before it was played again
        story = self._document(steps[: failure.index + 1])
        self._found = evolve(self._found, document=story, failure=failure, is_certain=True)

    def _steps_of(self, plan: Plan) -> Steps:
        return tuple(story_of(plan, self._config, self._healthy)["steps"])

    def _document(self, steps: Steps) -> Mapping[str, Any]:
        return document(self._config, tuple(self._healthy), steps)


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """While it is open, SIGTERM and the end of the terminal interrupt as Ctrl-C does, in and out of an event loop."""
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, lambda *_: signal.raise_signal(signal.SIGINT)) for each in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
