from __future__ import annotations

import shutil
import tempfile
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


@pytest.fixture(scope="session")
def shared_root() -> Iterator[Path]:
    """The root of a node for all tests that leave it as it was: without pods, plugins and faults."""
    folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    with node(folder / "r", "--clock", "manual"):
        yield folder / "r"
    shutil.rmtree(folder, ignore_errors=True)
