"""What `fuzz` refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kubelet_sim.cli.main import cli


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
