"""Plans: what happens in one run, drawn by Hypothesis, and the story that tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from kubelet_sim.fuzz.actions import ONCE, PLUGIN, RESTARTS, SIMPLEST, Action, StoryUnderWay
from kubelet_sim.fuzz.config import FuzzConfig

Plan = tuple[Action, ...]


def plans(config: FuzzConfig) -> st.SearchStrategy[Plan]:
    """Any plan up to the length of the configuration. Pods come and go more often than the rest."""
    which = st.integers(0, 3)
    pods = st.builds(lambda n, w: Action("pod", {"count": n, "which": w}), st.integers(1, 3), which)
    ends = st.builds(lambda w, c: Action("end", {"which": w, "code": c}), which, st.sampled_from((0, 1)))
    deletions = st.builds(lambda w: Action("delete", {"which": w}), which)
    one = st.one_of(
        pods,
        pods,
        ends,
        deletions,
        st.sampled_from([Action("restart", how) for how in RESTARTS]),
        st.builds(lambda kill: Action("plugin-restart", {"kill": True} if kill else {}), st.booleans()),
        st.sampled_from([Action("fault", how) for how in ONCE]),
        st.sampled_from([Action("reboot"), Action("pause")]),
        st.builds(lambda r: Action("refused", {"reason": r}), st.sampled_from(("dial", "options-unavailable"))),
        st.builds(lambda s: Action("time", {"seconds": s}), st.sampled_from((1, 30, 299, 301, 3600))),
    )
    return st.lists(one, min_size=2, max_size=max(2, config.longest_plan)).map(tuple)


def first_plans() -> Iterator[Plan]:
    """Each thing alone, then each twice, with pods around it: most faults need no more."""
    pod, end = Action("pod"), Action("end")
    yield (pod, Action("pod", {"count": 2}), end, pod)
    for action in SIMPLEST[2:]:
        yield (pod, action, end, pod, action)


def story_of(plan: Sequence[Action], config: FuzzConfig, healthy: Mapping[str, int]) -> dict[str, Any]:
    """The story of a plan, as a file would have it."""
    telling = StoryUnderWay(healthy, config.patience_s)
    telling.register()
    telling.look_for_problems()
    for action in plan:
        telling.tell(action)
    return document(config, tuple(healthy), telling.steps)


def document(config: FuzzConfig, resources: Sequence[str], steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document of a story with these steps."""
    plugin: dict[str, Any] = {"command": list(config.command)}
    plugin |= {"env": dict(config.env)} if config.env else {}
    plugin |= {"cwd": config.cwd} if config.cwd is not None else {}
    plugin |= {"isolate": config.isolate} if config.isolate != "auto" else {}
    if resources:
        plugin["ready"] = {"registered": list(resources), "within": f"{config.patience_s:g}s"}
    return {
        "name": f"fuzz-{config.seed}",
        "node": {"runs_containers": True},
        "plugins": {PLUGIN: plugin},
        "steps": list(steps),
    }
