"""What our own CI is made of: locked versions, and the workflow that runs `.ci/run`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))


def test_the_lock_has_a_version_of_every_requirement() -> None:
    """Of every extra, too, and one that the project takes; a line that is missing is made by the command at its top."""
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^ \n]+)", LOCK, re.MULTILINE))
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    wanted = [each for each in map(Requirement, lines) if each.name != PROJECT["name"]]
    assert wanted
    for each in wanted:
        name = each.name.lower().replace("_", "-")
        assert name in locked, f"{each.name} is not in requirements.lock"
        assert each.specifier.contains(locked[name]), f"{each} and the lock's {locked[name]}"


def test_the_lock_names_no_place() -> None:
    """Versions alone: where packages come from is told by whoever installs, and may be a mirror."""
    assert "://" not in LOCK
    assert "--index" not in LOCK


def test_the_workflow_runs_the_script_with_the_oldest_python() -> None:
    """It does nothing that `.ci/run` would not do elsewhere."""
    job = WORKFLOW["jobs"]["ci"]
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert oldest in job["strategy"]["matrix"]["python"]
    assert [step["run"].split()[-1] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert all(re.fullmatch(r"actions/[a-z-]+@v[0-9]+", step["uses"]) for step in job["steps"] if "uses" in step)
