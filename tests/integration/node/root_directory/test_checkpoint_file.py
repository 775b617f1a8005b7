from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kubelet_sim.errors import CheckpointNotWritten, CheckpointTooLarge, UsageError
from kubelet_sim.node.root_directory import checkpoint_file
from kubelet_sim.node.root_directory.checkpoint_file import read_file, read_for_people, within_bounds, write_advice
from kubelet_sim.node.root_directory.checkpoint_store import write_file

NAME = "kubelet_internal_checkpoint"


def test_a_file_within_bounds_is_read_whole(tmp_path: Path) -> None:
    """It is read whole, to the last byte that is allowed. Rules: CP-15"""
    (tmp_path / NAME).write_bytes(b"{}")

    assert read_file(tmp_path / NAME) == b"{}"
    assert within_bounds("it", b"{}") == b"{}"


def test_a_file_of_too_many_bytes_is_refused_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte more than the bound is refused by its size; the file is left alone. Rules: DM-143"""
    monkeypatch.setattr(checkpoint_file, "MOST_BYTES", 2**20)
    path = tmp_path / NAME
    path.write_bytes(b" " * 2**20)
    read_file(path)
    path.write_bytes(b" " * (2**20 + 1))

    with pytest.raises(CheckpointTooLarge, match=f"{path}: it has 1 MiB or more, and kubelet-sim reads"):
        read_file(path)
    assert path.exists()


def test_a_file_of_too_many_values_is_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small values in great number are refused before they are made. Rules: DM-143"""
    monkeypatch.setattr(checkpoint_file, "MOST_VALUES", 1000)
    within_bounds("it", b'{"x":[' + b"1," * 997 + b"1]}")

    with pytest.raises(UsageError, match="it: it holds about 1,001 values"):
        within_bounds("it", b'{"x":[' + b"1," * 998 + b"1]}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """People are told which one. Rules: CP-14"""
    with pytest.raises(UsageError, match=f"there is no {tmp_path}/gone"):
        read_for_people(tmp_path / "gone")


def test_a_circle_of_links_is_told_in_the_systems_words(tmp_path: Path) -> None:
    """What cannot even be looked at is told in the system's words. Rules: DM-143"""
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(UsageError, match="too many levels of symbolic links"):
        read_for_people(tmp_path / "circle")


@pytest.mark.parametrize(
    "number, remedy",
    [
        (errno.ENOSPC, "free some space on the file system of /d"),
        (errno.EDQUOT, "free some space on the file system of /d"),
        (errno.EFBIG, "raise the limit on the size of files (ulimit -f)"),
        (errno.EROFS, "make the file system of /d writable"),
        (errno.EACCES, "make /d writable for the user that runs the node"),
        (errno.EIO, "look at the disk of /d"),
        (errno.ENOTDIR, "look at /d"),
    ],
)
def test_what_helps(number: int, remedy: str) -> None:
    """Every failure of a write names the file, and what to do about it. Rules: CP-3"""
    advice = write_advice(Path("/d") / NAME, OSError(number, os.strerror(number)))
    assert advice.startswith(
        f"the checkpoint /d/{NAME} was not written: {remedy}. What was there before is still there"
    )


def test_a_failed_write_has_advice_beside_its_text(tmp_path: Path) -> None:
    """The text stays the kubelet's; a parent that is a file is no directory to write to. Rules: CP-3, DM-135"""
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / NAME, tmp_path / "file" / "sub" / NAME):
        with pytest.raises(CheckpointNotWritten) as caught:
            write_file(path, b"new")
        assert "look at" in caught.value.advice
        assert "look at" not in str(caught.value)

    (tmp_path / NAME).mkdir()
    with pytest.raises(CheckpointNotWritten) as caught:
        write_file(tmp_path / NAME, b"new")
    assert f"move {tmp_path / NAME} away: it is a directory" in caught.value.advice
