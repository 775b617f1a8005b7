"""What `fuzz` refuses before it starts anything, and what it says when it has found nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from kubelet_sim.fuzz import FuzzConfig, SearchResult


@pytest.mark.parametrize(
    "options, why",
    [
        (("--time", "0s"), "--time: expected more than 0"),
        (("--output", "{folder}/none/story.yaml"), "{folder}/none is no directory that you may write to"),
        (("--env", "NAME"), "--env: expected NAME=VALUE"),
    ],
)
def test_what_would_be_searched_for_nothing_is_refused(options: tuple[str, ...], why: str, tmp_path: Path) -> None:
    """What is found after minutes must not be lost because it cannot be written."""
    given = [each.replace("{folder}", str(tmp_path)) for each in options]
    started = tmp_path / "started"
    done = CliRunner().invoke(cli, ["fuzz", *given, "--", "touch", str(started)])
    assert done.exit_code == 2
    assert why.replace("{folder}", str(tmp_path)) in done.output
    assert not started.exists()


@pytest.mark.parametrize(
    "runs, was_cut, said",
    [
        (1, True, ["nothing found: 1 run, 9 things", "The time was over during one more run", "That says little: "]),
        (2, False, ["nothing found: 2 runs, 9 things", "That says little: "]),
        (500, True, ["nothing found: 500 runs, 9 things", "The time was over during one more run"]),
        (500, False, ["nothing found: 500 runs, 9 things"]),
    ],
)
def test_nothing_found_is_told_for_what_it_is_worth(
    runs: int, was_cut: bool, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the time ended a run, and whether there were hardly any, and what to do then."""

    def search(config: FuzzConfig, *_: object) -> SearchResult:
        return SearchResult(config, runs, 9, 25.0, was_cut=was_cut)

    monkeypatch.setattr("kubelet_sim.fuzz.search", search)
    done = CliRunner().invoke(cli, ["fuzz", "--patience", "4s", "--", "./p"])
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert len(lines) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(lines, said, strict=True))
    assert ("more --time" in lines[-1] and "--patience (4 s now)" in lines[-1]) == (runs < 500)
