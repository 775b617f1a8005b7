"""Transcript files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import ks


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the demo recorded."""
    path = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    done = ks("demo", "--transcript", str(path))
    assert done.returncode == 0, done.stderr
    return path


def test_the_demo_can_be_recorded_and_replayed(transcript: Path) -> None:
    """The file of one process is replayed in another, without sockets, to the same answers."""
    done = ks("replay", str(transcript))
    assert done.returncode == 0, done.stdout
    assert "the same answers" in done.stdout


def test_a_difference_names_file_and_line(transcript: Path, tmp_path: Path) -> None:
    """Somebody else's core decided otherwise: exit code 1, and the place."""
    lines = transcript.read_text("ascii").splitlines()
    number = next(number for number, text in enumerate(lines, 1) if '"kind":"decision"' in text)
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | {"text": "\x1b[31mno"})
    changed = tmp_path / "changed.jsonl"
    changed.write_text("\n".join(lines) + "\n", "ascii")
    done = ks("replay", str(changed))
    assert done.returncode == 1
    assert "replayed: 1 difference\n" in done.stdout
    assert f"{changed}:{number}: a decision" in done.stdout
    assert "\x1b" not in done.stdout
    told = json.loads(ks("replay", str(changed), "-o", "json").stdout)
    assert [each["line"] for each in told["differences"]] == [number]


@pytest.mark.parametrize("data", [b"", b"\xff\n", b"no\n", b'{"transcript":99}\n'])
def test_what_is_no_transcript_is_a_misuse(data: bytes, tmp_path: Path) -> None:
    """One line that names the file, exit code 2."""
    path = tmp_path / "other.jsonl"
    path.write_bytes(data)
    done = ks("replay", str(path))
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_transcript_that_cannot_be_written_is_a_misuse(tmp_path: Path) -> None:
    """The node does not start then."""
    done = ks("run", "--root", str(tmp_path / "r"), "--transcript", str(tmp_path / "none" / "t.jsonl"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
