"""The example plugin of the Rust crate generic-device-plugin (tonic 0.11) against a node of ours.

Its devices are the names in `/dev` that begin with `mock`, looked up every 5 s. It watches its own socket: when that goes, it
means to serve and register anew, once, at once, and does not always get to it.
"""

from __future__ import annotations

import itertools
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.container import KubeletContext, container_config
from kubelet_sim.container.observed_container import comparisons
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.response import ContainerSpec, DeviceNode
from kubelet_sim.node.oci.bundle import kubelet_root, new_directory, write_bundle
from kubelet_sim.node.oci.oci_runtime import CannotRun, run_probed
from kubelet_sim.node.sync import SyncNode
from tests.interop.looking import BUILD_LIMIT_S, listed, lost, pod, resource, running, sockets, until
from tests.patience import PATIENCE_S
from tests.unit.container.parts import NULL, FakeHost, check_oci

pytestmark = [pytest.mark.whole, pytest.mark.timeout(BUILD_LIMIT_S)]

RESOURCE = "mock.org/mock"
SOCKET = "mock.sock"
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def node(make_kubelet: Callable[..., SyncNode]) -> SyncNode:
    """A node on the real clock: the plugin's times are real."""
    return make_kubelet()


@pytest.fixture
def devices(short_root: Path) -> Path:
    """What the plugin sees as `/dev`: two devices of its own, and one of others."""
    for name in ("mock0", "mock1", "null"):
        (short_root / name).touch()
    return short_root


@pytest.fixture
def start(
    mock_plugin: Path, start_isolated: Start, node: SyncNode, devices: Path
) -> Callable[[], subprocess.Popen[bytes]]:
    """Start the plugin on the node."""
    return lambda: start_isolated(mock_plugin, Path(node.device_plugin_directory), shown={"/dev": devices})


def test_a_pod_gets_a_device_to_read(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """A pod for one device gets its node with the permissions as the plugin gave them; a pod for two more is refused.

    Rules: DM-90, DM-98, DM-123, DM-126
    """
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    node.wait_for(running("one"), PATIENCE_S)
    [held] = [each.id for each in resource(node.status(), RESOURCE).devices if each.is_allocated]
    assert node.container_spec("one") == ContainerSpec(devices=(DeviceNode(f"/dev/{held}", f"/dev/{held}", "r"),))
    refused = node.admit(pod("two", RESOURCE, 2))
    assert isinstance(refused, Rejected)
    assert refused.reason == "UnexpectedAdmissionError"


@pytest.mark.runtime
def test_a_container_sees_its_device(
    node: SyncNode, start: Callable[[], subprocess.Popen[bytes]], short_root: Path
) -> None:
    """Really started, the container has the node that the plugin granted; /dev/null stands for the mock on the host.

    Rules: DM-126
    """
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    assert node.admit(pod("one", RESOURCE, 1)) == Admitted()
    node.wait_for(running("one"), PATIENCE_S)
    share = node.container_spec("one")
    place = new_directory(short_root / "bundle")
    around = KubeletContext(kubelet_root=kubelet_root(place))
    config = container_config(pod("one", RESOURCE, 1), "main", share, around)
    bundle = write_bundle(config, place, FakeHost({f"/dev/mock{number}": NULL for number in range(2)}))
    check_oci(bundle.spec)
    try:
        outcome = run_probed(bundle, (), None, PATIENCE_S)
    except CannotRun as error:
        pytest.skip(f"this machine cannot start containers: {error}")
    assert outcome.seen is not None, outcome.output
    [granted] = share.devices
    found = {each.key: each.seen for each in comparisons(bundle.wanted, outcome.seen) if each.part == "device"}
    assert found == {granted.container_path: "c 1:3"}


def test_a_lost_device_leaves_the_list(
    node: SyncNode, start: Callable[[], subprocess.Popen[bytes]], devices: Path
) -> None:
    """A device that is gone is not listed as unhealthy: it is not listed any more.

    Rules: DM-51
    """
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    (devices / "mock1").unlink()
    now = node.wait_for(listed(RESOURCE, 1), PATIENCE_S)
    assert [each.id for each in resource(now, RESOURCE).devices] == ["mock0"]


def test_its_list_outlives_its_service(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """When its socket goes it waits for open streams to end before it makes a new one: ours stays open, so it never does.

    The devices stay healthy all the time, and every Allocate fails.

    Rules: DM-42, DM-98
    """
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    Path(node.device_plugin_directory, SOCKET).unlink()
    verdicts = (_verdict(node, f"pod-{number}") for number in itertools.count())
    until(lambda: "code = Unavailable" in next(verdicts), "an Allocate that does not reach the plugin")
    assert listed(RESOURCE, 2)(node.status())
    assert resource(node.status(), RESOURCE).endpoint == "live"
    assert sockets(node.device_plugin_directory) == set()


def test_it_gives_up_while_no_kubelet_listens(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """When its socket goes and no kubelet listens, it stops to serve for good and runs on; only a new process helps.

    A kubelet's start can do this to it, as the sweep comes before `kubelet.sock`. With our node the two lie so close
    together that the plugin wins the race about as often as it loses, hence the sweep by hand.
    """
    plugin = start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    directory = node.device_plugin_directory
    node.stop()
    Path(directory, SOCKET).unlink()
    until(lambda: _refuses(directory) and _refuses(directory), "the plugin stops to serve")
    node.start()
    assert sockets(directory) == set()
    assert node.status().plugins == ()
    assert plugin.poll() is None
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)


def test_sigterm_leaves_the_socket(node: SyncNode, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """SIGTERM ends it at once, its socket stays, its devices turn unhealthy; the next process removes the old socket.

    Rules: DM-42, DM-44, DM-57
    """
    plugin = start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)
    plugin.terminate()
    assert plugin.wait(PATIENCE_S) == 0
    assert resource(node.wait_for(lost(RESOURCE), PATIENCE_S), RESOURCE).unhealthy == len(("mock0", "mock1"))
    assert sockets(node.device_plugin_directory) == {SOCKET}
    start()
    node.wait_for(listed(RESOURCE, 2), PATIENCE_S)


def _verdict(node: SyncNode, name: str) -> str:
    """Why a pod for one device is turned away; empty if it is not, and then it is removed."""
    verdict = node.admit(pod(name, RESOURCE, 1))
    if isinstance(verdict, Rejected):
        return verdict.message
    node.remove(name)
    return ""


def _refuses(directory: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(f"{directory}/{SOCKET}")
        except ConnectionRefusedError:
            return True
        except FileNotFoundError:
            return False
        return False
