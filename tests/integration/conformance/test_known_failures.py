from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.conformance import SuiteConfig
from kubelet_sim.conformance.known_failures import known_failures, read_failed, state_file, write_failed
from kubelet_sim.errors import UsageError


def test_a_list_has_an_id_a_line_and_comments(tmp_path: Path) -> None:
    """Blank lines and what follows # mean nothing."""
    file = tmp_path / "known"
    file.write_text("# ours\n\nlaw-a  # issue 7\nlaw-b\n")
    assert known_failures(file, ["law-a", "law-b", "law-c"]) == {"law-a", "law-b"}
    assert known_failures(None, ["law-a"]) == frozenset()


def test_an_unknown_id_is_refused_with_its_line(tmp_path: Path) -> None:
    """A list that names nothing would never be true."""
    file = tmp_path / "known"
    file.write_text("law-a\nlaw-x\n")
    with pytest.raises(UsageError, match=r"known, line 2: .*'law-x'"):
        known_failures(file, ["law-a"])


def test_a_list_that_cannot_be_read_is_said_in_our_words(tmp_path: Path) -> None:
    """Not in those of Python."""
    file = tmp_path / "known"
    with pytest.raises(UsageError, match=r"^cannot read .*known: No such file or directory$"):
        known_failures(file, [])
    file.write_bytes(b"a\xff")
    with pytest.raises(UsageError, match=r"^cannot read .*known: it is no UTF-8 text: byte 1 is 0xff$"):
        known_failures(file, [])


def test_what_failed_is_remembered_for_each_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the user's cache; nothing, or nonsense, counts as nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = state_file(SuiteConfig(command=("a",))), state_file(SuiteConfig(command=("b",)))
    assert one is not None
    assert one != other
    assert tmp_path in one.parents
    assert read_failed(one) == frozenset()
    write_failed(one, {"law-a", "law-b", "law-c"}, {"law-b", "law-a"})
    assert read_failed(one) == {"law-a", "law-b"}
    one.write_text("{")
    assert read_failed(one) == frozenset()


def test_a_check_that_was_not_made_is_remembered_as_it_was(tmp_path: Path) -> None:
    """Whoever mends one of several, or stops at the first failure, still finds the others with --rerun-failed."""
    file = tmp_path / "failed.json"
    write_failed(file, {"law-a", "law-b", "law-c"}, {"law-a", "law-b"})
    write_failed(file, {"law-a", "law-c"}, {"law-c"})
    assert read_failed(file) == {"law-b", "law-c"}


def test_a_user_without_a_home_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container is often run as a number that no user has: that is no reason to fail."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2_000_000_001)
    path = state_file(SuiteConfig(command=("a",)))
    assert path is None
    write_failed(path, {"law-a"}, {"law-a"})
    assert read_failed(path) == frozenset()


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    """The run has its result all the same."""
    (tmp_path / "file").touch()
    write_failed(tmp_path / "file" / "x.json", {"law-a"}, {"law-a"})
