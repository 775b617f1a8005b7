"""The sample device plugin of Kubernetes against a node of ours: nobody of us wrote it, and it does not know us.

It has the kubelet's directory compiled in, registers once, watches `kubelet.sock` and waits 10 s before it registers again.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec, Mount
from kubelet_sim.model.views import NodeSnapshot, ResourceView
from kubelet_sim.node.sync import SyncNode
from tests.interop.looking import SAMPLE_DEVICES, SAMPLE_FOLDER, sockets
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.whole, pytest.mark.timeout(960)]

RESOURCE = "example.com/resource"
Start = Callable[[Path, Path], "subprocess.Popen[bytes]"]


@pytest.fixture
def node(make_kubelet: Callable[..., SyncNode]) -> SyncNode:
    """A node on the real clock: the plugin's times are real."""
    return make_kubelet()


@pytest.fixture
def plugin(sample_device_plugin: Path, start_isolated: Start, node: SyncNode) -> subprocess.Popen[bytes]:
    """The plugin, started on the node."""
    return start_isolated(sample_device_plugin, Path(node.device_plugin_directory))


def _resource(snapshot: NodeSnapshot) -> ResourceView | None:
    return next((each for each in snapshot.resources if each.name == RESOURCE), None)


def _listed(count: int) -> Callable[[NodeSnapshot], bool]:
    def holds(snapshot: NodeSnapshot) -> bool:
        found = _resource(snapshot)
        return found is not None and found.healthy == count

    return holds


def _pod(name: str, devices: int) -> Pod:
    container = {"name": "main", "image": "busybox", "resources": {"limits": {RESOURCE: devices}}}
    metadata = {"name": name, "uid": f"uid-{name}"}
    return pod_from_mapping(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    )


def test_a_pod_gets_what_the_plugin_answers(node: SyncNode, plugin: subprocess.Popen[bytes]) -> None:
    """The plugin registers and lists; a pod for both devices is admitted, and its container gets both mounts.

    Rules: DM-21, DM-26, DM-51, DM-90, DM-98, DM-123, DM-126
    """
    snapshot = node.wait_for(_listed(2), PATIENCE_S)
    found = _resource(snapshot)
    assert found is not None
    assert tuple(device.id for device in found.devices) == SAMPLE_DEVICES
    assert node.admit(_pod("both", 2)) == Admitted()
    node.wait_for(lambda now: now.pods[0].phase == "Running", PATIENCE_S)
    spec = node.container_spec("both")
    files = {str(SAMPLE_FOLDER / device) for device in SAMPLE_DEVICES}
    assert set(spec.mounts) == {Mount(path, path, read_only=False) for path in files}
    assert spec == ContainerSpec(mounts=spec.mounts)
    refused = node.admit(_pod("third", 1))
    assert isinstance(refused, Rejected)
    assert refused.reason == "UnexpectedAdmissionError"


def test_the_plugin_is_killed_and_comes_back(
    node: SyncNode, plugin: subprocess.Popen[bytes], start_isolated: Start, sample_device_plugin: Path
) -> None:
    """A killed plugin's devices turn unhealthy at once, a pod keeps its own, and a new process makes them healthy again.

    Rules: DM-42, DM-44, DM-48, DM-57, DM-69
    """
    node.wait_for(_listed(2), PATIENCE_S)
    assert node.admit(_pod("one", 1)) == Admitted()
    held = node.status().allocations
    plugin.send_signal(signal.SIGKILL)
    lost = node.wait_for(_listed(0), PATIENCE_S)
    found = _resource(lost)
    assert found is not None
    assert (found.unhealthy, found.endpoint) == (2, "stopped")
    start_isolated(sample_device_plugin, Path(node.device_plugin_directory))
    back = node.wait_for(_listed(2), PATIENCE_S)
    assert back.allocations == held


def test_the_kubelet_restarts_and_the_plugin_comes_back(node: SyncNode, plugin: subprocess.Popen[bytes]) -> None:
    """After a restart the resource is there with no devices until the plugin has registered again; the pod runs on.

    Rules: DM-16, DM-17, DM-19, DM-110, DM-112
    """
    node.wait_for(_listed(2), PATIENCE_S)
    assert node.admit(_pod("one", 1)) == Admitted()
    before = node.wait_for(lambda now: now.pods[0].phase == "Running", PATIENCE_S)
    node.restart()
    found = _resource(node.status())
    assert found is not None
    assert (found.healthy, found.unhealthy, found.endpoint) == (0, 0, "placeholder")
    back = node.wait_for(_listed(2), PATIENCE_S)
    assert back.allocations == before.allocations
    assert back.pods == before.pods
    assert plugin.poll() is None


def test_sigterm_removes_the_socket(node: SyncNode, plugin: subprocess.Popen[bytes]) -> None:
    """After SIGTERM it removes its socket and exits 0; its devices turn unhealthy.

    Rules: DM-42, DM-44
    """
    node.wait_for(_listed(2), PATIENCE_S)
    plugin.terminate()
    assert plugin.wait(PATIENCE_S) == 0
    found = _resource(node.wait_for(_listed(0), PATIENCE_S))
    assert found is not None
    assert (found.unhealthy, found.endpoint) == (2, "stopped")
    assert sockets(node.device_plugin_directory) == set()
