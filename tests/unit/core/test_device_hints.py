from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubelet_sim.core.device_hints import container_hints, pod_hints
from kubelet_sim.core.effects import CallAllocate
from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.core.topology.masks import nodes_of
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.model.pod import Container, Pod
from tests.unit.core.bench import (
    DEV,
    NIC,
    Bench,
    Preferring,
    container,
    dev,
    init,
    pod,
    pod_of,
    sidecar,
    topology,
)

Shown = list[tuple[tuple[int, ...], bool]]


def _shown(hints: Sequence[Hint] | None) -> Shown | None:
    return None if hints is None else [(nodes_of(hint.mask or 0), hint.is_preferred) for hint in hints]


def _hints(bench: Bench, wanted: Pod | int, which: str = "main", resource: str = DEV) -> Shown | None:
    """The hints for a container; a number stands for a pod that wants so many."""
    wanted = pod("p", {DEV: wanted}) if isinstance(wanted, int) else wanted
    found = wanted.container(which)
    assert found is not None
    return _shown(container_hints(bench.manager.context, wanted, found)[resource])


def _pod_hints(bench: Bench, wanted: Pod, resource: str = DEV) -> Shown | None:
    return _shown(pod_hints(bench.manager.context, wanted)[resource])


def _bench(*devices: Device | str, numa: Sequence[int] = (0, 1), policy: str = "best-effort") -> Bench:
    bench = Bench(settings=topology(policy), numa=numa)
    bench.serve(*devices)
    return bench


def _init_has(bench: Bench, *ids: str, also: Sequence[Container] = ()) -> Pod:
    """A pod whose init container has just been allocated these ids; its container `main` wants one."""
    wanted = pod_of("p", init("i", {DEV: len(ids)}), *also, container("main", {DEV: 1}))
    bench.manager.context.order = Preferring(*ids)
    steps = bench.admitting(wanted)
    assert isinstance(steps.effect, CallAllocate)
    assert set(steps.effect.device_ids) == set(ids)
    steps.answer(_ok()).close() if False else _leave_after_first(bench, steps)
    return wanted


PAIR: Shown = [((0,), True), ((1,), True), ((0, 1), False)]
