"""The action for GitHub: its steps are run here as a runner would run them, with a stub in place of the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
ACTION: Any = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {each["name"]: each for each in ACTION["runs"]["steps"] if "run" in each}
STUB = """\
#!{python}
import json, os, sys
with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
    log.write(json.dumps([os.getcwd(), *sys.argv]) + "\\n")
sys.exit(int(os.environ.get("STUB_CODE", "0")))
"""


def stub(path: Path) -> None:
    """A program that writes down how it was called."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STUB.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)


class Runner:
    """As much of a runner as the steps see."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.temp = folder / "my work", folder / "temp dir"
        self.output = folder / "output"
        self.log = folder / "log"
        for each in (self.workspace, self.temp):
            each.mkdir()

    def run(self, name: str, **env: str) -> int:
        """Run a step with its variables; the exit code."""
        step = STEPS[name]
        assert set(step["env"]) == set(env)
        known = {
            "GITHUB_WORKSPACE": self.workspace,
            "GITHUB_OUTPUT": self.output,
            "RUNNER_TEMP": self.temp,
            "STUB_LOG": self.log,
        }
        environ = {**os.environ, **{key: str(value) for key, value in known.items()}, **env}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        return subprocess.run(command, cwd=self.workspace, env=environ, check=False, timeout=PATIENCE_S).returncode

    def calls(self) -> list[list[str]]:
        """What the stubs were called with: working directory, program, arguments."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner with nothing installed."""
    return Runner(tmp_path)


def conform(runner: Runner, **env: str) -> int:
    """Run the step that tests, with a stub for kubelet-sim and a real Python."""
    bin_dir = runner.temp / "kubelet-sim" / "bin"
    stub(bin_dir / "kubelet-sim")
    (bin_dir / "python").symlink_to(sys.executable)
    plain = {"COMMAND": "./plugin", "VERSIONS": "1.36", "ARGS": "", "JUNIT": "j.xml", "SARIF": "/abs/s.sarif"}
    return runner.run("Test the plugin", **{**plain, **env})


def test_every_input_is_used_and_described() -> None:
    """Each has a description and, but for the command, a default; none is put into a script, where a shell would read it."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, each in ACTION["inputs"].items():
        assert each["description"]
        assert each.get("required", False) or "default" in each
        assert f"inputs.{name} }}}}" in text
    assert all("${{" not in step["run"] for step in STEPS.values())
    assert all(step["shell"] == "bash" for step in STEPS.values())
    page = (ROOT / "docs" / "how-to" / "conformance-in-ci.md").read_text(encoding="utf-8")
    assert [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", STEPS)
def test_bash_reads_it(name: str) -> None:
    """Every script is one to bash."""
    subprocess.run(["bash", "-n"], input=STEPS[name]["run"], text=True, check=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("version, what", [("", "/the action"), ("1.2.3", "kubelet-sim==1.2.3")])
def test_what_is_installed(runner: Runner, tmp_path: Path, version: str, what: str) -> None:
    """The release that is asked for, or what came with the action, into a venv of its own."""
    stub(tmp_path / "python")
    stub(runner.temp / "kubelet-sim" / "bin" / "python")
    assert (
        runner.run("Install kubelet-sim", PYTHON=str(tmp_path / "python"), VERSION=version, ACTION_PATH="/the action")
        == 0
    )
    venv, pip = runner.calls()
    assert venv[2:] == ["-m", "venv", str(runner.temp / "kubelet-sim")]
    assert pip[-1] == what


def test_what_is_run(runner: Runner) -> None:
    """Versions, options and command arrive word by word; nothing in them is read by a shell."""
    command = "./my\\ plugin --dir {dir} '$(touch owned)' \"two  words\" ; *"
    assert conform(runner, COMMAND=command, VERSIONS="1.24, 1.36\n", ARGS="--break 'rm {id}'") == 0
    ((cwd, _, *words),) = runner.calls()
    reports = ["--junit", f"{runner.workspace}/j.xml", "--sarif", "/abs/s.sarif"]
    assert words == [
        *["conform", "--kubelet-version", "1.24", "--kubelet-version", "1.36", *reports, "--break", "rm {id}", "--"],
        *["./my plugin", "--dir", "{dir}", "$(touch owned)", "two  words", ";", "*"],
    ]
    assert cwd == str(runner.workspace)
    assert list(runner.workspace.iterdir()) == []


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_exit_code_is_that_of_the_run(runner: Runner, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Outputs are there whatever it is, so that reports of a failed run can be uploaded."""
    monkeypatch.setenv("STUB_CODE", str(code))
    assert conform(runner) == code
    assert runner.output.read_text(encoding="utf-8").splitlines() == [
        f"exit-code={code}",
        f"junit={runner.workspace}/j.xml",
        "sarif=/abs/s.sarif",
    ]


def test_a_command_that_is_no_command(runner: Runner) -> None:
    """An open quote ends the step; nothing is run."""
    assert conform(runner, COMMAND="./plugin 'open") != 0
    assert not runner.log.exists()
