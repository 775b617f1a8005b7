"""The device plugin for shared RDMA devices (gogo protobuf, grpc-go 1.56) against a node of ours.

It finds its hardware in `/sys` and `/dev`, where it sees a network card that we made up; the card's interface is `lo`, for the
plugin asks the kernel about it and sets it up. The wire, the lists and the watching are its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.response import ContainerSpec, DeviceNode
from kubelet_sim.node.sync import SyncNode
from tests.interop.looking import (
    BUILD_LIMIT_S,
    listed,
    lost,
    pod,
    resource,
    running,
    sockets,
    until,
)
from tests.interop.rdma import RDMA_NODES, RDMA_SHARES, RdmaMachine
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(BUILD_LIMIT_S)

RESOURCE = "rdma/hca"
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def node(make_kubelet: Callable[..., SyncNode]) -> SyncNode:
    """A node on the real clock: the plugin's times are real."""
    return make_kubelet()


@pytest.fixture
def start(
    rdma_shared_device_plugin: Path, start_isolated: Start, node: SyncNode, rdma_machine: RdmaMachine
) -> Callable[[], subprocess.Popen[bytes]]:
    """Start the plugin on the node, in that machine."""
    return lambda: start_isolated(
        rdma_shared_device_plugin,
        Path(node.device_plugin_directory),
        rdma_machine.config,
        shown=rdma_machine.shown,
        environment=rdma_machine.environment,
    )


def test_without_hardware_it_lists_nothing(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """Without a card it registers and lists no device: the resource is there, and a pod for it is turned away.

    Rules: DM-26, DM-51, DM-64
    """
    start()
    until(lambda: any(each.details.get("total") == 0 for each in node.records()), "an empty list")
    found = resource(node.status(), RESOURCE)
    assert (found.devices, found.endpoint) == ((), "live")
    refused = node.admit(pod("one", RESOURCE, 1))
    assert isinstance(refused, Rejected)
    assert refused.reason == "UnexpectedAdmissionError"


def test_every_share_is_the_whole_card(
    node: SyncNode, rdma_card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """Two pods get other ids and the same device nodes, each once however many shares it has; a third pod is refused.

    Rules: DM-90, DM-98, DM-123, DM-125, DM-126
    """
    assert rdma_card.exists()
    start()
    node.wait_for(listed(RESOURCE, RDMA_SHARES), PATIENCE_S)
    wanted = {DeviceNode(path, path, "rwm") for path in RDMA_NODES}
    for name, shares in (("two", 2), ("one", 1)):
        assert node.admit(pod(name, RESOURCE, shares)) == Admitted()
        node.wait_for(running(name), PATIENCE_S)
        spec = node.container_spec(name)
        assert (set(spec.devices), len(spec.devices)) == (wanted, len(wanted))
        assert spec == ContainerSpec(devices=spec.devices)
    refused = node.admit(pod("third", RESOURCE, 1))
    assert isinstance(refused, Rejected)
    assert refused.reason == "UnexpectedAdmissionError"


def test_a_lost_card_empties_the_list(
    node: SyncNode, rdma_card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """A lost card's devices are not listed as unhealthy: the list is empty until it is back; pods keep what they hold.

    Rules: DM-51, DM-69
    """
    start()
    node.wait_for(listed(RESOURCE, RDMA_SHARES), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    held = node.status().allocations
    rdma_card.unlink()
    assert node.wait_for(listed(RESOURCE, 0), PATIENCE_S).allocations == held
    rdma_card.write_text("mlx5_0\n", encoding="utf-8")
    assert node.wait_for(listed(RESOURCE, RDMA_SHARES), PATIENCE_S).allocations == held


def test_the_kubelet_restarts_and_it_comes_back(
    node: SyncNode, rdma_card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """It looks every 5 s whether its socket is there, and serves and registers again when it is not; the pod runs on.

    Rules: DM-8, DM-16, DM-19, DM-110
    """
    assert rdma_card.exists()
    plugin = start()
    node.wait_for(listed(RESOURCE, RDMA_SHARES), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    before = node.wait_for(running("one"), PATIENCE_S)
    node.restart()
    assert resource(node.status(), RESOURCE).endpoint == "placeholder"
    back = node.wait_for(listed(RESOURCE, RDMA_SHARES), PATIENCE_S)
    assert (back.allocations, back.pods) == (before.allocations, before.pods)
    assert plugin.poll() is None


def test_sigterm_takes_its_time_and_cleans_up(
    node: SyncNode, rdma_card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """After SIGTERM it serves until its next look at the socket, removes the socket and exits 0; its devices are lost.

    Rules: DM-42, DM-44
    """
    assert rdma_card.exists()
    plugin = start()
    node.wait_for(listed(RESOURCE, RDMA_SHARES), PATIENCE_S)
    plugin.terminate()
    assert plugin.wait(PATIENCE_S) == 0
    assert resource(node.wait_for(lost(RESOURCE), PATIENCE_S), RESOURCE).unhealthy == RDMA_SHARES
    assert sockets(node.device_plugin_directory) == set()
