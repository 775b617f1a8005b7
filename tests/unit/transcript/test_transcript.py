from __future__ import annotations

import pytest

from kubelet_sim.transcript import Transcript


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
def test_records_after_a_number(count: int, keep: int, after: int, limit: int, numbers: list[int]) -> None:
    """The oldest first, no more than asked for, without those that were forgotten."""
    assert [record.number for record in transcript(count, keep).after(after, limit)] == numbers
