"""The examples of the page about CI: what can be read of them is right."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import PATIENCE_S

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


def test_make_makes_a_command_of_it(tmp_path: Path) -> None:
    """Make itself says what it would run."""
    (makefile,) = blocks("make")
    (tmp_path / "Makefile").write_text(makefile, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "my-plugin").touch()
    try:
        done = subprocess.run(
            ["make", "-n"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
    except FileNotFoundError:
        pytest.skip("no make on PATH")
    assert (
        "conform --kubelet-version 1.28 --kubelet-version 1.36 --junit build/junit.xml -- bin/my-plugin" in done.stdout
    )
    assert "python3 -m venv build/kubelet-sim" in done.stdout
