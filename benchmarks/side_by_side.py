"""Our node and the real device manager in one run: `PYTHONPATH=. python benchmarks/side_by_side.py`.

    --quick             few rounds, the small nodes only
    --profile FILE      ours under cProfile (slower: its times say nothing then)
    --json FILE         all numbers
    --check             ends with 1 if an aim is missed

Both sides meet the same compiled plugin (`benchmarks/plugin`), in directories of one kind on one disk, and both store their
checkpoint durably. They take turns, step by step, so that other work on the machine meets both. Each process takes the time of an
operation itself; how long a list takes is seen from outside, by the plugin. The *floor* is what nobody can save in an admission:
one Allocate call of that side's own client, and one durable write of the checkpoint as it is then.

The real side is `make reference`'s, of 1.36.2. Without it, or without Go for the plugin, this says so; ours is measured against the
floor alone then, with a plugin in Python if need be.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from attrs import define, field, frozen

HERE = Path(__file__).resolve().parent
REAL = HERE.parent / "tests" / "reference" / "build" / "reference-1.36.2"
PLUGIN = HERE / "plugin" / "build" / "plugin"
RESOURCE = "example.com/dev"
OURS, THEIRS = "ours", "real"
_TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A side could not do what it was asked."""


class Lines:
    """A process that answers a line with a line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self._in, self._out = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)

    def exchange(self, line: str) -> dict[str, Any]:
        """The answer. Raises `Failed`."""
        self._in.write(line + "\n")
        self._in.flush()
        told = self._out.readline()
        reply: dict[str, Any] = json.loads(told) if told else {"error": "the process ended"}
        if reply.get("error") or reply.get("crash"):
            raise Failed(reply.get("crash") or reply["error"])
        return reply

    def rss_mb(self) -> float:
        """Its memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def cpu_ms(self) -> float:
        """What it has used of the processors so far, the system's share included."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS * 1000

    def close(self) -> None:
        """Let it end by itself."""
        self._in.close()
        self._process.wait(timeout=30)
        self._out.close()


@frozen
class NodeSpec:
    """The node that both sides have."""

    devices: int
    resources: int = 1
    numa: int = 1
    policy: str = "none"
    max_pods: int = 110


@frozen
class Load:
    """The pods that come to a node, and which of them are timed: the last."""

    pods: int
    each: int
    """Devices a pod."""
    timed: int
    rounds: int = 1
    """Nodes that are filled."""


class Side:
    """One of the two, with the plugins of its node."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.process = Lines(command, environment)
        self._numbers = itertools.count(1)

    def ask(self, operation: str, **arguments: Any) -> tuple[Any, float]:
        """The answer and the milliseconds that it took. Raises `Failed`."""
        reply = self.process.exchange(json.dumps({"id": next(self._numbers), "op": operation, **arguments}))
        return reply.get("answer"), reply["ms"]

    @contextlib.contextmanager
    def node(self, spec: NodeSpec) -> Iterator[list[Lines]]:
        """A fresh node with its plugins, whose devices are known."""
        root = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
        plugins: list[Lines] = []
        given = {"numa": list(range(spec.numa)), "policy": spec.policy, "scope": "container", "max_pods": spec.max_pods}
        try:
            self.ask("open", root=str(root), node=given)
            self.ask("start", ready=True)
            for number in range(spec.resources):
                numa = ["-numa", str(spec.numa)] if spec.numa > 1 else []
                folder, resource = str(root / "device-plugins"), _resource(number)
                command = [
                    *plugin_command(),
                    "-folder",
                    folder,
                    "-resource",
                    resource,
                    "-devices",
                    str(spec.devices),
                    *numa,
                ]
                plugins.append(Lines(command))
                plugins[-1].exchange("register")
            self.ask("capacity")
            yield plugins
        finally:
            for plugin in plugins:
                plugin.close()
            shutil.rmtree(root, ignore_errors=True)

    def admission_ms(self, pod: Mapping[str, Any]) -> float:
        """The verdict, and what the container gets. Raises `Failed` for a refusal."""
        uid = pod["metadata"]["uid"]
        verdict, took_ms = self.ask("admit", pod=pod)
        if not verdict["admit"]:
            raise Failed(f"{self.name}: {verdict['message']}")
        options, prepared_ms = self.ask("container", uid=uid, container="main")
        if not options.get("options"):
            raise Failed(f"{self.name}: nothing for the container: {options}")
        return took_ms + prepared_ms

    def floor_ms(self, ids: int) -> float:
        """One call and one write."""
        answer, _ = self.ask("floor", rounds=1, ids=[f"device-{number:05}" for number in range(ids)])
        return float(answer["calls"][0] + answer["writes"][0])


def plugin_command() -> list[str]:
    """The compiled one if there is one."""
    return [str(PLUGIN)] if PLUGIN.exists() else [sys.executable, str(HERE / "plugin" / "plugin.py")]


def _resource(number: int) -> str:
    return f"{RESOURCE}{number or ''}"


def pod_of(number: int, devices: int, resources: int = 1) -> dict[str, Any]:
    """A pod with one container that wants so many of each resource."""
    wanted = {_resource(each): str(devices) for each in range(resources)}
    container = {"name": "main", "image": "x", "resources": {"limits": wanted, "requests": wanted}}
    metadata = {"name": f"pod-{number}", "namespace": "default", "uid": f"00000000-0000-0000-0000-{number:012}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@define
class Row:
    """What was measured of one thing, by side; milliseconds, or megabytes."""

    what: str
    times: dict[str, list[float]] = field(factory=dict)
    floors: dict[str, list[float]] = field(factory=dict)
    cpu_ms: dict[str, float] = field(factory=dict)
    """Of the processors, per operation."""
    of_real: float | None = None
    """The aim: at most so much of the real manager's."""
    of_floor: float | None = None
    unit: str = "ms"

    def add(self, side: Side, took_ms: float, floor_ms: float | None = None) -> None:
        """One more measurement."""
        self.times.setdefault(side.name, []).append(took_ms)
        if floor_ms is not None:
            self.floors.setdefault(side.name, []).append(floor_ms)

    def ratio(self) -> float | None:
        """Ours as a part of the real one's."""
        if THEIRS not in self.times:
            return None
        return statistics.median(self.times[OURS]) / statistics.median(self.times[THEIRS])

    def floor_ratio(self, side: str) -> float | None:
        """As a multiple of that side's floor."""
        if side not in self.floors:
            return None
        return statistics.median(self.times[side]) / statistics.median(self.floors[side])

    def floor_of_real(self) -> float | None:
        """Our floor as a part of the real one's time: nobody can be below that."""
        if OURS not in self.floors or THEIRS not in self.times:
            return None
        return statistics.median(self.floors[OURS]) / statistics.median(self.times[THEIRS])

    def misses(self) -> list[str]:
        """The aims that are missed."""
        found = []
        ratio, floor_ratio = self.ratio(), self.floor_ratio(OURS)
        if self.of_real is not None and ratio is not None and ratio > self.of_real:
            found.append(f"{self.what}: {ratio:.2f} of the real one's time, at most {self.of_real:g} wanted")
        if self.of_floor is not None and floor_ratio is not None and floor_ratio > self.of_floor:
            found.append(f"{self.what}: {floor_ratio:.2f} times the floor, at most {self.of_floor:g} wanted")
        return found

    def text(self) -> str:
        """A row of a table."""
        cells = [
            self.what,
            self._spread(OURS),
            self._spread(THEIRS),
            _number(self.ratio()),
            _number(self.floor_of_real()),
        ]
        cells += [_number(self.floor_ratio(OURS)), _number(self.floor_ratio(THEIRS))]
        cells += [" / ".join(_number(self.cpu_ms.get(side)) for side in (OURS, THEIRS))]
        return "| " + " | ".join(cells) + " |"

    def _spread(self, side: str) -> str:
        times = self.times.get(side)
        if not times:
            return "–"
        median = statistics.median(times)
        if len(times) < 2:
            return f"{median:.3g} {self.unit}"
        tenths = statistics.quantiles(times, n=10, method="inclusive")
        return f"{median:.3g} ({tenths[0]:.3g} … {tenths[-1]:.3g}) {self.unit}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


HEADER = (
    "| what | ours, median (10 % … 90 %) | real | ours / real | our floor / real | ours / its floor | real / its floor "
    "| cpu ms: ours / real |\n|---|---|---|---|---|---|---|---|"
)


def admissions(sides: Sequence[Side], spec: NodeSpec, load: Load) -> Row:
    """The last pods of a node that fills up, the sides in turn."""
    row = Row(f"admission and container: {spec.devices:,} devices, {load.pods:,} pods with {load.each} each")
    used = dict.fromkeys((side.name for side in sides), 0.0)
    for _ in range(load.rounds):
        with contextlib.ExitStack() as stack:
            for side in sides:
                stack.enter_context(side.node(spec))
            for number in range(load.pods):
                pod = pod_of(number, load.each, spec.resources)
                for side in _in_turn(sides, number):
                    is_timed = number >= load.pods - load.timed
                    # A disk that has just written writes again sooner, so the floor is now before, now behind.
                    floor_ms = side.floor_ms(load.each) if is_timed and number % 4 < 2 else None
                    before = side.process.cpu_ms()
                    took_ms = side.admission_ms(pod)
                    if is_timed:
                        used[side.name] += side.process.cpu_ms() - before
                        row.add(side, took_ms, side.floor_ms(load.each) if floor_ms is None else floor_ms)
            if load.pods >= 1000:
                EXTRA.extend(_of_a_full_node(sides))
    row.cpu_ms = {name: total / load.rounds / load.timed for name, total in used.items()}
    return row


EXTRA: list[Row] = []


def _of_a_full_node(sides: Sequence[Side]) -> list[Row]:
    memory = Row("memory of a process with 10,000 devices and 1,000 pods", unit="MB")
    starts = Row("start with a checkpoint of 1,000 entries")
    for side in sides:
        memory.add(side, side.process.rss_mb())
    for number in range(15):
        for side in _in_turn(sides, number):
            side.ask("kill")
            _, took = side.ask("start", ready=True)
            starts.add(side, took)
    return [starts, memory]


def updates(sides: Sequence[Side], devices: int, rounds: int) -> Row:
    """From a list that is sent to the checkpoint that comes of it."""
    row = Row(f"a list of {devices:,} devices, one of which has changed")
    with contextlib.ExitStack() as stack:
        plugins = {side.name: stack.enter_context(side.node(NodeSpec(devices)))[0] for side in sides}
        before = {side.name: side.process.cpu_ms() for side in sides}
        for number in range(rounds):
            for side in _in_turn(sides, number):
                row.add(side, plugins[side.name].exchange("update")["ms"])
        row.cpu_ms = {side.name: (side.process.cpu_ms() - before[side.name]) / rounds for side in sides}
    return row


def aligned(sides: Sequence[Side], spec: NodeSpec, pods: int) -> Row:
    """Admissions that need hints."""
    row = admissions(sides, spec, Load(pods, 4, pods))
    many = "1 resource" if spec.resources == 1 else f"{spec.resources} resources"
    row.what = f"the same with hints and their merge: 8 NUMA nodes, {many} of {spec.devices:,} devices, 4 each"
    return row


def _in_turn(sides: Sequence[Side], number: int) -> Sequence[Side]:
    return sides if number % 2 == 0 else sides[::-1]


def measure(sides: Sequence[Side], *, quick: bool) -> Iterator[Row]:
    """All rows, as they come."""
    row = admissions(sides, NodeSpec(8), Load(7, 1, 7, rounds=5 if quick else 15))
    row.of_real = 1.2
    yield row
    for devices in (1000,) if quick else (1000, 5000):
        row = admissions(sides, NodeSpec(devices), Load(110, 8, 40))
        row.of_real, row.of_floor = 0.25, 1.5
        yield row
    if not quick:
        row = admissions(sides, NodeSpec(10_000, max_pods=1000), Load(1000, 8, 60))
        row.of_real = 0.05
        yield row
        yield from EXTRA
    for devices in (2000,) if quick else (2000, 10_000):
        yield updates(sides, devices, 20 if quick else 40)
    yield aligned(sides, NodeSpec(2000, numa=8, policy="restricted"), 10 if quick else 30)
    if not quick:
        yield aligned(sides, NodeSpec(1000, resources=2, numa=8, policy="restricted"), 20)


def built() -> list[str]:
    """Build what can be built; what is missing, in words."""
    missing = []
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/local/go/bin"}
    go = shutil.which("go", path=environment["PATH"])
    if go is not None:
        PLUGIN.parent.mkdir(exist_ok=True)
        command = [go, "build", "-trimpath", "-o", str(PLUGIN), "."]
        subprocess.run(command, cwd=HERE / "plugin", env=environment, check=False)
    if not PLUGIN.exists():
        missing.append("the compiled plugin (it takes Go); the one in Python is slower, and ours is measured alone")
    if not REAL.exists() or shutil.which("unshare") is None:
        missing.append("the real manager (make reference; it takes Go, and Linux with unshare)")
    return missing


def _sides(profile: str | None) -> list[Side]:
    environment = {} if profile is None else {"KUBELET_SIM_PROFILE": profile}
    sides = [Side(OURS, [sys.executable, str(HERE / "ours.py")], environment)]
    if PLUGIN.exists() and REAL.exists() and shutil.which("unshare") is not None:
        in_its_namespace = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /var/lib && exec "$0"']
        sides.append(Side(THEIRS, [*in_its_namespace, str(REAL)]))
    return sides


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit code says whether the aims are met, if that was asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    for missing in built():
        print(f"missing: {missing}")
    when, load = time.strftime("%Y-%m-%d %H:%M"), " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{when}, Python {platform.python_version()}, {os.cpu_count()} cpus, load before {load}\n\n{HEADER}", flush=True
    )
    sides, rows = _sides(given.profile), []
    try:
        for row in measure(sides, quick=given.quick):
            print(row.text(), flush=True)
            rows.append(row)
    finally:
        for side in sides:
            side.process.close()
    print(f"\nload after {' '.join(f'{each:.1f}' for each in os.getloadavg())}")
    misses = [miss for row in rows for miss in row.misses()]
    print("\n".join(misses) or "all aims are met")
    if given.json:
        numbers = [{"what": row.what, "times": row.times, "floors": row.floors, "cpu_ms": row.cpu_ms} for row in rows]
        given.json.write_text(json.dumps(numbers), encoding="utf-8")
    return 1 if given.check and misses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
