"""How long a node takes, as ratios to something in the same run: `python benchmarks/node.py`.

Measured: a cold start to the listening socket, Register to known devices, and admission plus the container's merged options
on a small and on a large node. The floor of an admission is what nobody can save: one Allocate call of our client, and one
durable write of the checkpoint file as it is on that node.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.plugins.script import read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from kubelet_sim.wire.registration_client import register

RESOURCE = "example.com/dev"
COLD_STARTS = 7
REGISTRATIONS = 30
FLOOR_ROUNDS = 50
SIZES = ((8, 7, 1), (1000, 110, 8))
"""Devices of the node, pods, devices a pod."""


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


async def _timed(work: Awaitable[object]) -> float:
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin


def _row(what: str, times: list[float], reference: str, floor: float) -> None:
    median = statistics.median(times)
    low, high = (statistics.quantiles(times, n=10)[i] for i in (0, -1)) if len(times) > 1 else (median, median)
    spread = f"{low * 1000:8.2f} … {high * 1000:.2f}"
    print(
        f"{what:<44} {median * 1000:9.2f} ms  ({spread})  {median / floor:6.2f} × {reference} ({floor * 1000:.2f} ms)"
    )


def _start_and_stop(folder: Path) -> float:
    """The seconds from a command line to a node that listens; it is stopped afterwards."""
    ready = folder / "ready"
    command = [
        sys.executable,
        "-m",
        "kubelet_sim",
        "run",
        "--plain",
        "--root",
        str(folder / "r"),
        "--ready-file",
        str(ready),
    ]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not ready.exists():
            if process.poll() is not None:
                raise RuntimeError("the node did not start")
            time.sleep(0.001)
        passed = time.perf_counter() - begin
        process.terminate()
    return passed


def cold_start() -> None:
    """From the command line to the listening socket, against the import of the library that it stands on."""
    imported = statistics.median(
        _seconds(lambda: subprocess.run([sys.executable, "-c", "import grpc"], check=True)) for _ in range(COLD_STARTS)
    )
    times = []
    for _ in range(COLD_STARTS):
        folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
        try:
            times.append(_start_and_stop(folder))
        finally:
            shutil.rmtree(folder)
    _row("cold start to listening socket", times, 'python -c "import grpc"', imported)


@asynccontextmanager
async def _stage(device_count: int) -> AsyncIterator[tuple[Node, ScriptedPlugin]]:
    folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    config = NodeConfig(root=folder, runs_containers=False, has_status_rounds=False)
    devices = [{"id": f"device-{number:05}"} for number in range(device_count)]
    script = {"resource": RESOURCE, "socket": "p.sock", "devices": devices, "allocate": {"envs": {"IDS": "{ids}"}}}
    try:
        async with Node(config) as node:
            plugin = ScriptedPlugin(read_script(script), node.root.layout.device_plugins)
            await plugin.serve()
            try:
                yield node, plugin
            finally:
                await plugin.stop()
    finally:
        shutil.rmtree(folder)


async def _register(node: Node, plugin: ScriptedPlugin, device_count: int) -> None:
    await register(node.root.layout.registration_socket, plugin.script.registration)
    await node.wait_for(lambda now: bool(now.resources) and now.resources[0].healthy == device_count)


async def _floor(node: Node, plugin: ScriptedPlugin, ids: int) -> float:
    """One Allocate call of our client and one durable write of the file that is there now."""
    connection = GrpcPluginCalls().connection(str(plugin.socket_path))
    await connection.ready()
    wanted = [DeviceID(f"device-{number:05}") for number in range(ids)]
    content = node.root.layout.checkpoint.read_bytes()
    target = node.root.layout.checkpoint.with_name(".floor")

    def write() -> None:
        with target.with_suffix(".new").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        target.with_suffix(".new").rename(target)

    try:
        calls = [await _timed(connection.allocate(wanted)) for _ in range(FLOOR_ROUNDS)]
    finally:
        await connection.close()
    writes = [_seconds(write) for _ in range(FLOOR_ROUNDS)]
    return statistics.median(calls) + statistics.median(writes)


async def registration() -> None:
    """From the plugin's Register to devices that a pod could get."""
    times = []
    async with _stage(SIZES[0][0]) as (node, plugin):
        await _register(node, plugin, SIZES[0][0])
        for _ in range(REGISTRATIONS):
            await plugin.stop()
            await node.wait_for(lambda now: now.resources[0].healthy == 0)
            await plugin.serve()
            times.append(await _timed(_register(node, plugin, SIZES[0][0])))
        floor = await _floor(node, plugin, 1)
    _row("Register to devices known (8 devices)", times, "one call and one write", floor)


def _pod(number: int, devices: int) -> Pod:
    container = {"name": "main", "image": "x", "resources": {"limits": {RESOURCE: devices}}}
    metadata = {"name": f"pod-{number}", "uid": f"00000000-0000-0000-0000-{number:012}"}
    return pod_from_mapping(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    )


async def admission(device_count: int, pod_count: int, devices_per_pod: int) -> None:
    """A full node, pod by pod: the verdict, and what the container gets."""

    async def one(node: Node, pod: Pod) -> None:
        if await node.admit(pod) != Admitted() or await node.prepare(pod.name, "main") is None:
            raise RuntimeError(f"{pod.key} was refused")

    async with _stage(device_count) as (node, plugin):
        await _register(node, plugin, device_count)
        times = [await _timed(one(node, _pod(number, devices_per_pod))) for number in range(pod_count)]
        floor = await _floor(node, plugin, devices_per_pod)
    what = f"admission and container ({device_count} devices, {pod_count} × {devices_per_pod})"
    _row(what, times, "one call and one write", floor)


def main() -> None:
    """Run all of it."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cpus; medians, with the 10th and 90th percentile\n")
    cold_start()
    asyncio.run(registration())
    for size in SIZES:
        asyncio.run(admission(*size))


if __name__ == "__main__":
    main()
