from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import node


@pytest.fixture
def root(short_root: Path) -> Path:
    """Where a node of the test may live; beside it there is room for other files."""
    return short_root / "r"


@pytest.fixture
def running_root(root: Path) -> Iterator[Path]:
    """The root of a node that runs."""
    with node(root, "--clock", "manual"):
        yield root
