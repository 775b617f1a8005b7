"""The example plugin of the Rust crate k8s-device-plugin-lib (tonic 0.14) against a node of ours.

It says nothing about options in Register, and wants both optional calls when it is asked. It takes the end of the stream
for the end of the kubelet, registers again at once, and keeps the socket that the new kubelet has just swept away.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.response import ContainerSpec, DeviceNode
from kubelet_sim.node.sync import SyncNode
from tests.interop.looking import BUILD_LIMIT_S, listed, lost, pod, resource, running, sockets
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.whole, pytest.mark.timeout(BUILD_LIMIT_S)]

RESOURCE = "example.com/widget"
WIDGETS = ("widget-0", "widget-1")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def node(make_kubelet: Callable[..., SyncNode]) -> SyncNode:
    """A node on the real clock: the plugin's times are real."""
    return make_kubelet()


@pytest.fixture
def start(widget_plugin: Path, start_isolated: Start, node: SyncNode) -> Callable[[], subprocess.Popen[bytes]]:
    """Start the plugin on the node."""
    return lambda: start_isolated(widget_plugin, Path(node.device_plugin_directory))


def test_options_are_asked_for(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """Options that Register leaves out are learnt from GetDevicePluginOptions.

    Rules: DM-26, DM-28
    """
    start()
    snapshot = node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert [(each.pre_start_required, each.get_preferred_allocation_available) for each in snapshot.plugins] == [
        (True, True)
    ]


def test_a_pod_gets_nodes_and_an_environment(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """A pod for both devices is admitted and gets what the plugin answers; a pod for a third one is not.

    Rules: DM-90, DM-98, DM-123, DM-126
    """
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert node.admit(pod("both", RESOURCE, 2)) == Admitted()
    node.wait_for(running("both"), PATIENCE_S)
    spec = node.container_spec("both")
    assert set(spec.devices) == {DeviceNode(f"/dev/{widget}", f"/dev/{widget}", "rw") for widget in WIDGETS}
    [(name, value)] = spec.envs
    assert (name, sorted(value.split(","))) == ("EXAMPLE_WIDGET_DEVICES", list(WIDGETS))
    assert spec == ContainerSpec(envs=spec.envs, devices=spec.devices)
    refused = node.admit(pod("third", RESOURCE, 1))
    assert isinstance(refused, Rejected)
    assert refused.reason == "UnexpectedAdmissionError"


def test_it_registers_again_without_a_socket(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """After a restart of the kubelet Register fails, as the plugin's socket was swept; only a new process helps.

    Rules: DM-8, DM-40, DM-110
    """
    plugin = start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    before = node.wait_for(running("one"), PATIENCE_S)
    node.restart()
    after = node.wait_for(lambda now: any(each.state == "failed" for each in now.plugins), PATIENCE_S)
    found = resource(after, RESOURCE)
    assert (found.healthy, found.unhealthy, found.endpoint) == (0, 0, "placeholder")
    assert sockets(node.device_plugin_directory) == set()
    assert plugin.poll() is None
    plugin.terminate()
    assert plugin.wait(PATIENCE_S) == -signal.SIGTERM
    start()
    back = node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert (back.allocations, back.pods) == (before.allocations, before.pods)


def test_sigterm_leaves_the_socket(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """SIGTERM kills it, its socket stays, its devices turn unhealthy; the next process takes the socket's place.

    Rules: DM-42, DM-44, DM-57
    """
    plugin = start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    plugin.terminate()
    assert plugin.wait(PATIENCE_S) == -signal.SIGTERM
    assert resource(node.wait_for(lost(RESOURCE), PATIENCE_S), RESOURCE).unhealthy == len(WIDGETS)
    assert len(sockets(node.device_plugin_directory)) == 1
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert len(sockets(node.device_plugin_directory)) == 1
