"""Consumers of the pod resources API: a good one passes, others are seen to fail."""

from __future__ import annotations

import sys

import pytest

from kubelet_sim.conformance import Isolation, Level, Report, Status, SuiteConfig
from tests.conformance.trial import ROOT, only, told

READS = f"{sys.executable} -m kubelet_sim podresources list --socket {{pod-resources}} -o wide"


def shell(text: str, *select: str) -> Report:
    """A run on a consumer that is a shell script."""
    command = ("bash", "-c", text)
    return only(SuiteConfig(consumer=command, cwd=ROOT, isolate=Isolation.NONE, seed=1, select=select))


def test_a_consumer_that_reads_once_passes() -> None:
    """Our own client reads, prints and ends; all five checks can be made."""
    report = shell(READS)
    assert [each.status for each in report.outcomes] == [Status.PASSED] * 5, told(report)


def test_a_consumer_that_reads_for_ever_passes() -> None:
    """It goes on after refusals and with another socket."""
    report = shell(f"while :; do {READS} >/dev/null 2>&1; sleep 0.1; done", "podres-tolerates*", "podres-survives*")
    assert [each.status for each in report.outcomes] == [Status.PASSED] * 2, told(report)


FAULTS = {
    "podres-tolerates-resource-exhausted": f"set -e; while :; do {READS} >/dev/null; sleep 0.1; done",
    "podres-survives-socket-replacement": (
        f"ln {{pod-resources}} $$.kept; trap 'rm -f $$.kept' EXIT; while :; do "
        f"{sys.executable} -m kubelet_sim podresources list --socket $$.kept >/dev/null 2>&1 || exit 1; sleep 0.1; done"
    ),
    "podres-order-independent": f"{sys.executable} -m kubelet_sim call {{pod-resources}} List | grep -E 'alpha|beta' | head -n 1",
    "podres-any-resource-and-id": f"{READS} | tr ' ' '\\n' | grep -v ::",
    "podres-terminal-pods": f"{READS}; echo ended-pod uses example.com/gpu",
}


@pytest.mark.parametrize("check", FAULTS)
def test_a_check_fails_on_its_fault(check: str) -> None:
    """At its level, and with evidence."""
    report = shell(FAULTS[check], check)
    (outcome,) = report.outcomes
    assert outcome.worst is outcome.check.level, told(report)
    assert outcome.worst in (Level.ERROR, Level.WARNING)
