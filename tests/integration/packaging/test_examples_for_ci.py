"""The examples of the page about CI: what can be read of them is right."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.unit.packaging.test_examples_for_ci import blocks


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
