"""What the tests of other people's plugins look at, and the pods they ask with."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.views import NodeSnapshot, ResourceView
from tests.patience import PATIENCE_S

SAMPLE_DEVICES = ("Dev-1", "Dev-2")
"""What the sample device plugin of Kubernetes lists."""
SAMPLE_FOLDER = Path("/tmp")
"""Where it writes a file for each device that it grants."""
BUILD_LIMIT_S = 960
"""A test's limit when it may be the one that builds the plugin."""
Condition = Callable[[NodeSnapshot], bool]


def resource(snapshot: NodeSnapshot, name: str) -> ResourceView:
    """The resource of that name, which has to be there."""
    return next(each for each in snapshot.resources if each.name == name)


def listed(name: str, count: int) -> Condition:
    """Whether a resource has that many healthy devices, and no others."""

    def holds(snapshot: NodeSnapshot) -> bool:
        return any((each.name, each.healthy, each.unhealthy) == (name, count, 0) for each in snapshot.resources)

    return holds


def lost(name: str) -> Condition:
    """Whether a resource's plugin is gone and all its devices count as unhealthy."""

    def holds(snapshot: NodeSnapshot) -> bool:
        return any((each.name, each.healthy, each.endpoint) == (name, 0, "stopped") for each in snapshot.resources)

    return holds


def running(name: str) -> Condition:
    """Whether a pod runs."""
    return lambda snapshot: any((pod.name, pod.phase) == (name, "Running") for pod in snapshot.pods)


def pod(name: str, resource_name: str, devices: int) -> Pod:
    """A pod with one container that asks for so many devices."""
    container = {"name": "main", "image": "busybox", "resources": {"limits": {resource_name: devices}}}
    metadata = {"name": name, "uid": f"uid-{name}"}
    return pod_from_mapping(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    )


def sockets(directory: str) -> set[str]:
    """The names of the plugins' sockets in a directory, whether somebody listens on them or not."""
    return {path.name for path in Path(directory).iterdir() if path.is_socket()} - {"kubelet.sock"}


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for what no event tells us: something that a plugin does on its own."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"did not come in {PATIENCE_S:.0f} s: {what}"
        time.sleep(0.05)
