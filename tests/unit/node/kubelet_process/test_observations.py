from __future__ import annotations

import pytest

from kubelet_sim.node.kubelet_process.observations import ADMISSION_MS, ALLOCATE_S, Histogram, reason_to_count


def test_a_histogram_counts_up_to_each_bound() -> None:
    """A value on a bound is not above it; the last number is that of all values."""
    histogram = Histogram((1.0, 2.0))
    assert histogram.up_to() == [0, 0, 0]
    for value in (0.5, 1.0, 1.5, 7.0):
        histogram.observe(value)
    assert histogram.up_to() == [2, 3, 4]
    assert (histogram.count, histogram.total) == (4, 10.0)


def test_the_bounds_are_those_of_a_kubelet() -> None:
    """Rules: DM-161, TM-50"""
    assert [f"{bound:g}" for bound in ALLOCATE_S] == ".005 .01 .025 .05 .1 .25 .5 1 2.5 5 10".replace(
        " .", " 0."
    ).replace(".005", "0.005", 1).split(" ")
    assert len(ADMISSION_MS) == 15
    assert (ADMISSION_MS[0], ADMISSION_MS[-1]) == (0.05, 0.05 * 2**14)


@pytest.mark.parametrize(
    "reason, counted",
    [
        ("UnexpectedAdmissionError", "UnexpectedAdmissionError"),
        ("TopologyAffinityError", "TopologyAffinityError"),
        ("OutOfexample.com/dev", "OutOfExtendedResources"),
        ("OutOfpods", "OutOfpods"),
        ("OutOfcpu", "OutOfcpu"),
        ("SomethingElse", "Other"),
        ("", "Other"),
    ],
)
def test_reasons_have_few_names(reason: str, counted: str) -> None:
    """A resource's name is no label. Rules: DM-161"""
    assert reason_to_count(reason) == counted
