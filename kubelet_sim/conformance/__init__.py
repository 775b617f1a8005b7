"""A conformance suite for any device plugin: checks, what runs them, and what comes of them.

    from kubelet_sim.conformance import SuiteConfig, run

    (report,) = run(SuiteConfig(command=("./my-plugin", "--socket-dir", "{dir}")))
    assert not report.bad

`SuiteConfig` is the one object that the command line, the fixtures and the library share; `checks` holds the checks, one
module a group; `check_context` is what a check gets.
"""

from __future__ import annotations

from kubelet_sim.conformance.check import CHECKS, Check, Group, Level, Need, Stage, check
from kubelet_sim.conformance.config import Isolation, Mode, SuiteConfig
from kubelet_sim.conformance.suite import Progress, conform, run
from kubelet_sim.conformance.verdict import About, Finding, Outcome, Report, Status

__all__ = [
    "CHECKS",
    "About",
    "Check",
    "Finding",
    "Group",
    "Isolation",
    "Level",
    "Mode",
    "Need",
    "Outcome",
    "Progress",
    "Report",
    "Stage",
    "Status",
    "SuiteConfig",
    "check",
    "conform",
    "run",
]
