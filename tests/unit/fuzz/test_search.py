"""Searching and making short, with runs that are made up."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import define, field

from kubelet_sim.fuzz import FuzzConfig, search
from kubelet_sim.fuzz.plan_runs import OutOfTime, PlanFailure
from kubelet_sim.fuzz.story_file import story_text

SEARCH = sys.modules["kubelet_sim.fuzz.search"]
A_RUN_S = 10.0
CONFIG = FuzzConfig(command=("./p",), time_s=1000.0, shrink_s=1000.0)


@define
class Runs:
    """Runs of ten seconds each; a story goes wrong at its first step of that verb."""

    wrong: str
    at_run: Mapping[int, Callable[[], Any]] = field(factory=dict)
    """What happens in which run, counted from 1."""
    now_s: float = 0.0
    limits_s: list[float] = field(factory=list)

    def monotonic(self) -> float:
        """The time."""
        return self.now_s

    def run(self, document: Mapping[str, Any], _: FuzzConfig, at_most_s: float) -> PlanFailure | None:
        """Play it."""
        self.limits_s.append(at_most_s)
        self.now_s += min(A_RUN_S, at_most_s)
        self.at_run.get(len(self.limits_s), lambda: None)()
        verbs = [step["do"] for step in document["steps"]]
        if at_most_s < A_RUN_S:
            raise OutOfTime
        if self.wrong not in verbs:
            return None
        return PlanFailure(verbs.index(self.wrong), self.wrong, "it is wrong")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Runs]:
    """Runs that the search has from now on."""

    def make(*given: Any) -> Runs:
        made = Runs(*given)
        monkeypatch.setattr(SEARCH, "run", made.run)
        monkeypatch.setattr(SEARCH, "time", made)
        monkeypatch.setattr(SEARCH, "first_look", lambda _: {"example.com/a": 2})
        return made

    return make


def interrupt(number: signal.Signals) -> Callable[[], None]:
    """Send it to this process."""
    return lambda: signal.raise_signal(number)


def verbs(found: Any) -> list[str]:
    """Those of the story."""
    return [step["do"] for step in found.steps]


def test_what_goes_wrong_is_made_short(runs: Callable[..., Runs]) -> None:
    """Said before it begins; in the end nothing can be left out."""
    runs("delete-pod")
    said: list[str] = []
    searched = search(CONFIG, news=said.append)
    assert searched.found is not None
    assert searched.found.is_certain
    assert searched.found.is_shortest
    assert verbs(searched.found) == ["register", "delete-pod"]
    assert said[0] == f"found after {searched.found.found_after_s:.0f} s, and it happens again: delete-pod: it is wrong"
    assert said[1].startswith("making it short: 1000 s at most")


def test_shrinking_has_its_own_end(runs: Callable[..., Runs]) -> None:
    """A run that would go on after it is ended, and what was short by then is what was found."""
    made = runs("signal")
    searched = search(FuzzConfig(command=("./p",), time_s=1000.0, shrink_s=25.0))
    found = searched.found
    assert found is not None
    assert (found.is_certain, found.is_shortest, found.shrunk_in_s) == (True, False, 25.0)
    assert made.limits_s[-3:] == [25.0, 15.0, 5.0]
    assert verbs(found)[-1] == "signal"
    assert found.reruns == 4


def test_the_search_has_its_own_end(runs: Callable[..., Runs]) -> None:
    """A run that would go on after it is ended, which is told; it does not count, as nothing is known of it."""
    made = runs("nothing")
    searched = search(FuzzConfig(command=("./p",), time_s=25.0))
    assert (searched.found, searched.runs, made.limits_s, searched.seconds) == (None, 2, [25.0, 15.0, 5.0], 25.0)
    assert searched.was_cut
    assert searched.is_hardly_begun
    assert search(FuzzConfig(command=("./p",), time_s=20.0)).was_cut is False
    assert search(FuzzConfig(command=("./p",), time_s=1000.0)).is_hardly_begun is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_keeps_what_was_found(runs: Callable[..., Runs], number: signal.Signals) -> None:
    """While it is made short: as short as it is by then. Handlers of signals are as before in the end."""
    before = signal.getsignal(number)
    made = runs("admit", {3: interrupt(number)})
    searched = search(CONFIG)
    assert searched.was_interrupted
    assert searched.found is not None
    assert searched.found.is_certain
    assert not searched.found.is_shortest
    assert verbs(searched.found)[-1] == "admit"
    assert len(made.limits_s) == 3
    assert signal.getsignal(number) == before


def test_an_interruption_keeps_what_is_not_certain(runs: Callable[..., Runs]) -> None:
    """Before it was played again; the story says so."""
    runs("admit", {2: interrupt(signal.SIGTERM)})
    searched = search(CONFIG)
    assert searched.found is not None
    assert not searched.found.is_certain
    assert "(seen once)" in story_text(searched)


def test_a_run_that_was_interrupted_does_not_count(runs: Callable[..., Runs]) -> None:
    """The search is over, and the run that was ended by it is not counted."""
    runs("nothing", {2: interrupt(signal.SIGINT)})
    searched = search(CONFIG)
    assert (searched.found, searched.was_interrupted, searched.runs) == (None, True, 1)


def test_what_does_not_go_wrong_again_is_no_finding(runs: Callable[..., Runs]) -> None:
    """It is told, and the search goes on."""
    made = runs("admit")
    made.at_run = {2: lambda: setattr(made, "wrong", "nothing")}
    searched = search(FuzzConfig(command=("./p",), time_s=55.0))
    assert (searched.found, [each.do for each in searched.fleeting]) == (None, ["admit"])
