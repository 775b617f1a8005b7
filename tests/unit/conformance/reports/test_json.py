from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator, ValidationError

from kubelet_sim.conformance.reports.json import document, render, schema
from tests.unit.conformance.reports.samples import ALL, EVERYTHING, FAILED, GOOD, HOSTILE, report


def test_the_document_fits_its_schema() -> None:
    """Every status, several runs, and no run at all are valid; the schema itself is valid, too."""
    Draft202012Validator.check_schema(schema())
    for reports in ([EVERYTHING, GOOD], [report()], []):
        Draft202012Validator(schema()).validate(json.loads(render(reports)))


def test_the_schema_refuses_what_is_not_it() -> None:
    """A mark that there is not, or a missing member, is no report."""
    value = json.loads(render([GOOD]))
    value["runs"][0]["outcomes"][0]["mark"] = "green"
    with pytest.raises(ValidationError):
        Draft202012Validator(schema()).validate(value)


def test_text_of_others_comes_back_to_the_letter() -> None:
    """Text of others comes back to the letter, halves of characters included, and the text of the document is ASCII."""
    text = render([EVERYTHING])
    assert text.isascii()
    assert "\x1b" not in text
    (run,) = json.loads(text)["runs"]
    (failed,) = (each for each in run["outcomes"] if each["check"] == FAILED.check.id)
    assert failed["findings"][1]["evidence"] == {"id": HOSTILE, "took_s": 1.5, "ids": ["a", "b"]}
    assert failed["output"] == ["starting", HOSTILE]
    assert failed["transcript"][0]["details"] == {"ids": ["a"]}
    assert run["notes"] == [HOSTILE]


def test_the_document_conforms_if_every_run_does() -> None:
    """The document conforms if every run does, and not without any."""
    assert document([GOOD, GOOD])["conforms"] is True
    assert document([GOOD, EVERYTHING])["conforms"] is False
    assert document([])["conforms"] is False
    assert set(document([EVERYTHING])["checks"]) == {each.check.id for each in ALL}
