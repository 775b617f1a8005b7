"""Our share of a checkpoint write, as a ratio to the write itself: `PYTHONPATH=. python benchmarks/checkpoint.py`.

Measured: what is done from a record that was just entered to the bytes of the file (compose, dump, checksum, JSON), against
one durable write (write, fsync, rename) of just these bytes on the same disk, one after the other. The aim is a quarter,
with 1,000 devices and 110 pods. The plain path, which makes a file from nothing, is shown beside it.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.core.checkpoint_file.encoder import Encoder
from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.devices.device_checkpoint import compose
from kubelet_sim.core.ports import Sorted
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import NO_NUMA_NODE, ContainerName, DeviceID, PodUID, ResourceName
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.root_directory.checkpoint_store import write_file
from kubelet_sim.wire.messages import decode_container_response, encode_container_response

RESOURCE = ResourceName("example.com/dev")
SIZES = ((1000, 110, 8), (5000, 110, 8), (10_000, 1000, 10))
"""Devices of the node, pods, devices a pod."""
MEASURED = 50
AIM = 0.25


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Bench:
    """The tables of a node that fills up, without the node."""

    def __init__(self, device_count: int) -> None:
        self.state = State()
        self._ids = [DeviceID(f"device-{number:05}") for number in range(device_count)]
        self.state.healthy[RESOURCE] = frozenset(self._ids)
        self._random = random.Random(1)  # noqa: S311 - uids that are the same every time
        self._next = 0

    def admit(self, devices: int) -> None:
        """One more pod, whose plugin names the devices in a variable."""
        ids = tuple(self._ids[(self._next + i) % len(self._ids)] for i in range(devices))
        self._next += devices
        raw = encode_container_response(ContainerResponse({"IDS": ",".join(ids)}))
        record = AllocationRecord({NO_NUMA_NODE: ids}, decode_container_response(raw))
        uid = PodUID(str(uuid.UUID(int=self._random.getrandbits(128))))
        self.state.allocations.enter((uid, ContainerName("main"), RESOURCE), record)


def measure(folder: Path, device_count: int, pod_count: int, devices_per_pod: int) -> float:
    """Print a row; the answer is our share as a part of the write."""
    bench, order, encoder = Bench(device_count), Sorted(), Encoder()
    target = folder / "kubelet_internal_checkpoint"
    for _ in range(pod_count - MEASURED):
        bench.admit(devices_per_pod)
    encoder.encode(compose(bench.state, order))
    ours, writes = [], []
    data = b""

    def make() -> None:
        nonlocal data
        data = encoder.encode(compose(bench.state, order))

    for _ in range(MEASURED):
        bench.admit(devices_per_pod)
        ours.append(_timed(make))
        writes.append(_timed(lambda: write_file(target, data)))
    plain = _timed(lambda: encode(compose(bench.state, order)))
    share, write = statistics.median(ours), statistics.median(writes)
    what = f"{device_count} devices, {pod_count} × {devices_per_pod} ({len(data) // 1000} kB)"
    print(
        f"{what:<40} {share * 1000:8.3f} ms  {share / write:6.3f} × one durable write ({write * 1000:.2f} ms, "
        f"quickest {min(writes) * 1000:.2f} ms); from nothing {plain * 1000:.1f} ms"
    )
    return share / write


def main() -> None:
    """Run all of it; ends with 1 if the first row misses the aim."""
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cpus; medians of {MEASURED}\n")
    folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    try:
        shares = [measure(folder, *size) for size in SIZES]
    finally:
        shutil.rmtree(folder)
    sys.exit(0 if shares[0] < AIM else 1)


if __name__ == "__main__":
    main()
