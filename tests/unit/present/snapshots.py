"""A snapshot for tests of the command line, with names that a terminal or a table might trip over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.model.views import (
    AllocationView,
    ContainerView,
    DeviceView,
    NodeSnapshot,
    PluginView,
    PodView,
    ResourceView,
)

NASTY = "[link=http://x]gpu\x1b[31m\u202e0[/link]"
NASTY_SHOWN = r"[link=http://x]gpu\x1b[31m\u202e0[/link]"

NODE: Mapping[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "kubelet-sim", "annotations": {"a": "b"}},
    "status": {
        "capacity": {"cpu": "64", "example.com/gpu": "3"},
        "allocatable": {"cpu": "64", "example.com/gpu": "2"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is ready"}],
        "nodeInfo": {"kubeletVersion": "v1.36.2"},
    },
}

SNAPSHOT = NodeSnapshot(
    kubelet_version="v1.36.2",
    root="/tmp/ks",
    clock="manual",
    now_s=12.5,
    incarnation=2,
    sources_ready=True,
    capacity=(("cpu", "64"), ("example.com/gpu", "3")),
    allocatable=(("cpu", "64"), ("example.com/gpu", "2")),
    resources=(
        ResourceView(
            name="example.com/gpu",
            healthy=2,
            unhealthy=1,
            allocated=1,
            endpoint="live",
            node_capacity="3",
            node_allocatable="2",
            devices=(
                DeviceView("gpu-1", "Healthy", is_healthy=True, is_allocated=False, numa_nodes=(0, 1)),
                DeviceView("gpu-2", "Unhealthy", is_healthy=False, is_allocated=False),
                DeviceView(NASTY, "Healthy", is_healthy=True, is_allocated=True, holders=("default/a/c",)),
            ),
        ),
        ResourceView("example.com/none", 0, 0, 0, "placeholder", None, None),
    ),
    plugins=(
        PluginView(
            client=1,
            resource="example.com/gpu",
            socket_name="gpu.sock",
            socket_path="/tmp/ks/device-plugins/gpu.sock",
            state="live",
            has_stream=True,
            pre_start_required=False,
            get_preferred_allocation_available=True,
            registered_at_s=0.25,
        ),
    ),
    pods=(
        PodView(
            "a",
            "default",
            "uid-a",
            "Running",
            containers=(ContainerView("c", "app", "running", is_ready=True, id="1"),),
        ),
        PodView("b", "other", "uid-b", "Failed", reason="UnexpectedAdmissionError", message="Pod was rejected: why"),
        PodView(
            "c",
            "default",
            "uid-c",
            "Pending",
            containers=(ContainerView("c", "app", "waiting", "CreateContainerConfigError", "no"),),
        ),
    ),
    allocations=(AllocationView("uid-a", "default/a", "c", "example.com/gpu", ((-1, (NASTY,)), (0, ("gpu-1",)))),),
)
