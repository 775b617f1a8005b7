"""A large node through an hour of its own time: `PYTHONPATH=. python benchmarks/scale.py`.

    --plugins 100 --devices 1000 --pods 1000 --minutes 60     the defaults
    --json                                                     the samples, and nothing else

Every simulated minute some pods go and others come, some plugins send lists, one restarts, and time moves on by the minute.
After it the process is looked at: memory, descriptors, threads, tasks, objects, and how long each kind of operation took. The
plugins are a process of their own. Ends with 1 if something grows, or becomes slower, from the second quarter to the last.

The transcript keeps 100,000 records, so memory and objects grow until it is full: objects are counted without its records.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from attrs import asdict, define, field, frozen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.node import DEFAULT_MACHINE
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.scenario.plugins.script import read_devices, read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.transcript import Record
from kubelet_sim.wire.registration_client import register

COMING, LISTS, DEVICES_OF_A_POD = 20, 5, 8
"""What happens in a minute."""
PATIENCE_S = 60.0
ALLOWED = {"descriptors": 4, "threads": 4, "tasks": 4}
"""How much more the last quarter may have than the second."""
ALLOWED_OBJECTS = 0.02
"""Likewise, as a part."""
ALLOWED_TIME = 2.0
"""How many times as long an operation may take; the machine does other things, too."""


def resource_of(number: int) -> ResourceName:
    """What a plugin serves."""
    return ResourceName(f"example.com/r{number:03}")


# --------------------------------------------------------------------------------------------------- the plugins' process


class Plugins:
    """Many plugins of one process, told by lines what to do: `register 3`, `flip 3`, `stop 3`."""

    def __init__(self, folder: Path, count: int, devices: int) -> None:
        self._folder = folder
        self._devices = [{"id": f"device-{number:05}"} for number in range(devices)]
        self._are_flipped = [False] * count
        self._plugins = [self._plugin(number) for number in range(count)]

    def _plugin(self, number: int) -> ScriptedPlugin:
        script = {
            "resource": resource_of(number),
            "socket": f"p{number:03}.sock",
            "devices": self._devices,
            "allocate": {"envs": {"IDS": "{ids}"}},
        }
        return ScriptedPlugin(read_script(script), self._folder)

    async def serve(self) -> None:
        """Answer lines until there are no more."""
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := (await lines.readline()).decode():
            what, number = line.split()
            await getattr(self, f"_do_{what}")(int(number))
            sys.stdout.write("done\n")
            sys.stdout.flush()
        await asyncio.gather(*(plugin.stop() for plugin in self._plugins if plugin.is_serving))

    async def _do_register(self, number: int) -> None:
        plugin = self._plugins[number]
        await plugin.serve()
        await register(self._folder / "kubelet.sock", plugin.script.registration)

    async def _do_flip(self, number: int) -> None:
        """The last device, which no pod of ours comes to, changes its health."""
        self._are_flipped[number] = flipped = not self._are_flipped[number]
        last = {**self._devices[-1], "health": "Unhealthy" if flipped else "Healthy"}
        self._plugins[number].send(read_devices([*self._devices[:-1], last]))

    async def _do_stop(self, number: int) -> None:
        """The next one is a new process of the plugin, as far as the node can see."""
        await self._plugins[number].stop()
        self._plugins[number] = self._plugin(number)
        self._are_flipped[number] = False


# ---------------------------------------------------------------------------------------------------------- the node's


@frozen
class Sample:
    """The process after a minute, and the median of each kind of operation in it, in milliseconds."""

    minute: int
    rss_mb: float
    descriptors: int
    threads: int
    tasks: int
    objects: int
    """Without those of the transcript."""
    records: int
    ms: dict[str, float]


@define
class Life:
    """A node, its plugins, and the pods that come and go."""

    node: Node
    plugins: asyncio.subprocess.Process
    plugin_count: int
    device_count: int
    numbers: itertools.count[int] = field(factory=itertools.count)
    pods: list[Pod] = field(factory=list)
    taken: dict[str, list[float]] = field(factory=dict)
    flipped: set[int] = field(factory=set)

    async def begin(self, pods: int) -> None:
        """All plugins, then all pods."""
        for number in range(self.plugin_count):
            await self._tell("register", number)
            await self._until_healthy(number, self.device_count)
        await self.node.status_round()
        for _ in range(pods):
            await self.come()

    async def minute(self, minute: int) -> Sample:
        """What happens in one, and what the process is after it."""
        self.taken.clear()
        for _ in range(min(COMING, len(self.pods))):
            await self._timed("remove", self.go())
            await self._timed("admit", self.come())
        for each in range(LISTS):
            await self._timed("list", self.flip((minute * LISTS + each) % self.plugin_count))
        await self._timed("restart", self.restart(minute % self.plugin_count))
        await self._timed("status", self.node.status_round())
        await self._timed("minute", self.node.advance(60))
        return self._sample(minute)

    async def come(self) -> None:
        """One more pod, whose container runs."""
        number = next(self.numbers)
        wanted = {resource_of(number % self.plugin_count): DEVICES_OF_A_POD}
        container = {"name": "main", "image": "x", "resources": {"limits": wanted}}
        metadata = {"name": f"pod-{number}", "uid": f"00000000-0000-0000-0000-{number:012}"}
        pod = pod_from_mapping(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        )
        if await self.node.admit(pod) != Admitted():
            raise RuntimeError(f"{pod.key} was refused")
        self.pods.append(pod)

    async def go(self) -> None:
        """The oldest pod is deleted."""
        await self.node.remove(self.pods.pop(0).name)

    async def flip(self, number: int) -> None:
        """A list with one change."""
        self.flipped ^= {number}
        await self._tell("flip", number)
        await self._until_healthy(number, self.device_count - (number in self.flipped))

    async def restart(self, number: int) -> None:
        """A plugin goes, which the node has to see before it comes again: else the new one is disconnected. Rules: DM-33"""
        self.flipped.discard(number)
        await self._tell("stop", number)
        await self._until_healthy(number, 0)
        await self._tell("register", number)
        await self._until_healthy(number, self.device_count)

    def _healthy(self, number: int) -> int:
        return len(self.node.kubelet.state.healthy.get(resource_of(number), ()))

    async def _until_healthy(self, number: int, count: int) -> None:
        await self._until(lambda: self._healthy(number) == count)

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            changes = self.node.changes()
            async for _ in changes:
                if holds():
                    break
            await changes.aclose()

    async def _tell(self, what: str, number: int) -> None:
        if self.plugins.stdin is None or self.plugins.stdout is None:
            raise RuntimeError("the plugins have no pipes")
        self.plugins.stdin.write(f"{what} {number}\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            if await self.plugins.stdout.readline() != b"done\n":
                raise RuntimeError("the plugins ended")

    async def _timed(self, kind: str, work: Awaitable[object]) -> None:
        begun = time.perf_counter()
        await work
        self.taken.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)

    def _sample(self, minute: int) -> Sample:
        gc.collect()
        status = Path("/proc/self/status").read_text(encoding="ascii")
        rss_kb = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        records = sum(1 for _ in self.node.transcript)
        return Sample(
            minute=minute,
            rss_mb=rss_kb / 1024,
            descriptors=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - it is only counted
            threads=len(os.listdir("/proc/self/task")),  # noqa: PTH208 - likewise
            tasks=len(asyncio.all_tasks()),
            objects=_object_count(),
            records=records,
            ms={kind: statistics.median(taken) for kind, taken in self.taken.items()},
        )


def _object_count() -> int:
    """Everything that the collector sees but records, and what records alone hold."""
    everything = gc.get_objects()
    records = [each for each in everything if type(each) is Record]
    theirs = {id(part) for record in records for part in (record.details, record.rules, *record.details.values())}
    return sum(1 for each in everything if type(each) is not Record and id(each) not in theirs)


async def live(folder: Path, given: argparse.Namespace, tell: Callable[[Sample], None]) -> list[Sample]:
    """The samples of a whole life."""
    machine = {**DEFAULT_MACHINE, "pods": Quantity.of(given.pods + COMING)}
    config = NodeConfig(root=folder, machine=machine)
    samples = []
    async with Node(config, clock=ManualClock()) as node:
        counts = [str(given.plugins), str(given.devices)]
        command = [sys.executable, __file__, "--serve", str(node.root.layout.device_plugins), *counts]
        plugins = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        try:
            life = Life(node, plugins, given.plugins, given.devices)
            await life.begin(given.pods)
            for minute in range(given.minutes):
                samples.append(await life.minute(minute))
                tell(samples[-1])
        finally:
            if plugins.stdin is not None:
                plugins.stdin.close()
            await plugins.wait()
    return samples


def findings(samples: Sequence[Sample]) -> list[str]:
    """What grew, or became slower, from the second quarter to the last; medians of each."""
    quarter = max(1, len(samples) // 4)
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]

    def grown(of: Callable[[Sample], float]) -> tuple[float, float]:
        return statistics.median(map(of, second)), statistics.median(map(of, last))

    found = []
    for name, allowed in ALLOWED.items():
        before, after = grown(lambda sample, name=name: getattr(sample, name))  # type: ignore[misc]
        if after > before + allowed:
            found.append(f"{name}: {before:g}, later {after:g}")
    before, after = grown(lambda sample: sample.objects)
    if after > before * (1 + ALLOWED_OBJECTS):
        found.append(f"objects: {before:g}, later {after:g}")
    for kind in samples[0].ms:
        before, after = grown(lambda sample, kind=kind: sample.ms[kind])  # type: ignore[misc]
        if after > before * ALLOWED_TIME:
            found.append(f"time of {kind}: {before:.2f} ms, later {after:.2f} ms")
    return found


def _row(sample: Sample) -> None:
    if sample.minute == 0:
        print("minute   MB  fds threads tasks objects records   ms: " + " ".join(sample.ms))
    if sample.minute % 5 == 0 or sample.minute == 59:
        times = " ".join(f"{took:.2f}" for took in sample.ms.values())
        print(
            f"{sample.minute:6} {sample.rss_mb:5.0f} {sample.descriptors:4} {sample.threads:7} {sample.tasks:5} "
            f"{sample.objects:7} {sample.records:7}   {times}",
            flush=True,
        )


def main(arguments: Sequence[str]) -> int:
    """Live, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plugins", type=int, default=100)
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", nargs=3, metavar=("FOLDER", "PLUGINS", "DEVICES"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        folder, plugins, devices = given.serve
        asyncio.run(Plugins(Path(folder), int(plugins), int(devices)).serve())
        return 0
    folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    begun = time.monotonic()
    try:
        samples = asyncio.run(live(folder, given, (lambda _: None) if given.json else _row))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = findings(samples)
    if given.json:
        print(json.dumps({"samples": [asdict(sample) for sample in samples], "findings": found}))
    else:
        load = " ".join(f"{each:.1f}" for each in os.getloadavg())
        print(f"{time.monotonic() - begun:.0f} s of real time, load {load}: {'; '.join(found) or 'all is flat'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
