"""Looks for a plan that goes wrong, within a time, and makes it short."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from hypothesis import HealthCheck, Phase, given, seed, settings

from kubelet_sim.fuzz.actions import PLUGIN
from kubelet_sim.fuzz.config import FuzzConfig
from kubelet_sim.fuzz.plans import Plan, document, first_plans, plans, story_of
from kubelet_sim.fuzz.running import Failure, first_look, run
from kubelet_sim.fuzz.shrinking import simpler, without_some


@frozen
class Found:
    """A story that goes wrong, made short."""

    document: Mapping[str, Any]
    failure: Failure
    """Of its last step."""
    found_after_s: float
    shrunk_in_s: float
    reruns: int

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """Those of the story."""
        steps: Sequence[Mapping[str, Any]] = self.document["steps"]
        return steps


@frozen
class Searched:
    """What came of a search."""

    config: FuzzConfig
    runs: int
    actions: int
    seconds: float
    found: Found | None = None
    fleeting: tuple[Failure, ...] = ()
    """What went wrong once, and was right when the same story was played again."""


Progress = Callable[[str], None]


class _Over(BaseException):
    """Ends Hypothesis from inside, which takes an `Exception` for a failure and would play it again."""


def search(config: FuzzConfig, progress: Progress = lambda _: None) -> Searched:
    """Try plans until one goes wrong or the time is over. Call it in the main thread.

    Raises `TransportError` if the plugin does not register even if nothing happens.
    """
    return _Search(config, progress).search()


class _Search:
    def __init__(self, config: FuzzConfig, progress: Progress) -> None:
        self._config = config
        self._progress = progress
        self._begun_s = time.monotonic()
        self._runs = self._actions = self._reruns = 0
        self._healthy: Mapping[str, int] = {}
        self._fleeting: list[Failure] = []
        self._found: Found | None = None
        self._shrink_until_s = 0.0

    @property
    def _passed_s(self) -> float:
        return time.monotonic() - self._begun_s

    def search(self) -> Searched:
        self._healthy = first_look(self._config)
        shown = ", ".join(f"{name} with {count} devices" for name, count in self._healthy.items())
        self._progress(f"the plugin serves {shown}")
        try:
            for plan in first_plans():
                self._try(plan[: self._config.longest_plan])
            self._draw()
        except _Over:
            pass
        return Searched(self._config, self._runs, self._actions, self._passed_s, self._found, tuple(self._fleeting))

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
        if self._passed_s >= self._config.time_s or self._runs >= self._config.most_runs:
            raise _Over
        self._runs += 1
        self._actions += len(plan)
        failure = run(story_of(plan, self._config, self._healthy), self._config)
        self._progress(f"run {self._runs}: {', '.join(map(str, plan))}: {'ok' if failure is None else failure.problem}")
        if failure is not None:
            self._look_again(plan, failure)

    def _look_again(self, plan: Plan, failure: Failure) -> None:
        found_after_s = self._passed_s
        self._shrink_until_s = time.monotonic() + max(self._config.time_s, 60.0)
        again = self._again(plan, failure)
        if again is None:
            self._fleeting.append(failure)
            self._progress("it did not happen again")
            return
        begun_s = time.monotonic()
        found = self._shrunk(plan, again)
        self._found = evolve(found, found_after_s=found_after_s, shrunk_in_s=time.monotonic() - begun_s)
        raise _Over

    # --- making it short

    def _again(self, plan: Plan, failure: Failure) -> Failure | None:
        """The failure of a plan if it is of the same sort."""
        return self._rerun(story_of(plan, self._config, self._healthy), failure)

    def _rerun(self, story: Mapping[str, Any], failure: Failure) -> Failure | None:
        self._reruns += 1
        came = run(story, self._config)
        return came if came is not None and came.sort == failure.sort else None

    def _shrunk(self, plan: Plan, failure: Failure) -> Found:
        def fails(shorter: Plan) -> bool:
            return self._has_time() and self._again(shorter, failure) is not None

        plan = without_some(plan, fails, lambda _: False)
        plan = simpler(plan, fails)
        self._progress(f"shortest plan: {', '.join(map(str, plan)) or 'nothing at all'}")
        steps = story_of(plan, self._config, self._healthy)["steps"]
        last = self._again(plan, failure) or failure
        steps = self._with_fewer_steps(steps[: last.index + 1], last)
        story = document(self._config, tuple(self._healthy), steps)
        final = self._rerun(story, last) or evolve(last, index=len(steps) - 1)
        return Found(story, final, 0.0, 0.0, self._reruns)

    def _with_fewer_steps(self, steps: list[dict[str, Any]], failure: Failure) -> list[dict[str, Any]]:
        """Looks that are not needed are left out, in the end; what was done stays."""
        last = steps[-1]

        def fails(shorter: tuple[dict[str, Any], ...]) -> bool:
            if not self._has_time():
                return False
            came = self._rerun(document(self._config, tuple(self._healthy), shorter), failure)
            return came is not None and came.index == len(shorter) - 1

        def keep(step: dict[str, Any]) -> bool:
            return step is last or step == {"do": "register", "plugin": PLUGIN}

        return list(without_some(steps, fails, keep))

    def _has_time(self) -> bool:
        return time.monotonic() < self._shrink_until_s
