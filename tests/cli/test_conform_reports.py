"""`conform` with a real plugin: what it writes, where, and what GitHub gets to see."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.running import PLUGIN, PROGRAM, environment

QUICK = ("conform", "--quick", "--select", "name-valid", "--select", "reg-happens")


def conform(*arguments: object, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Test the example plugin; reports go into the folder."""
    command = [*PROGRAM, *QUICK, *map(str, arguments), "--", *PLUGIN, "--socket-dir", "{dir}"]
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "GITHUB_ACTIONS": "", **env}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=50, check=False, env=environment(**own), cwd=folder
    )


def test_several_reports_of_one_run(tmp_path: Path) -> None:
    """Each format is written, and the terminal has its report as well, with a table of both kubelets."""
    names = ("json", "junit", "html", "sarif", "tap", "matrix")
    options = [word for name in names for word in (f"--{name}", name)]
    done = conform(*options, "--kubelet-version", "1.36", "--kubelet-version", "1.24", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reg-happens  ✓" in re.sub(" +", " ", done.stdout).replace("reg-happens ✓", "reg-happens  ✓")
    assert {each.name for each in tmp_path.iterdir()} == {*names, "cache"}
    document = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert document["conforms"] is True
    assert [run["about"]["kubelet_version"][:5] for run in document["runs"]] == ["v1.36", "v1.24"]


def test_a_report_on_stdout_is_alone_there(tmp_path: Path) -> None:
    """The terminal's report goes to stderr."""
    done = conform("--json", "-", folder=tmp_path)
    assert json.loads(done.stdout)["conforms"] is True
    assert "conforms" in done.stderr


def test_a_path_that_cannot_be_written_is_said_before_the_run(tmp_path: Path) -> None:
    """One line and exit code 2; the plugin was never started."""
    plugin = [sys.executable, "-c", "open('started', 'w')"]
    command = [*PROGRAM, "conform", "--junit", "no/such/folder/junit.xml", "--", *plugin]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=50, check=False, env=environment(), cwd=tmp_path
    )
    assert done.returncode == 2
    assert re.fullmatch(r"error: --junit no/such/folder/junit\.xml: cannot be written: .*\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_in_a_job_of_github(tmp_path: Path) -> None:
    """Commands are stopped while others may speak; failures are annotations after that, and on the job's page."""
    page = tmp_path / "summary.md"
    wrong = ("--expect-resource", "example.com/other::x")
    done = conform(*wrong, folder=tmp_path, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(page))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])
    assert token is not None
    end = lines.index(f"::{token[1]}::")
    assert [line for line in lines[1:end] if line.startswith("::")] == []
    assert lines[end + 1].startswith("::error title=")
    assert "does not conform" in page.read_text(encoding="utf-8")
