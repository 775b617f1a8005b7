"""What a transcript file costs: admissions with one against without, as a ratio: `python benchmarks/transcript.py`.

Two nodes of one process take turns, pod by pod, so that a busy machine is as unkind to one as to the other.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.scenario.plugins.script import read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.wire.registration_client import register

RESOURCE = "example.com/dev"
SIZES = ((110, 110, 1), (1000, 110, 8))
"""Devices of the node, pods, devices a pod."""
WANTED = 1.3


@asynccontextmanager
async def _stage(device_count: int, transcript: Path | None) -> AsyncIterator[Node]:
    folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    config = NodeConfig(root=folder, runs_containers=False, has_status_rounds=False)
    devices = [{"id": f"device-{number:05}"} for number in range(device_count)]
    script = {"resource": RESOURCE, "socket": "p.sock", "devices": devices, "allocate": {"envs": {"IDS": "{ids}"}}}
    node = Node(config)
    try:
        with recorded(node, transcript):
            async with node:
                plugin = ScriptedPlugin(read_script(script), node.root.layout.device_plugins)
                await plugin.serve()
                try:
                    await register(node.root.layout.registration_socket, plugin.script.registration)
                    await node.wait_for(lambda now: bool(now.resources) and now.resources[0].healthy == device_count)
                    yield node
                finally:
                    await plugin.stop()
    finally:
        shutil.rmtree(folder)


def _pod(number: int, devices: int) -> Pod:
    container = {"name": "main", "image": "x", "resources": {"limits": {RESOURCE: devices}}}
    metadata = {"name": f"pod-{number}", "uid": f"00000000-0000-0000-0000-{number:012}"}
    return pod_from_mapping(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    )


async def _timed(node: Node, pod: Pod) -> float:
    begin = time.perf_counter()
    if await node.admit(pod) != Admitted() or await node.prepare(pod.name, "main") is None:
        raise RuntimeError(f"{pod.key} was refused")
    return time.perf_counter() - begin


async def admission(device_count: int, pod_count: int, devices_per_pod: int) -> float:
    """The ratio of the medians: verdict and container's options, with and without a file."""
    times: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="ks-") as folder:
        path = Path(folder) / "transcript.jsonl"
        async with _stage(device_count, path) as on, _stage(device_count, None) as off:
            for number in range(pod_count):
                pod = _pod(number, devices_per_pod)
                for node in (on, off) if number % 2 else (off, on):
                    times[node is on].append(await _timed(node, pod))
        size, lines = path.stat().st_size, path.read_bytes().count(b"\n")
    with_file, without = statistics.median(times[True]), statistics.median(times[False])
    what = f"admission and container ({device_count} devices, {pod_count} × {devices_per_pod})"
    print(
        f"{what:<50} {without * 1000:7.2f} ms, with a transcript {with_file * 1000:7.2f} ms: {with_file / without:.2f} ×"
    )
    print(f"{'':<50} {lines} lines, {size / lines:.0f} bytes each")
    return with_file / without


def main() -> int:
    """Run all of it; 1 if a transcript costs more than it should."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cpus; medians; wanted: below {WANTED} ×\n")
    ratios = [asyncio.run(admission(*size)) for size in SIZES]
    return int(max(ratios) >= WANTED)


if __name__ == "__main__":
    sys.exit(main())
