"""What one kubelet process counts and measures for its metrics: plain numbers, of which nothing is decided.

They begin at 0 with the process. What the core counts lies in its state; how all of it is shown is `metrics`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping

from attrs import define, field

ALLOCATE_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds. Rules: DM-161"""
ADMISSION_MS = tuple(0.05 * 2**power for power in range(15))
"""Upper bounds. Rules: TM-50"""
TOLD_REASONS = frozenset(
    {
        "OutOfcpu",
        "OutOfephemeral-storage",
        "OutOfmemory",
        "OutOfpods",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }
)
"""Reasons that are counted by their own name; any other reason of an emulated node has a name for all of its kind."""


@define
class Histogram:
    """How often values came, by their size."""

    bounds: tuple[float, ...]
    """Ascending; a value that is equal to a bound counts below it."""
    total: float = 0.0
    _counts: list[int] = field(init=False)

    @_counts.default
    def _none_yet(self) -> list[int]:
        return [0] * (len(self.bounds) + 1)

    @property
    def count(self) -> int:
        """How many values were observed."""
        return sum(self._counts)

    def observe(self, value: float) -> None:
        """Counts a value in its bucket and adds it to the sum."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def up_to(self) -> list[int]:
        """For each bound, and at the end for no bound: how many values are not above it."""
        sums = [0]
        for count in self._counts:
            sums.append(sums[-1] + count)
        return sums[1:]


@define
class Observations:
    """Since the start of the process."""

    allocations: dict[str, Histogram] = field(factory=dict)
    """Seconds of Allocate calls, failed ones included, by resource. Rules: DM-161"""
    admissions: Histogram = field(factory=lambda: Histogram(ADMISSION_MS))
    """Whole milliseconds. Rules: TM-50"""
    rejections: Counter[str] = field(factory=Counter)
    """By reason, as `reason_to_count` has it."""
    container_errors: Counter[tuple[str, str]] = field(factory=Counter)
    """By type of container and code. Rules: DM-161"""
    pod_resources: Counter[tuple[str, str]] = field(factory=Counter)
    """By name of the counter, without `kubelet_`, and version of the API. Rules: PR-32"""
    watched_plugins: Callable[[], Mapping[tuple[str, str], int]] = dict
    """How many plugins the watcher has, by socket path and state; asked when somebody looks. Rules: DM-161"""

    def allocated(self, resource: str, seconds: float) -> None:
        """An Allocate call is over, well or not."""
        self.allocations.setdefault(resource, Histogram(ALLOCATE_S)).observe(seconds)

    def admitted(self, seconds: float) -> None:
        """An admission is over, well or not; measured from its turn on."""
        self.admissions.observe(int(seconds * 1000))

    def count_pod_resources(self, name: str, version: str) -> None:
        """One of the counters of the pod resources API goes up."""
        self.pod_resources[name, version] += 1


def reason_to_count(reason: str) -> str:
    """Under which name a refusal of that reason is counted: a resource's name would be one label too many.

    Rules: DM-161
    Follows: recordAdmissionRejection
    """
    if reason in TOLD_REASONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"
