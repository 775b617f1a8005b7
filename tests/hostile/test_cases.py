from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.cases import CASES
from tests.hostile.peers import Ground, on_ground, serves_the_next


@pytest.mark.parametrize("name", CASES)
def test_the_node_says_what_happened_and_serves_the_next(name: str, short_root: Path) -> None:
    """One warning for each thing that went wrong, however often it did; then a good plugin and its pod, as ever."""
    case = CASES[name]

    async def body(ground: Ground) -> None:
        await case.attack(ground, f"example.com/{name}")
        assert case.surprises(ground.new_warnings()) == []
        await serves_the_next(ground)

    on_ground(short_root, body)
