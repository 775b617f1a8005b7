from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree as ET

import xmlschema
from attrs import evolve
from junitparser import JUnitXml

from kubelet_sim.conformance.reports.junit import render
from kubelet_sim.conformance.verdict import Report
from kubelet_sim.foreign import xml_text
from tests.unit.conformance.reports.samples import EVERYTHING, FAILED, GOOD, HOSTILE, WARNED, report

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parents[1] / "schemas" / "junit-10.xsd"))


def cases(*reports: Report) -> dict[str, ET.Element]:
    """The tests by name."""
    root = ET.fromstring(render(reports))  # noqa: S314 - of our own making
    return {each.attrib["name"]: each for each in root.iter("testcase")}


def test_the_document_fits_the_schema_that_jenkins_uses() -> None:
    """Every status with hostile text is valid, as are several runs, long times and no run at all."""
    long = report(evolve(FAILED, took_s=123456.789), version="v1.24.17")
    for reports in ([EVERYTHING], [EVERYTHING, GOOD, long], [report()], []):
        SCHEMA.validate(io.BytesIO(render(reports)))


def test_what_counts_is_a_failure_and_what_is_broken_an_error() -> None:
    """What counts is a failure, what could not be carried out an error, and the rest is skipped or passes."""
    found = {name: [each.tag for each in case if each.tag != "system-out"] for name, case in cases(EVERYTHING).items()}
    assert found == {
        "reg-passes": [],
        "reg-fails": ["failure"],
        "reg-known": ["skipped"],
        "reg-fixed": ["failure"],
        "law-warns": [],
        "health-skips": ["skipped"],
        "alloc-breaks": ["error"],
    }


def test_warnings_fail_if_strict() -> None:
    """The type of the failure is the level of the finding."""
    failure = cases(report(WARNED, is_strict=True))["law-warns"].find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "surprising", "type": "warning"}


def test_counts_are_those_of_the_tests() -> None:
    """Suites and the whole count what is in them, as the library counts it."""
    xml = JUnitXml.fromstring(render([EVERYTHING]).decode())
    assert (xml.tests, xml.failures, xml.errors) == (7, 2, 1)
    for suite in xml:
        told = (suite.tests, suite.failures, suite.errors, suite.skipped)
        suite.update_statistics()  # type: ignore[no-untyped-call]
        assert (suite.tests, suite.failures, suite.errors, suite.skipped) == told


def test_a_failure_says_all() -> None:
    """Evidence, why, fix and transcript are its text; the plugin's output is the test's; a suite names the run."""
    root = ET.fromstring(render([EVERYTHING]))  # noqa: S314 - of our own making
    failure = cases(EVERYTHING)["reg-fails"].find("failure")
    assert failure is not None
    text = failure.text or ""
    for part in (
        'ids: ["a", "b"]',
        "why it matters: It matters <much>.",
        "how to fix it:",
        "Register came",
        "explain reg-fails",
    ):
        assert part in text
    said = cases(EVERYTHING)["reg-fails"].findtext("system-out") or ""
    assert said.startswith("output of the plugin:\nstarting\n")
    properties = {each.attrib["name"]: each.attrib["value"] for each in root.iter("property")}
    assert (properties["seed"], properties["kubelet"], properties["resources"]) == ("7", "v1.36.2", "example.com/dev")


def test_no_illegal_character_gets_in() -> None:
    """Whatever XML cannot hold is written out, once; markup is text."""
    assert xml_text("\x00\x1b\ufffe\ud800\r\n\t<") == "\\x00\\x1b\\ufffe\\ud800\\r\n\t<"
    case = cases(EVERYTHING)["alloc-breaks"].find("error")
    assert case is not None
    assert case.attrib["message"] == xml_text(f"did not end within 120 s {HOSTILE}")
