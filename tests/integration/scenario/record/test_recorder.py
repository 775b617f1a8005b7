from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.text_files import write_text


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """With its mode, through a link; nothing else is left in the directory."""
    file, link = tmp_path / "f", tmp_path / "l"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text(link, "new")
    assert (file.read_text(encoding="utf-8"), file.stat().st_mode & 0o777) == ("new", 0o640)
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "l"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """A file that cannot be written is misuse, and the error says why."""
    with pytest.raises(UsageError, match="No such file"):
        write_text(tmp_path / "no" / "f", "x")
