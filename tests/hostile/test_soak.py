"""All attacks at once, for as long as one likes: `KUBELET_SIM_SOAK_S=600 pytest -m whole tests/hostile/test_soak.py -s`."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from attrs import asdict, define, field, frozen

from kubelet_sim.model.admission import Admitted
from tests.hostile.cases import CASES
from tests.hostile.peers import GOOD, Ground, good_plugin, hostile_ground, pod
from tests.patience import PATIENCE_S

SOAK_S = float(os.environ.get("KUBELET_SIM_SOAK_S", "5"))
SAMPLES = 20
"""How often is measured; the first half is warm-up."""
WARM_S = 300.0
"""The transcript is full after a good part of this; a shorter soak shows gross leaks only."""


@frozen
class Sample:
    """What the process holds at a moment."""

    at_s: float
    rss_mib: float
    descriptors: int
    threads: int
    """Those of the gRPC library included, which Python does not list."""

    @classmethod
    def taken(cls, at_s: float) -> Sample:
        """Now."""
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        rss_mib = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
        return cls(
            round(at_s, 1),
            round(rss_mib, 1),
            len(list(Path("/proc/self/fd").iterdir())),
            len(list(Path("/proc/self/task").iterdir())),
        )


@define
class Soak:
    """The attackers, the one good plugin, and the one who counts."""

    ground: Ground
    ends_at: float
    began_at: float = field(factory=time.monotonic)
    rounds: Counter[str] = field(factory=Counter)
    samples: list[Sample] = field(factory=list)
    slowest_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether no new round begins: the time is up, and each has had its turn, however slow the machine."""
        late_s = time.monotonic() - self.ends_at
        return late_s >= 0 and (set(self.rounds) == {*CASES, "good"} or late_s >= PATIENCE_S / 2)

    async def attack(self, name: str) -> None:
        """One attack, over and over."""
        while not self.is_over:
            await CASES[name].attack(self.ground, f"example.com/{name}")
            self.rounds[name] += 1

    async def serve(self) -> None:
        """One good plugin, and pod after pod that gets all of its devices."""
        async with good_plugin(self.ground, GOOD):
            await self.ground.node.status_round()
            while not self.is_over:
                began_at = time.monotonic()
                assert isinstance(await self.ground.node.admit(pod(GOOD, "good", 4)), Admitted)
                await self.ground.node.remove("good")
                self.slowest_s = max(self.slowest_s, time.monotonic() - began_at)
                self.rounds["good"] += 1

    async def measure(self) -> None:
        """Look at fixed times: here time is what is measured."""
        step_s = (self.ends_at - self.began_at) / SAMPLES
        for number in range(1, SAMPLES + 1):
            await asyncio.sleep(max(0.0, self.began_at + number * step_s - time.monotonic()))
            gc.collect()
            self.samples.append(Sample.taken(time.monotonic() - self.began_at))


def growth(samples: list[Sample], of: str) -> float:
    """How much the median of the last quarter is above the median of the quarter before."""
    quarter = len(samples) // 4

    def median(part: list[Sample]) -> float:
        return float(sorted(getattr(sample, of) for sample in part)[len(part) // 2])

    return median(samples[-quarter:]) - median(samples[-2 * quarter : -quarter])


@pytest.mark.whole
@pytest.mark.timeout(SOAK_S + 4 * PATIENCE_S)
def test_all_at_once_and_nothing_runs_away(short_root: Path) -> None:
    """The good plugin is served all the while; descriptors and threads stay what they are, memory grows slowly at most.

    Memory is not flat: in this process, which is the plugins', too, gRPC keeps about 1 KiB of each call that its caller
    cancels, and the core an entry for each registration. The bound finds what is worse than that.
    """
    before = Sample.taken(0.0)

    async def body() -> Soak:
        async with hostile_ground(short_root) as ground:
            ground.patience_s = PATIENCE_S / 2
            soak = Soak(ground, time.monotonic() + SOAK_S)
            async with asyncio.TaskGroup() as group:
                for name in CASES:
                    group.create_task(soak.attack(name), name=name)
                group.create_task(soak.serve())
                group.create_task(soak.measure())
            return soak

    soak = asyncio.run(body())
    gc.collect()
    after = Sample.taken(time.monotonic() - soak.began_at)
    report = {
        "seconds": SOAK_S,
        "rounds": soak.rounds.total(),
        "fewest": soak.rounds.most_common()[-1],
        "slowest_pod_s": round(soak.slowest_s, 2),
        "before": asdict(before),
        "samples": [asdict(sample) for sample in soak.samples],
        "after": asdict(after),
    }
    print(json.dumps(report))  # noqa: T201 - figures for whoever asked for a long one
    assert set(soak.rounds) == {*CASES, "good"}
    assert after.descriptors <= before.descriptors + 8
    assert threading.active_count() <= before.threads + 8
    assert growth(soak.samples, "descriptors") < 40
    assert growth(soak.samples, "threads") < 8
    assert growth(soak.samples, "rss_mib") < (20 if SOAK_S >= WARM_S else 100)
