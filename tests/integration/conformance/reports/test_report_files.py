from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from kubelet_sim.conformance.reports import FORMATS, append_summary, targets, write
from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.text_files import replace
from tests.unit.conformance.reports.samples import EVERYTHING, GOOD


def test_every_format_is_written(tmp_path: Path) -> None:
    """Several in one run, each to its file, with the permissions of any new file; nothing else is left in the folder."""
    wanted = targets([(name, str(tmp_path / name)) for name in FORMATS])
    assert list(tmp_path.iterdir()) == []
    write(wanted, [EVERYTHING])
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(FORMATS)
    (tmp_path / "other").touch()
    assert stat.S_IMODE((tmp_path / "json").stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)
    assert json.loads((tmp_path / "json").read_text(encoding="utf-8"))["version"] == 1


def test_a_report_for_a_dash_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """The report goes there, and nothing else does."""
    write(targets([("tap", "-")]), [GOOD])
    assert capsys.readouterr().out.startswith("TAP version 14\n")


@pytest.mark.parametrize(
    "wanted, text",
    [
        ([("json", "{dir}")], "is a directory"),
        ([("json", "{dir}/no/file")], "No such file or directory"),
        ([("json", "{dir}/file/file")], "Not a directory"),
        ([("json", "{dir}/" + "x" * 300)], "File name too long"),
        ([("json", "{dir}/a"), ("tap", "{dir}/a")], "another report"),
        ([("json", "-"), ("tap", "-")], "another report"),
        ([("pdf", "{dir}/a")], "there is no format 'pdf'"),
    ],
)
def test_what_cannot_be_written_is_said_before(tmp_path: Path, wanted: list[tuple[str, str]], text: str) -> None:
    """One error that names the option and the path; nothing is left behind by looking."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=text):
        targets([(name, path.format(dir=tmp_path)) for name, path in wanted])
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_looking_does_not_touch_an_old_report(tmp_path: Path) -> None:
    """A run that is broken off leaves the report of the last one."""
    path = tmp_path / "report.json"
    path.write_text("old", encoding="utf-8")
    targets([("json", str(path))])
    assert path.read_text(encoding="utf-8") == "old"


def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fails, the old report stays, nothing is left beside it, and the other reports are written."""
    old = tmp_path / "report.json"
    old.write_text("old", encoding="utf-8")
    wanted = targets([("json", str(old)), ("tap", "/dev/null")])
    failures = [OSError(28, "No space left on device")]

    def full(_: int) -> None:
        raise failures.pop()

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TransportError, match="No space left"):
        write(wanted, [GOOD])
    assert [each.read_text(encoding="utf-8") for each in tmp_path.iterdir()] == ["old"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it points at is replaced, and keeps its permissions."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o600)
    link.symlink_to(real)
    replace(link, b"new")
    assert link.is_symlink()
    assert (real.read_bytes(), stat.S_IMODE(real.stat().st_mode)) == (b"new", 0o600)


def test_the_page_of_a_job_is_added_to(tmp_path: Path) -> None:
    """Only in a job of GitHub's; a page that cannot be written is no reason to fail."""
    page = tmp_path / "summary.md"
    page.write_text("before\n", encoding="utf-8")
    append_summary({"GITHUB_STEP_SUMMARY": str(page)}, [GOOD])
    assert page.read_text(encoding="utf-8") == "before\n"
    append_summary({"GITHUB_STEP_SUMMARY": str(page), "GITHUB_ACTIONS": "true"}, [GOOD])
    assert page.read_text(encoding="utf-8").startswith("before\n## kubelet-sim conform\n")
    append_summary({"GITHUB_STEP_SUMMARY": str(tmp_path), "GITHUB_ACTIONS": "true"}, [GOOD])
