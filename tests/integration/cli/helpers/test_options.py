from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.cli.helpers.options import root_path


def test_the_root_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root that is named relative to the working directory is found from anywhere; without a name there is a default."""
    monkeypatch.chdir(tmp_path)
    assert root_path(Path("r")) == tmp_path.resolve() / "r"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert root_path(None) == tmp_path.resolve() / "kubelet-sim"
