"""Example plugins that let themselves be found, beside a node with a plugin watcher."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define, field

from kubelet_sim.model.views import NodeSnapshot, PluginView
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.plugin.isolation import isolated_command, namespaces_available
from kubelet_sim.node.sync import SyncNode
from tests.examples.fleet import ROOT, healthy, start
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the plugin watcher needs inotify")

GPU = "example.com/gpu"


@define
class Ground:
    """A node, and the plugins that were started beside it."""

    node: SyncNode
    processes: list[subprocess.Popen[bytes]] = field(factory=list)

    @property
    def registry(self) -> Path:
        return self.node.config.root / "plugins_registry"

    def start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        self.processes.append(start(name, self.node, "--registry", str(self.registry), *options))
        return self.processes[-1]

    def listed(self, *resources: str, also: Callable[[NodeSnapshot], bool] = lambda _: True) -> list[PluginView]:
        """The live connections, as soon as there is one of each of the resources, with devices."""
        now = self.node.wait_for(lambda now: also(now) and all(healthy(now, each) for each in resources), PATIENCE_S)
        return [each for each in now.plugins if each.state == "live"]

    def sockets(self) -> list[Path]:
        return sorted(self.registry.iterdir())


@pytest.fixture
def ground(short_root: Path) -> Iterator[Ground]:
    """A node on the real clock: the plugins look at theirs."""
    with SyncNode(NodeConfig(root=short_root)) as node:
        ground = Ground(node)
        yield ground
        for process in ground.processes:
            process.kill()
            process.wait(PATIENCE_S)


def test_it_is_found_and_leaves_nothing_behind(ground: Ground) -> None:
    """It never calls Register; at its end the socket is gone, and the kubelet has deregistered it. Rules: DM-146, DM-152"""
    process = ground.start("env_gpu", "--gpus", "2")
    (connection,) = ground.listed(GPU)
    (path,) = ground.sockets()
    assert connection.socket_path == connection.registration_socket == str(path)

    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    assert ground.sockets() == []
    ground.node.wait_for(lambda now: not healthy(now, GPU), PATIENCE_S)


def test_two_resources_are_two_sockets(ground: Ground) -> None:
    """Each is found by itself. Rules: DM-146"""
    ground.start("two_resources", "--resource", "example.com/one=1", "--resource", "example.com/two=2")
    found = ground.listed("example.com/one", "example.com/two")
    assert sorted(each.registration_socket for each in found) == [str(path) for path in ground.sockets()]


def test_it_survives_restarts_of_the_kubelet(ground: Ground) -> None:
    """The directory is not cleaned, and what is there is registered at the start. Rules: DM-153"""
    ground.start("env_gpu")
    ground.listed(GPU)
    for _ in range(3):
        ground.node.restart()
        ground.listed(GPU)


def test_it_makes_a_new_socket_when_its_own_is_gone(ground: Ground) -> None:
    """Somebody has removed it: deregistered, and registered again by the new one. Rules: DM-152"""
    ground.start("env_gpu")
    ground.listed(GPU)
    (old,) = ground.sockets()
    old.unlink()
    (connection,) = ground.listed(
        GPU, also=lambda now: any(each.state == "live" and each.registration_socket != str(old) for each in now.plugins)
    )
    assert [Path(connection.registration_socket)] == ground.sockets()


def test_isolated_it_finds_the_directory_at_the_kubelets_path(ground: Ground) -> None:
    """As `kubelet-sim exec` runs it, with the path that real plugins have compiled in. Rules: DM-146"""
    if reason := namespaces_available():
        pytest.skip(f"no namespaces: {reason}")
    directory = Path(ground.node.device_plugin_directory)
    options = ["--registry", "/var/lib/kubelet/plugins_registry"]
    command = isolated_command(directory, [sys.executable, "-m", "plugins_examples.env_gpu", *options])
    ground.processes.append(subprocess.Popen(command, cwd=ROOT))
    (connection,) = ground.listed(GPU)
    assert [connection.registration_socket] == [str(path) for path in ground.sockets()]


def test_it_waits_for_a_directory_that_is_not_there(short_root: Path) -> None:
    """A node without a plugin watcher finds nobody; the plugin says so and goes on."""
    with SyncNode(NodeConfig(root=short_root, has_plugin_watcher=False)) as node:
        process = start("env_gpu", node, "--registry", str(short_root / "plugins_registry"), stderr=subprocess.PIPE)
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if line.startswith(b"env-gpu:"))
            assert b"cannot listen on" in line
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.communicate()
