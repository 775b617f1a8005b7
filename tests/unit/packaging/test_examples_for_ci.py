"""The examples of the page about CI: what can be read of them is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "conformance-in-ci.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def blocks(language: str) -> list[str]:
    """The examples in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def uses() -> list[dict[str, Any]]:
    """The steps of workflows that use our action."""
    workflows = [yaml.safe_load(text) for text in blocks("yaml")]
    steps = [step for each in workflows for job in each.values() if isinstance(job, dict) for step in _steps(job)]
    return [step for step in steps if "kubelet-sim@" in step.get("uses", "")]


def _steps(jobs: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in jobs.values() if isinstance(job, dict) for step in job.get("steps", [])]


def test_workflows_give_the_action_what_it_takes() -> None:
    """Two use it, with inputs that there are."""
    found = uses()
    assert len(found) == 2
    for step in found:
        assert set(step["with"]) <= set(ACTION["inputs"])
        assert "command" in step["with"]


def test_gitlab_is_given_the_report_that_is_written() -> None:
    """The JUnit report that the job names is the one that the command writes."""
    job = yaml.safe_load(blocks("yaml")[-1])["conformance"]
    assert f"--junit {job['artifacts']['reports']['junit']} " in job["script"][0]
