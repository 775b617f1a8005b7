"""Plans, the stories that they become, and making them short: without a node."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubelet_sim.fuzz.actions import KINDS, SIMPLEST, Action
from kubelet_sim.fuzz.config import FuzzConfig
from kubelet_sim.fuzz.plans import Plan, first_plans, plans, story_of
from kubelet_sim.fuzz.shrinker import simpler, without_some
from kubelet_sim.scenario.record.recorder import flow_text
from kubelet_sim.scenario.story.story_reader import read_stories, story_from_mapping

CONFIG = FuzzConfig(command=("./p", "{dir}"), resources=("example.com/a",))
HEALTHY = {"example.com/a": 2, "example.com/b": 1}


@given(plans(CONFIG))
@settings(max_examples=50, deadline=None)
def test_every_plan_is_a_story(plan: Plan) -> None:
    """It can be read, also when it was written as YAML, and nobody is asked for more devices than are free."""
    document = story_of(plan, CONFIG, HEALTHY)
    story = story_from_mapping(document)
    assert read_stories(flow_text(document), "f")[0].steps == story.steps
    used = 0
    for step in story.steps:
        if step.do == "admit":
            used += 1
        elif step.do in {"exit", "delete-pod"}:
            used -= 1
        assert 0 <= used <= sum(HEALTHY.values())


def test_everything_that_may_happen_is_tried_first() -> None:
    """Each kind of thing is in the plans that are not drawn, but for those that need a pod to begin with."""
    tried = {action.kind for plan in first_plans() for action in plan}
    assert tried == {*KINDS} - {"delete"}
    assert {action.kind for action in SIMPLEST} == tried - {"end"}


def test_a_pod_that_has_to_run_has_the_plugins_patience() -> None:
    """As everything that waits in real time."""
    config = FuzzConfig(command=("./p",), patience_s=4.0)
    steps = story_of([Action("pod"), Action("end")], config, HEALTHY)["steps"]
    assert [step["within"] for step in steps if step["do"] == "wait"] == ["4s"]


@given(st.lists(st.integers(0, 20), min_size=1), st.sets(st.integers(0, 20), max_size=3))
def test_what_is_not_needed_is_left_out(items: list[int], needed: set[int]) -> None:
    """One of each that is needed stays, in order, and no more."""

    def fails(some: tuple[int, ...]) -> bool:
        return needed & set(items) <= set(some)

    left = without_some(items, fails, lambda _: False)
    assert sorted(left) == sorted(needed & set(items))


def test_actions_get_simpler() -> None:
    """Arguments go one by one, the name of a fault stays."""
    plan = (Action("pod", {"count": 3, "which": 1}), Action("fault", {"fault": "cut-stream", "count": 1}))
    assert simpler(plan, lambda some: some[0].given.get("count") == 3) == (
        Action("pod", {"count": 3}),
        Action("fault", {"fault": "cut-stream"}),
    )
    assert simpler(plan, lambda _: False) == plan
