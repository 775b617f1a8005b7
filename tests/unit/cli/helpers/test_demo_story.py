from __future__ import annotations

import sys

import pytest

from kubelet_sim.cli.helpers.demo_story import next_text, our_command


@pytest.mark.parametrize(
    "on_path, started, expected",
    [
        (True, "/venv/bin/kubelet-sim", "kubelet-sim"),
        (False, "/my venv/bin/kubelet-sim", "'/my venv/bin/kubelet-sim'"),
        (False, "/x/kubelet_sim/__main__.py", f"{sys.executable} -m kubelet_sim"),
    ],
)
def test_the_last_lines_name_a_command_that_works(
    on_path: bool, started: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name only if a shell would find that."""
    monkeypatch.setattr("shutil.which", lambda _: "/bin/x" if on_path else None)
    monkeypatch.setattr(sys, "argv", [started, "demo"])
    assert our_command() == expected
    assert f"  {expected} exec -- ./my-plugin   " in next_text(our_command())
