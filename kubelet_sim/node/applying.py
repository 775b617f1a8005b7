"""Manifests as they reach a running node, to pods that are new and pods that are there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.pods import KnownPod, PodTable


def new_pods(manifests: Sequence[Mapping[str, Any]], known: PodTable) -> tuple[list[Pod], tuple[AppliedPod, ...]]:
    """The pods to add, and what to say of each manifest, in order.

    A manifest equal to that of the pod of its name needs nothing done: applying a file twice is no mistake.

    Raises:
        UsageError: a manifest is no pod, or one pod stands there twice.
    """
    there = {known_pod.pod.key: known_pod for known_pod in known}
    pods: list[Pod] = []
    answers: list[AppliedPod] = []
    seen: set[str] = set()
    for manifest in manifests:
        pod = pod_from_mapping(manifest)
        if pod.key in seen:
            raise UsageError(f"pod {pod.key} stands there twice; keep one of the two")
        seen.add(pod.key)
        is_new = not _is_same(pod, there.get(pod.key))
        if is_new:
            pods.append(pod)
        answers.append(AppliedPod(pod.name, pod.namespace, is_new))
    return pods, tuple(answers)


def _is_same(pod: Pod, known: KnownPod | None) -> bool:
    """Whether the manifests say the same; the uid that was made up for each does not count."""
    return known is not None and pod.manifest == known.pod.manifest
