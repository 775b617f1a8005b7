"""The device plugin for shared RDMA devices (gogo protobuf, grpc-go 1.56) against a node of ours.

It finds its hardware in `/sys` and `/dev`, where it sees a network card that we made up; the card's interface is `lo`, for the
plugin asks the kernel about it and sets it up. The wire, the lists and the watching are its own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.response import ContainerSpec, DeviceNode
from kubelet_sim.node.sync import SyncNode
from tests.interop.looking import BUILD_LIMIT_S, PATIENCE_S, listed, lost, pod, resource, running, sockets, until

pytestmark = pytest.mark.timeout(BUILD_LIMIT_S)

RESOURCE = "rdma/hca"
SHARES = 3
CARD = "0000:03:00.0"
NODES = ("issm0", "umad0", "uverbs0", "rdma_cm")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def node(make_kubelet: Callable[..., SyncNode]) -> SyncNode:
    """A node on the real clock: the plugin's times are real."""
    return make_kubelet()


@pytest.fixture
def machine(short_root: Path) -> Path:
    """A machine without hardware, and the plugin's configuration: it looks for changes every second."""
    for name in ("pci", "class", "dev"):
        (short_root / name).mkdir()
    names = "15b3  Mellanox Technologies\n\t1017  MT27800 Family\nC 02  Network controller\n\t00  Ethernet controller\n"
    (short_root / "pci.ids").write_text(names, encoding="utf-8")
    pool = {"resourceName": "hca", "rdmaHcaMax": SHARES, "selectors": {"ifNames": ["lo"]}}
    config = {"periodicUpdateInterval": 1, "configList": [pool]}
    (short_root / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return short_root


@pytest.fixture
def card(machine: Path) -> Path:
    """A network card in that machine; returns the file without which it can do no RDMA."""
    slot = machine / "pci" / CARD
    (slot / "net" / "lo").mkdir(parents=True)
    (slot / "infiniband" / "mlx5_0").mkdir(parents=True)
    (slot / "modalias").write_text("pci:v000015B3d00001017sv000015B3sd00000020bc02sc00i00\n", encoding="utf-8")
    (slot / "driver").symlink_to("/sys/bus/pci/drivers/mlx5_core")
    for place in ("infiniband_mad/issm0", "infiniband_mad/umad0", "infiniband_verbs/uverbs0"):
        (machine / "class" / place).mkdir(parents=True)
        (machine / "class" / place / "ibdev").write_text("mlx5_0\n", encoding="utf-8")
    (machine / "dev" / "infiniband").mkdir()
    (machine / "dev" / "infiniband" / "rdma_cm").touch()
    return machine / "class" / "infiniband_verbs" / "uverbs0" / "ibdev"


@pytest.fixture
def start(
    rdma_shared_device_plugin: Path, start_isolated: Start, node: SyncNode, machine: Path
) -> Callable[[], subprocess.Popen[bytes]]:
    """Start the plugin on the node, in that machine."""
    shown = {"/sys/bus/pci/devices": machine / "pci", "/sys/class": machine / "class", "/dev": machine / "dev"}
    return lambda: start_isolated(
        rdma_shared_device_plugin,
        Path(node.device_plugin_directory),
        str(machine / "config.json"),
        shown=shown,
        environment={"PCIDB_PATH": str(machine / "pci.ids")},
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
    node: SyncNode, card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """Two pods get other ids and the same device nodes, each once however many shares it has; a third pod is refused.

    Rules: DM-90, DM-98, DM-123, DM-125, DM-126
    """
    assert card.exists()
    start()
    node.wait_for(listed(RESOURCE, SHARES), PATIENCE_S)
    wanted = {DeviceNode(f"/dev/infiniband/{name}", f"/dev/infiniband/{name}", "rwm") for name in NODES}
    for name, shares in (("two", 2), ("one", 1)):
        assert node.admit(pod(name, RESOURCE, shares)) == Admitted()
        node.wait_for(running(name), PATIENCE_S)
        spec = node.container_spec(name)
        assert (set(spec.devices), len(spec.devices)) == (wanted, len(wanted))
        assert spec == ContainerSpec(devices=spec.devices)
    refused = node.admit(pod("third", RESOURCE, 1))
    assert isinstance(refused, Rejected)
    assert refused.reason == "UnexpectedAdmissionError"


def test_a_lost_card_empties_the_list(node: SyncNode, card: Path, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """A lost card's devices are not listed as unhealthy: the list is empty until it is back; pods keep what they hold.

    Rules: DM-51, DM-69
    """
    start()
    node.wait_for(listed(RESOURCE, SHARES), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    held = node.status().allocations
    card.unlink()
    assert node.wait_for(listed(RESOURCE, 0), PATIENCE_S).allocations == held
    card.write_text("mlx5_0\n", encoding="utf-8")
    assert node.wait_for(listed(RESOURCE, SHARES), PATIENCE_S).allocations == held


def test_the_kubelet_restarts_and_it_comes_back(
    node: SyncNode, card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """It looks every 5 s whether its socket is there, and serves and registers again when it is not; the pod runs on.

    Rules: DM-8, DM-16, DM-19, DM-110
    """
    assert card.exists()
    plugin = start()
    node.wait_for(listed(RESOURCE, SHARES), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    before = node.wait_for(running("one"), PATIENCE_S)
    node.restart()
    assert resource(node.status(), RESOURCE).endpoint == "placeholder"
    back = node.wait_for(listed(RESOURCE, SHARES), PATIENCE_S)
    assert (back.allocations, back.pods) == (before.allocations, before.pods)
    assert plugin.poll() is None


def test_sigterm_takes_its_time_and_cleans_up(
    node: SyncNode, card: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """After SIGTERM it serves until its next look at the socket, removes the socket and exits 0; its devices are lost.

    Rules: DM-42, DM-44
    """
    assert card.exists()
    plugin = start()
    node.wait_for(listed(RESOURCE, SHARES), PATIENCE_S)
    plugin.terminate()
    assert plugin.wait(PATIENCE_S) == 0
    assert resource(node.wait_for(lost(RESOURCE), PATIENCE_S), RESOURCE).unhealthy == SHARES
    assert sockets(node.device_plugin_directory) == set()
