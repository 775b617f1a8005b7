from __future__ import annotations

import pytest

from kubelet_sim.transcript import Decision, RecordLevel, Transcript
from kubelet_sim.transcript.repeats import Repeats


def transcript(count: int, keep: int) -> Transcript:
    """With so many records."""
    made = Transcript(lambda: 0.0, keep=keep)
    for number in range(count):
        made.add("fact", "s", str(number))
    return made


@pytest.mark.parametrize(
    "count, keep, after, limit, numbers",
    [
        (0, 10, 0, 5, []),
        (3, 10, 0, 5, [1, 2, 3]),
        (3, 10, 0, 2, [1, 2]),
        (3, 10, 2, 5, [3]),
        (3, 10, 3, 5, []),
        (3, 10, 9, 5, []),
        (7, 3, 0, 5, [5, 6, 7]),
        (7, 3, 4, 5, [5, 6, 7]),
        (7, 3, 5, 1, [6]),
    ],
)
def test_records_after_a_number_come_oldest_first(
    count: int, keep: int, after: int, limit: int, numbers: list[int]
) -> None:
    """The oldest first, no more than asked for, without those that were forgotten."""
    assert [record.number for record in transcript(count, keep).after(after, limit)] == numbers


def test_forgets_by_length_too() -> None:
    """Texts of others may be long: together they stay below a bound, and the newest is kept in any case."""
    transcript = Transcript(lambda: 0.0, keep_characters=100)
    for text in ("a" * 40, "b" * 40, "c" * 40):
        transcript.add("fact", "s", text)
    assert [record.text[0] for record in transcript] == ["b", "c"]
    transcript.append(Decision("s", "d", details={"ids": ["x" * 60, "y" * 60]}))
    assert [record.text for record in transcript] == ["d"]
    transcript.add("fact", "s", "e")
    assert [record.text for record in transcript] == ["e"]


def test_a_warning_stands_for_those_like_it() -> None:
    """Only numbers differ: no warning again for a minute; another subject or text is another warning."""
    now = [0.0]
    transcript = Transcript(lambda: now[0])

    def warn(subject: str, text: str) -> str:
        return transcript.add("fact", subject, text, level=RecordLevel.WARNING).level.value

    assert [warn("s", "client 1 fails"), warn("s", "client 22 fails")] == ["warning", "info"]
    assert [warn("t", "client 1 fails"), warn("s", "client 1 hangs")] == ["warning", "warning"]
    now[0] = 59.0
    assert warn("s", "client 3 fails") == "info"
    now[0] = 60.0
    assert [warn("s", "client 4 fails"), warn("s", "client 5 fails")] == ["warning", "info"]


def test_remembers_a_bounded_number_of_warnings() -> None:
    """A plugin that invents a name for every warning cannot fill the memory with them."""
    repeats = Repeats()
    assert not repeats.is_repeat("first", "x", 0.0)
    assert not any(repeats.is_repeat(f"{'s' * 500}", "x" * number, 0.0) for number in range(1, 250))
    assert not any(repeats.is_repeat(f"subject {number}", "x", 0.0) for number in range(1000))
    assert not repeats.is_repeat("first", "x", 0.0)
