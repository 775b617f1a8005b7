"""`conform` with a real plugin: what it writes, where, and what GitHub gets to see."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.running import PLUGIN, PROGRAM, environment, ks
from tests.patience import PATIENCE_S

QUICK = ("conform", "--quick", "--select", "name-valid", "--select", "reg-happens")


def conform(*arguments: object, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Test the example plugin; reports go into the folder."""
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "GITHUB_ACTIONS": "", **env}
    return ks(*QUICK, *arguments, "--", *PLUGIN, "--socket-dir", "{dir}", cwd=folder, env=own)


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
    done = ks("conform", "--junit", "no/such/folder/junit.xml", "--", *plugin, cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"error: --junit no/such/folder/junit\.xml: cannot be written: .*\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_in_a_job_of_github(tmp_path: Path) -> None:
    """Commands are stopped while others may speak; failures are annotations after that, and on the job's page."""
    page = tmp_path / "summary.md"
    wrong = ("--expect-resource", "example.com/other::x", "--start-timeout", "10s")
    done = conform(*wrong, folder=tmp_path, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(page))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])
    assert token is not None
    end = lines.index(f"::{token[1]}::")
    assert [line for line in lines[1:end] if line.startswith("::")] == []
    assert lines[end + 1].startswith("::error title=")
    assert "does not conform" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_tells_what_there_is(tmp_path: Path, number: signal.Signals) -> None:
    """The rest is skipped in the reports; the plugin is gone, though it does not want to end, and the exit code is 130."""
    plugin = "echo $$ > pid; trap '' TERM; exec \"$@\""
    told = ("--known-failures", "known", "--json", "json", "--junit", "junit.xml", "--seed", "1", "-j", "1")
    command = [*PROGRAM, "conform", *told, "--", "sh", "-c", plugin, "sh", *PLUGIN, "--socket-dir", "{dir}"]
    (tmp_path / "known").write_text("reg-happens\n")
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env=environment(XDG_CACHE_HOME=str(tmp_path / "cache"), GITHUB_ACTIONS=""),
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        before = next(line for line in lines if "reg-happens" in line or not line)
        assert before
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(PATIENCE_S) == 130
    assert re.search(r"^interrupted after [0-9]+ of [0-9]+ checks; the plugin is being ended$", rest, re.MULTILINE)
    assert "it passes, and is in the list of known failures" in rest
    assert rest.endswith("interrupted; does not conform\n")
    document = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert (document["conforms"], document["runs"][0]["interrupted"]) == (False, True)
    suites = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - our own
    assert {each.get("message") for each in suites.iter("skipped")} >= {"interrupted"}
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)


def test_a_command_that_cannot_be_run_is_one_line(tmp_path: Path) -> None:
    """Exit code 3; a report that is wanted is written, and has it as an error."""
    done = ks(
        "conform",
        "--junit",
        "junit.xml",
        "--isolate",
        "none",
        "--",
        "./nothere",
        cwd=tmp_path,
        env={"GITHUB_ACTIONS": ""},
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(r"error: the plugin cannot be run: .*'\./nothere': command not found\n", done.stderr)
    assert len(list(ET.parse(tmp_path / "junit.xml").getroot().iter("error"))) == 1  # noqa: S314 - our own
