"""Manifests as they reach a running node, to pods that are new, pods of another size, and pods that are there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from kubelet_sim.core.cpu_provider import is_guaranteed
from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.pods import KnownPod, PodTable
from kubelet_sim.profiles import Profile

_SIZES = ("cpu", "memory")
"""What can be changed of a pod that runs."""


def sorted_out(
    manifests: Sequence[Mapping[str, Any]], known: PodTable, profile: Profile
) -> tuple[list[Pod], list[Pod], tuple[AppliedPod, ...]]:
    """The pods to add, those to resize, with the uid that they have, and what to say of each manifest, in order.

    A manifest equal to that of the pod of its name needs nothing done: applying a file twice is no mistake.

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
        is_resized = before is not None and profile.resizes_in_place and _is_resized(pod, before)
        is_new = not is_resized and not _is_same(pod, before)
        if before is not None and is_resized:
            resized.append(evolve(pod, uid=before.pod.uid))
        if is_new:
            new.append(pod)
        answers.append(AppliedPod(pod.name, pod.namespace, is_new, is_resized))
    return new, resized, tuple(answers)


def _is_same(pod: Pod, known: KnownPod | None) -> bool:
    """Whether the manifests say the same; the uid that was made up for each does not count."""
    return known is not None and pod.manifest == known.pod.manifest


def _is_resized(pod: Pod, known: KnownPod) -> bool:
    """Whether the manifests differ in amounts of cpu and memory, and in nothing else. Rules: DM-114"""
    if known.is_terminal or known.is_deleting or _is_same(pod, known):
        return False
    if _without_sizes(pod.manifest) != _without_sizes(known.pod.manifest):
        return False
    if _quality(pod) != _quality(known.pod):
        text = f"would be {_quality(pod)} instead of {_quality(known.pod)}, which no resize can make of it"
        raise UsageError(f"pod {pod.key} {text}; delete it first, or choose other requests and limits")
    return True


def _without_sizes(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    spec = dict(manifest["spec"])
    spec["containers"] = [_unsized(each) for each in spec.get("containers") or ()]
    spec["initContainers"] = [
        _unsized(each) if each.get("restartPolicy") == "Always" else each for each in spec.get("initContainers") or ()
    ]
    return {**manifest, "spec": spec}


def _unsized(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = dict(container.get("resources") or {})
    for amounts in ("limits", "requests"):
        resources[amounts] = {n: value for n, value in (resources.get(amounts) or {}).items() if n not in _SIZES}
    return {**container, "resources": resources}


def _quality(pod: Pod) -> str:
    """The pod's quality of service, which decides who is ended first when memory runs out."""
    if is_guaranteed(pod):
        return "Guaranteed"
    asks = any(
        name in amounts for each in pod.all_containers() for amounts in (each.requests, each.limits) for name in _SIZES
    )
    return "Burstable" if asks else "BestEffort"
