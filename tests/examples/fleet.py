"""All example plugins at once, each as a process of its own beside one node of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from attrs import evolve, frozen

from kubelet_sim.errors import TransportError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Mount
from kubelet_sim.model.views import NodeSnapshot, PluginView, ResourceView
from kubelet_sim.node.sync import SyncNode
from plugins_examples.env_gpu.inventory import gpu_ids
from plugins_examples.pb import api_pb2_grpc
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
Granted = Mapping[str, Sequence[str]]
"""Ids by resource, in the order of the list."""


@frozen
class Example:
    """One example plugin, and what is to be expected of it."""

    name: str
    devices: Mapping[str, tuple[str, ...]]
    """Ids by resource, in the order of the list; `{place}` is the example's own folder."""
    grants: Callable[[Granted], ContainerSpec]
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def _variables(**envs: str) -> ContainerSpec:
    return ContainerSpec(envs=tuple(sorted(envs.items())))


def _with_nodes(spec: ContainerSpec, granted: Granted, *kinds: str) -> ContainerSpec:
    ids = sorted(each for kind in kinds for each in granted[f"example.com/{kind}"])
    return evolve(spec, devices=tuple(DeviceNode(f"/dev/{each}", "/dev/null", "rw") for each in ids))


def _joined(granted: Granted, resource: str) -> str:
    return ",".join(granted[f"example.com/{resource}"])


def _device_nodes(granted: Granted) -> ContainerSpec:
    nodes = [DeviceNode(path, os.path.realpath(path), "rw") for path in granted["example.com/serial"]]
    return ContainerSpec(devices=tuple(nodes), mounts=(Mount("/etc/serial", "/etc", read_only=True),))


def _numa(granted: Granted) -> ContainerSpec:
    nodes = sorted({each.removeprefix("node").partition("-")[0] for each in granted["example.com/nic"]})
    variables = _variables(NUMA_DEVICES=_joined(granted, "nic"), NUMA_NODES=",".join(nodes))
    return _with_nodes(variables, granted, "nic")


def _aio(granted: Granted) -> ContainerSpec:
    sensors = granted["example.com/sensor"]
    annotations = tuple((f"example.com/sensor.{each}", "granted") for each in sorted(sensors))
    return ContainerSpec(envs=(("SENSORS", ",".join(sensors)),), annotations=annotations)


EXAMPLES = (
    Example(
        "aio",
        {"example.com/sensor": ("sensor-0", "sensor-1", "sensor-2")},
        _aio,
        ("--devices", "3"),
    ),
    Example(
        "cdi",
        {"example.com/fpga": ("card0", "card1", "card2")},
        lambda granted: ContainerSpec(
            cdi_devices=tuple(f"vendor.com/card={each}" for each in granted["example.com/fpga"])
        ),
        ("--devices", "3", "--kind", "vendor.com/card", "--cdi-dir", "{place}/cdi"),
    ),
    Example(
        "device_nodes",
        {"example.com/serial": ("{place}/tty0", "{place}/tty1")},
        _device_nodes,
        ("--device", "{place}/tty*", "--mount", "/etc:/etc/serial:ro"),
    ),
    Example(
        "env_gpu",
        {"example.com/gpu": gpu_ids("example.com/gpu", 3)},
        lambda granted: _variables(NVIDIA_VISIBLE_DEVICES=_joined(granted, "gpu")),
        ("--gpus", "3"),
    ),
    Example(
        "numa",
        {"example.com/nic": ("node0-0", "node0-1", "node0-2", "node0-3", "node1-0", "node1-1", "node1-2")},
        _numa,
        ("--numa", "0:4,1:3"),
    ),
    Example(
        "pre_start",
        {"example.com/accelerator": ("accelerator-0", "accelerator-1", "accelerator-2")},
        lambda granted: _with_nodes(_variables(ACCELERATORS=_joined(granted, "accelerator")), granted, "accelerator"),
        ("--devices", "3", "--reset-dir", "{place}/resets", "--stuck-file", "{place}/stuck"),
    ),
    Example(
        "two_resources",
        {
            "example.com/encoder": ("encoder-0", "encoder-1"),
            "example.com/decoder": ("decoder-0", "decoder-1", "decoder-2", "decoder-3"),
        },
        lambda granted: _with_nodes(
            _variables(ENCODER_IDS=_joined(granted, "encoder"), DECODER_IDS=_joined(granted, "decoder")),
            granted,
            "encoder",
            "decoder",
        ),
    ),
)


class Fleet:
    """A node, and the processes that were started beside it."""

    def __init__(self, node: SyncNode, folder: Path) -> None:
        self.node = node
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._folder = folder

    def place(self, example: Example) -> Path:
        """A folder for whatever this example reads and writes."""
        return self._folder / example.name

    def devices(self, example: Example) -> dict[str, tuple[str, ...]]:
        """What it is to list."""
        place = str(self.place(example))
        return {resource: tuple(each.format(place=place) for each in ids) for resource, ids in example.devices.items()}

    def unhealthy_file(self, example: Example) -> Path:
        """Ids in here are unhealthy."""
        return self.place(example) / "unhealthy"

    def start(self, example: Example) -> None:
        """Start it; `wait_until_listed` waits for it."""
        place = self.place(example)
        place.mkdir()
        (place / "tty0").symlink_to("/dev/null")
        (place / "tty1").symlink_to("/dev/zero")
        options = [each.format(place=place) for each in example.options]
        options += ["--unhealthy-file", str(self.unhealthy_file(example))]
        self.processes[example.name] = start(example.name, self.node, *options)

    def wait_until_listed(
        self, *examples: Example, also: Callable[[NodeSnapshot], bool] = lambda _: True
    ) -> NodeSnapshot:
        """The first snapshot in which all devices of these examples are there and healthy. All examples if none is named."""
        wanted: dict[str, tuple[str, ...]] = {}
        for example in examples or EXAMPLES:
            wanted |= self.devices(example)

        def holds(now: NodeSnapshot) -> bool:
            return all(healthy(now, resource) == set(ids) for resource, ids in wanted.items()) and also(now)

        try:
            return self.node.wait_for(holds, PATIENCE_S)
        except TransportError as error:
            now = self.node.status()
            missing = [resource for resource, ids in wanted.items() if healthy(now, resource) != set(ids)]
            raise AssertionError(f"not listed: {missing}, or else not registered anew") from error

    def live(self, snapshot: NodeSnapshot) -> dict[str, PluginView]:
        """The newest connection that serves, by resource."""
        return {plugin.resource: plugin for plugin in snapshot.plugins if plugin.state == "live"}

    def sockets(self) -> set[str]:
        """The sockets of plugins in the node's directory."""
        directory = Path(self.node.device_plugin_directory)
        return {path.name for path in directory.iterdir() if path.is_socket() and path.name != "kubelet.sock"}

    @contextmanager
    def call(self, resource: str) -> Iterator[api_pb2_grpc.DevicePluginStub]:
        """A second kubelet, as it were, that calls the plugin directly."""
        socket_name = self.live(self.node.status())[resource].socket_name
        address = f"unix:{self.node.device_plugin_directory}/{socket_name}"
        options = [("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(address, options=options) as channel:
            yield api_pb2_grpc.DevicePluginStub(channel)

    def terminate(self) -> dict[str, int]:
        """SIGTERM to all of them; their exit codes."""
        for process in self.processes.values():
            process.terminate()
        return {name: process.wait(PATIENCE_S) for name, process in self.processes.items()}

    def kill(self) -> None:
        """End what is still there."""
        for process in self.processes.values():
            process.kill()
            process.wait(PATIENCE_S)


def start(name: str, node: SyncNode, *options: str, **popen: Any) -> subprocess.Popen[bytes]:
    """An example as a process beside a node."""
    command = [sys.executable, "-m", f"plugins_examples.{name}", "--socket-dir", node.device_plugin_directory]
    return subprocess.Popen([*command, *options], cwd=ROOT, **popen)


def resource_view(snapshot: NodeSnapshot, resource: str) -> ResourceView | None:
    """What the node knows of a resource."""
    return next((each for each in snapshot.resources if each.name == resource), None)


def healthy(snapshot: NodeSnapshot, resource: str) -> set[str]:
    """The healthy ids of a resource that is served."""
    view = resource_view(snapshot, resource)
    if view is None or view.endpoint != "live":
        return set()
    return {device.id for device in view.devices if device.is_healthy}


def pod(name: str, limits: Mapping[str, int]) -> Pod:
    """A pod with one container."""
    container = {"name": "main", "image": "busybox", "resources": {"limits": dict(limits)}}
    return pod_from_mapping(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": f"uid-{name}"},
            "spec": {"containers": [container]},
        }
    )
