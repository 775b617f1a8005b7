"""The schema of story files against the stories that there are, and the pages made from the table of steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kubelet_sim.scenario.story.schema import schema
from tools import generate_scenario_page

ROOT = Path(__file__).resolve().parents[4]
VALIDATOR = jsonschema.Draft202012Validator(schema())
STORIES = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))


def test_the_schema_is_one() -> None:
    """The schema is a valid JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_pages_are_fresh() -> None:
    """What is committed is what the table of steps says; `python tools/generate_scenario_page.py` writes it."""
    assert generate_scenario_page.main(["--check"]) == 0


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_stories_fit_it(path: Path) -> None:
    """Every story of ours; a fragment has no name and would fit, too."""
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        VALIDATOR.validate(document)


@pytest.mark.parametrize("name", ["scenarios.json", "scenarios2.json"])
def test_recorded_stories_fit_it(name: str) -> None:
    """Those of the vectors; a few of each step are enough, the schema is slow."""
    seen: dict[str, int] = {}
    for story in json.loads((ROOT / "tests" / "vectors" / name).read_text(encoding="utf-8")):
        new = [step for step in story["steps"] if seen.setdefault(step["do"], 0) < 5]
        for step in new:
            seen[step["do"]] += 1
        VALIDATOR.validate({**story, "steps": new})


@pytest.mark.parametrize(
    "broken",
    [
        {"steps": [{"do": "dance"}]},
        {"steps": [{"do": "serve"}]},
        {"steps": [{"do": "pause", "plugin": "p"}]},
        {"plugins": {"p": {"resource": "example.com/dev"}}},
        {"plugins": {"p": {"command": []}}},
        {"node": {"policy": "bets-effort"}},
        {"stpes": []},
        7,
    ],
)
def test_slips_of_the_pen_do_not_fit(broken: Any) -> None:
    """An unknown word, a missing key, a key too many, a wrong value."""
    assert not VALIDATOR.is_valid(broken)
