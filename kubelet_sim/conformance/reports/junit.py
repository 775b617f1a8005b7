"""The report for CI servers: JUnit XML as Jenkins, GitLab and most others read it.

A suite for each group of checks, a test for each check. What a server shows of a test is its message first, so that says
what came; the rest (findings, evidence, why, fix, transcript) is the text below it, and the plugin's output is `system-out`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from kubelet_sim.conformance.reports.report_text import (
    OutcomeMark,
    about_pairs,
    account,
    mark_of,
    tally,
    what_came,
)
from kubelet_sim.conformance.verdict import Outcome, Report
from kubelet_sim.foreign import xml_text
from kubelet_sim.present.junit import junit_bytes, junit_case, junit_time
from kubelet_sim.present.record_lines import record_line


def render(reports: Sequence[Report]) -> bytes:
    """The document of all runs, in UTF-8."""
    root = JUnitXml("kubelet-sim conform")
    for report in reports:
        for suite in _suites(report):
            root.add_testsuite(suite)
    suites = list(root)
    root.tests = sum(suite.tests for suite in suites)
    root.failures = sum(suite.failures for suite in suites)
    root.errors = sum(suite.errors for suite in suites)
    root.time = junit_time(sum(report.took_s for report in reports))
    return junit_bytes(root)


def _suites(report: Report) -> Iterator[TestSuite]:
    for group, outcomes in groupby(report.outcomes, key=lambda each: each.check.group):
        held = list(outcomes)
        marks = [mark_of(report, each) for each in held]
        suite = TestSuite(f"{group.value} (kubelet {report.about.kubelet_version})")
        for name, value in (*about_pairs(report), ("result", tally(report))):
            suite.add_property(name, xml_text(value))
        for outcome in held:
            suite.add_testcase(_case(report, outcome))
        # Of our own reckoning: the library's counts what it finds, and writes times longer than the schema allows.
        suite.tests = len(held)
        suite.failures = sum(mark in (OutcomeMark.FAIL, OutcomeMark.FIXED) for mark in marks)
        suite.errors = marks.count(OutcomeMark.BROKEN)
        suite.skipped = sum(mark in (OutcomeMark.SKIP, OutcomeMark.KNOWN) for mark in marks)
        suite.time = junit_time(sum(each.took_s for each in held))
        yield suite


def _case(report: Report, outcome: Outcome) -> TestCase:
    check, mark = outcome.check, mark_of(report, outcome)
    # A dot ends a package: the releases of a kubelet are one package each, and a patch release goes on in its history.
    minor = "-".join(report.about.kubelet_version.split(".")[:2])
    message = xml_text(what_came(report, outcome))
    result = {
        OutcomeMark.FAIL: Failure(message, outcome.worst.value if outcome.worst else "error"),
        OutcomeMark.FIXED: Failure(message, "known failure that passed"),
        OutcomeMark.BROKEN: Error(message, "broken"),
        OutcomeMark.SKIP: Skipped(message, "skipped"),
        OutcomeMark.KNOWN: Skipped(f"known failure: {message}", "known failure"),
    }.get(mark)
    text = "" if mark is OutcomeMark.SKIP else "\n".join(_whole(report, outcome))
    classname = f"conformance.kubelet-{minor.removeprefix('v')}.{check.group.value}"
    case = junit_case(check.id, classname, outcome.took_s, result, text)
    said = list(_besides(report, outcome))
    if said:
        case.system_out = xml_text("\n".join(said))
    return case


def _whole(report: Report, outcome: Outcome) -> Iterator[str]:
    yield f"{outcome.check.title}: no"
    yield from account(report, outcome)
    if outcome.records:
        yield from ("", "transcript:")
        yield from map(record_line, outcome.records)


def _besides(report: Report, outcome: Outcome) -> Iterator[str]:
    """What is shown of a test that passed, too."""
    if mark_of(report, outcome) in (OutcomeMark.PASS, OutcomeMark.WARN, OutcomeMark.FIXED):
        yield from account(report, outcome)
    if outcome.output:
        yield "output of the plugin:"
        yield from outcome.output
