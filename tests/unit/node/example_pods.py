"""Pods for tests of what becomes of their containers, and a runtime that is brought where a test wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.ids import ContainerName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.node.pods.simulated_runtime import RuntimeContainer, SimulatedRuntime


def manifest_pod(
    *names: str,
    init: Sequence[str] = (),
    sidecars: Sequence[str] = (),
    policy: str = "Always",
    annotations: Mapping[str, str] | None = None,
    limits: Mapping[str, int] | None = None,
    name: str = "p",
    **spec: Any,
) -> Pod:
    """A pod with these app containers, and init containers in front of which sidecars stand."""
    resources = {"resources": {"limits": dict(limits)}} if limits else {}
    before = [{"name": each, "restartPolicy": "Always"} for each in sidecars] + [{"name": each} for each in init]
    return pod_from_mapping(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name, "annotations": dict(annotations or {})},
            "spec": {
                "restartPolicy": policy,
                "initContainers": before,
                "containers": [{"name": each, **resources} for each in names or ("main",)],
                **spec,
            },
        }
    )


def brought_to(pod: Pod, ends: Mapping[str, int | None]) -> SimulatedRuntime:
    """A runtime with these containers of the pod: by name, what each has ended with, `None` for one that runs."""
    runtime = SimulatedRuntime()
    runtime.open_sandbox(pod)
    for name, code in ends.items():
        held = started(runtime, pod, name)
        if code is not None:
            runtime.end(held, code, 2.0)
    return runtime


def started(runtime: SimulatedRuntime, pod: Pod, name: str, at_s: float = 1.0) -> RuntimeContainer:
    """The next attempt at a container, which runs."""
    held = runtime.create(pod, container(pod, name), None, at_s)
    runtime.start(held, at_s)
    return held


def container(pod: Pod, name: str) -> Container:
    """The container of that name."""
    return pod.named_container(ContainerName(name))
