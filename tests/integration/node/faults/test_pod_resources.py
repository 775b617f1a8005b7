"""Pods that have ended, in the answers of the pod resources API."""

from __future__ import annotations

from kubelet_sim.model.faults import Fault
from tests.integration.node.bench import Bench, RunOnBench, pod


def listed(bench: Bench) -> list[str]:
    """Names of the pods that hooks leave in a list of the active ones."""
    known = [pod("here"), pod("ended"), pod("rejected")]
    return [each.name for each in bench.node.hooks.pods_listed(known[:1], known)]


def test_pods_that_have_ended_are_listed(on_bench: RunOnBench) -> None:
    """All that the kubelet knows, or one of them; until it is undone. Rules: PR-12"""

    async def body(bench: Bench) -> None:
        assert listed(bench) == ["here"]
        fault = await bench.node.inject(Fault("list-ended-pods"))
        assert listed(bench) == ["here", "ended", "rejected"]
        await fault.undo()
        await bench.node.inject(Fault("list-ended-pods", pod="default/rejected"))
        assert listed(bench) == ["here", "rejected"]

    on_bench(body)
