from __future__ import annotations

import asyncio
from typing import Any

from kubelet_sim.wire import noise


class Handle:
    """Stands for asyncio's handle of a callback, which is known by its text only."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


POLLER = Handle("<Handle PollerCompletionQueue._handle_events(<loop>)()>")


def test_only_the_known_complaints_are_dropped() -> None:
    """Other errors of the same callback, and the same error elsewhere, reach the handler that was there before."""

    async def body() -> list[str]:
        loop = asyncio.get_running_loop()
        heard: list[str] = []

        def before(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            heard.append(context["message"])

        loop.set_exception_handler(before)
        noise.hush(loop)
        noise.hush(loop)
        loop.call_exception_handler({"message": "known", "exception": BlockingIOError(), "handle": POLLER})
        closed = RuntimeError("Event loop is closed")
        loop.call_exception_handler({"message": "known, too", "exception": closed, "handle": POLLER})
        loop.call_exception_handler({"message": "other error", "exception": OSError(), "handle": POLLER})
        loop.call_exception_handler({"message": "other text", "exception": RuntimeError("x"), "handle": POLLER})
        loop.call_exception_handler({"message": "other place", "exception": BlockingIOError()})
        return heard

    assert asyncio.run(body()) == ["other error", "other text", "other place"]
