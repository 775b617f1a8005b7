"""Fixtures for tests of the node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.node.bench import Bench, RunOnBench, bench
from tests.patience import PATIENCE_S


@pytest.fixture
def on_bench(short_root: Path) -> RunOnBench:
    """Run a test's body with a started node: `on_bench(body, **choices)`."""

    def run(body: Callable[[Bench], Awaitable[None]], **choices: Any) -> None:
        async def whole() -> None:
            async with bench(short_root, **choices) as started:
                await body(started)

        asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE_S))

    return run
