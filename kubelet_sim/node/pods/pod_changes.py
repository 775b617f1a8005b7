"""Manifests as they reach a running node, to pods that are new, pods of another size, and pods that are there already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.api_objects.new_pod import SIZES, quality_of_service
from kubelet_sim.node.pods.pod_table import KnownPod, PodTable
from kubelet_sim.profiles import Profile


def sorted_out(
    manifests: Sequence[Mapping[str, Any]], known: PodTable, profile: Profile
) -> tuple[list[Pod], list[Pod], tuple[AppliedPod, ...]]:
    """The pods to add, those to resize, with the uid that they have, and what to say of each manifest, in order.

    A manifest that says what the last one of that pod said needs nothing done, whether the pod has those amounts or was
    refused them: applying a file twice is no mistake.

    Raises:
        UsageError: a manifest is no pod, one pod stands there twice, or a resize is none that an API server takes.

    Rules: DM-114, DM-178
    """
    there = {known_pod.pod.key: known_pod for known_pod in known}
    new: list[Pod] = []
    resized: list[Pod] = []
    answers: list[AppliedPod] = []
    seen: set[str] = set()
    for manifest in manifests:
        pod = pod_from_mapping(manifest)
        if pod.key in seen:
            raise UsageError(f"pod {pod.key} stands there twice; keep one of the two")
        seen.add(pod.key)
        before = there.get(pod.key)
        is_same = before is not None and _is_same(pod, before.desired)
        is_resized = not is_same and before is not None and profile.resizes_in_place and _is_resized(pod, before)
        is_new = not is_same and not is_resized
        if before is not None and is_resized:
            resized.append(evolve(pod, uid=before.pod.uid))
        if is_new:
            new.append(pod)
        answers.append(AppliedPod(pod.name, pod.namespace, is_new, is_resized))
    return new, resized, tuple(answers)


def _is_same(pod: Pod, before: Pod) -> bool:
    """Whether two manifests say the same, however amounts are written; uids that were made up do not count."""
    return _is_same_but_amounts(pod, before) and all(
        _amounts(mine) == _amounts(its) for mine, its in _pairs(pod, before)
    )


def _is_resized(pod: Pod, known: KnownPod) -> bool:
    """Whether manifests that differ do so in amounts of cpu and memory only, and may. Rules: DM-114"""
    before = known.desired
    if known.is_terminal or known.is_deleting or not _is_same_but_amounts(pod, before):
        return False
    if any(_fixed_amounts(mine) != _fixed_amounts(its) for mine, its in _pairs(pod, before)):
        return False
    for mine, its in _pairs(pod, before):
        _check_nothing_removed(pod, mine, its)
    if quality_of_service(pod) != quality_of_service(before):
        text = f"would be {quality_of_service(pod)} instead of {quality_of_service(before)}, which no resize can make of it"
        raise UsageError(f"pod {pod.key} {text}; delete it first, or choose other requests and limits")
    return True


def _check_nothing_removed(pod: Pod, mine: Container, its: Container) -> None:
    """An amount can be changed, not taken away. Rules: DM-114"""
    for what, now, before in (("limits", mine.limits, its.limits), ("requests", mine.requests, its.requests)):
        gone = " and ".join(name for name in SIZES if name in before and name not in now)
        if gone:
            text = f"pod {pod.key}: resource {what} cannot be removed ({gone} of container {mine.name})"
            raise UsageError(f"{text}; delete the pod first, or keep them")


def _pairs(pod: Pod, before: Pod) -> Iterator[tuple[Container, Container]]:
    """Containers of two pods that are the same but for amounts."""
    return zip(pod.all_containers(), before.all_containers(), strict=True)


def _amounts(container: Container) -> tuple[Mapping[str, Quantity], Mapping[str, Quantity]]:
    return container.limits, container.requests


def _fixed_amounts(container: Container) -> list[dict[str, Quantity]]:
    """What no resize changes: nothing of an init container, cpu and memory of all others."""
    changing = () if container.kind is ContainerKind.INIT else SIZES
    return [{name: each for name, each in amounts.items() if name not in changing} for amounts in _amounts(container)]


def _is_same_but_amounts(pod: Pod, before: Pod) -> bool:
    return _without_amounts(pod.manifest) == _without_amounts(before.manifest)


def _without_amounts(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = dict(manifest.get("spec") or {})  # A pod that was added as a value has no manifest.
    for kind in ("containers", "initContainers"):
        spec[kind] = [_without_limits(each) for each in spec.get(kind) or ()]
    return {**manifest, "spec": spec}


def _without_limits(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    rest = {name: value for name, value in resources.items() if name not in {"limits", "requests"}}
    return {**container, "resources": rest}
