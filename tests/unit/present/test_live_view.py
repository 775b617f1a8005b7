from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import cast

from attrs import evolve

from kubelet_sim.errors import UsageError
from kubelet_sim.model.views import EventView, NodeSnapshot
from kubelet_sim.node.node import Node
from kubelet_sim.present.live_view import LiveView
from tests.patience import PATIENCE_S
from tests.unit.present.snapshots import SNAPSHOT

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class FakeNode:
    """A node that changes when it is told to."""

    def __init__(self) -> None:
        self.snapshot: NodeSnapshot | None = SNAPSHOT
        self.looks = 0
        self.changed = asyncio.Event()
        self.changed.set()

    async def changes(self) -> AsyncGenerator[None, None]:
        while True:
            await self.changed.wait()
            self.changed.clear()
            yield

    def status(self) -> NodeSnapshot:
        self.looks += 1
        if self.snapshot is None:
            raise UsageError("no kubelet runs")
        return self.snapshot

    def events(self) -> tuple[EventView, ...]:
        return ()


class Terminal:
    """What was written, and a way to wait for it."""

    def __init__(self) -> None:
        self.data = b""
        self._changed = threading.Condition()

    def write(self, data: bytes) -> None:
        with self._changed:
            self.data += data
            self._changed.notify_all()

    def shows(self, text: bytes) -> None:
        """Wait until it has been written."""
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.data, PATIENCE_S)


def following(view: LiveView, node: FakeNode, terminal: Terminal, *texts: bytes) -> None:
    """Follow the node until all of it was shown, and change it in between."""

    async def body() -> None:
        before = asyncio.all_tasks()
        async with view.of(cast("Node", node)):
            for text in texts:
                await asyncio.to_thread(terminal.shows, text)
                node.snapshot = evolve(SNAPSHOT, root="/another")
                node.changed.set()
        assert asyncio.all_tasks() == before

    asyncio.run(asyncio.wait_for(body(), 2 * PATIENCE_S))


def test_a_terminal_shows_the_node_and_is_given_back() -> None:
    """Looks follow changes, on the other screen, which is left at the end with the cursor shown."""
    terminal = Terminal()
    with LiveView(terminal.write) as view:
        node = FakeNode()
        view.line("a line")
        following(view, node, terminal, b"/tmp/ks", b"/another")
    assert b"a line" in terminal.data
    assert terminal.data.count(ENTER) == terminal.data.count(LEAVE) == 1
    assert terminal.data.index(LEAVE) > terminal.data.index(b"/another")
    assert terminal.data.rindex(b"\x1b[?25h") > terminal.data.rindex(b"\x1b[?25l")


def test_a_node_that_never_was_leaves_the_terminal_alone() -> None:
    """An error line must not vanish with the other screen."""
    terminal = Terminal()
    with LiveView(terminal.write):
        pass
    assert terminal.data == b""


def test_a_kubelet_that_is_away_shows_what_was_last() -> None:
    """Between two kubelets there is nothing to look at, and no reason to end."""
    terminal = Terminal()
    with LiveView(terminal.write) as view:
        node = FakeNode()
        node.snapshot = None

        async def body() -> None:
            async with view.of(cast("Node", node)):
                while not node.looks:  # noqa: ASYNC110 - nobody would set an event
                    await asyncio.sleep(0)
                node.snapshot = SNAPSHOT
                await asyncio.to_thread(terminal.shows, b"/tmp/ks")

        asyncio.run(asyncio.wait_for(body(), PATIENCE_S))


def test_a_terminal_that_does_not_read_holds_nobody_up() -> None:
    """The node goes on being looked at, and the end does not wait for ever."""
    reading, busy = threading.Event(), threading.Event()

    def write(_: bytes) -> None:
        busy.set()
        assert reading.wait(PATIENCE_S)

    view = LiveView(write)
    try:
        with view:
            node = FakeNode()

            async def body() -> None:
                async with view.of(cast("Node", node)):
                    await asyncio.to_thread(busy.wait, PATIENCE_S)
                    before = node.looks
                    while node.looks < before + 2:
                        node.changed.set()
                        await asyncio.sleep(0)

            asyncio.run(asyncio.wait_for(body(), PATIENCE_S))
    finally:
        reading.set()
        view._thread.join(PATIENCE_S)


def test_a_terminal_that_is_gone_is_no_error() -> None:
    """Nobody is told."""

    def write(_: bytes) -> None:
        raise BrokenPipeError

    view = LiveView(write)
    with view:
        node = FakeNode()

        async def body() -> None:
            async with view.of(cast("Node", node)):
                await asyncio.to_thread(view._thread.join, PATIENCE_S)

        asyncio.run(asyncio.wait_for(body(), 2 * PATIENCE_S))
    assert not view._thread.is_alive()
