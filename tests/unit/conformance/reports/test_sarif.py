from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from jsonschema import Draft7Validator

from kubelet_sim.conformance.reports.sarif import program_uri, render
from kubelet_sim.conformance.verdict import Finding, Report
from tests.unit.conformance.reports.samples import EVERYTHING, FAILED, GOOD, HOSTILE, report

SCHEMA = json.loads((Path(__file__).parents[1] / "schemas" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))


def run_of(one: Report) -> Any:
    """The only run of the document."""
    (run,) = json.loads(render([one]))["runs"]
    return run


def test_the_document_fits_the_official_schema() -> None:
    """Every status with hostile text is valid, formats of references included, as are several runs and none."""
    validator = Draft7Validator(SCHEMA, format_checker=Draft7Validator.FORMAT_CHECKER)
    for reports in ([EVERYTHING], [EVERYTHING, GOOD], [report()], []):
        validator.validate(json.loads(render(reports)))


def test_findings_are_results() -> None:
    """Each finding is one, at its level, and points at its rule; what passed or was skipped is not told."""
    run = run_of(EVERYTHING)
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("reg-fails", "note"),
        ("reg-fails", "error"),
        ("reg-known", "note"),
        ("reg-known", "error"),
        ("law-warns", "warning"),
    ]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])
    assert [each["ruleId"] for each in run["results"] if "suppressions" in each] == ["reg-known", "reg-known"]
    assert HOSTILE in run["results"][1]["message"]["text"]


def test_what_could_not_be_carried_out_is_a_notification() -> None:
    """It is about the tool, not about the plugin."""
    (note,) = run_of(EVERYTHING)["invocations"][0]["toolExecutionNotifications"]
    assert note["associatedRule"]["id"] == "alloc-breaks"


def test_a_finding_is_known_again() -> None:
    """Its fingerprint outlives other ids in its text and a patch release; another level is another finding."""
    again = evolve(FAILED, findings=tuple(Finding(each.level, "other words") for each in FAILED.findings))
    old, new = run_of(report(FAILED)), run_of(report(again, version="v1.36.3"))
    prints = [[each["partialFingerprints"] for each in run["results"]] for run in (old, new)]
    assert prints[0] == prints[1]
    assert prints[0][0] != prints[0][1]


@pytest.mark.parametrize(
    "command, uri",
    [
        ("./bin/plugin --x", "bin/plugin"),
        ("/usr/bin/plugin", "usr/bin/plugin"),
        ("'my plugin'", "my%20plugin"),
        ("", "plugin"),
        ("'open", "%27open"),
        ("a:b", "a%3Ab"),
    ],
)
def test_the_place_is_the_program(command: str, uri: str) -> None:
    """A relative reference, whatever the command line is."""
    assert program_uri(command) == uri
