from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubelet_sim.conformance.config import SuiteConfig
from kubelet_sim.conformance.in_process_plugin import InProcessPlugin
from kubelet_sim.errors import UsageError
from kubelet_sim.node.root_directory.layout import RootLayout

LAYOUT = RootLayout(Path("/tmp/root"))


def test_a_plugin_in_process_is_entered_left_and_started_again() -> None:
    """It is entered with the directory, and left once at the end; it can be started again then."""
    seen: list[object] = []

    @contextmanager
    def plugin(directory: Path) -> Iterator[None]:
        seen.append(directory)
        yield
        seen.append("left")

    async def body() -> None:
        process = InProcessPlugin(plugin, LAYOUT, lambda: seen.append("changed"))
        assert (process.was_started, process.has_ended, process.pid, process.family()) == (False, False, None, [])
        await process.start()
        assert (process.was_started, process.has_ended, process.exit_code) == (True, False, None)
        with pytest.raises(UsageError):
            await process.start()
        assert not await process.ended(0.01)
        process.signal(signal.SIGHUP)
        process.stop()
        process.stop()
        assert await process.ended(5)
        assert (process.has_ended, process.exit_code) == (True, 0)
        await process.start()
        assert not process.has_ended
        await process.close()
        await process.close()

    asyncio.run(body())
    assert seen == [LAYOUT.device_plugins, "left", "changed"] * 2


def test_a_plugin_in_process_that_raises_has_ended_with_1() -> None:
    """What a plugin raises when it is entered is its output."""

    @contextmanager
    def plugin(directory: Path) -> Iterator[None]:
        raise RuntimeError("no devices")
        yield

    async def body() -> None:
        process = InProcessPlugin(plugin, LAYOUT)
        await process.start()
        assert (process.has_ended, process.exit_code) == (True, 1)
        assert process.output().endswith("RuntimeError: no devices")
        await process.kill()

    asyncio.run(body())


def test_only_one_thing_is_tested() -> None:
    """A command and a plugin in this process are one too many."""
    with pytest.raises(UsageError, match="one of them"):
        SuiteConfig(command=("x",), start=lambda _: contextmanager(lambda: iter([None]))()).check()
