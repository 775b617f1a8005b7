"""Whoever waits for a walk, and may stop waiting before it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from attrs import define, field

T = TypeVar("T")


@define
class Caller:
    """Whoever waits for a walk: a Register call that can be given up by its caller. Rules: DM-30"""

    registration_socket: str = ""
    """The path of the socket by which the plugin watcher found the plugin, if that is who waits."""
    _gone: asyncio.Event = field(factory=asyncio.Event)
    _answered: asyncio.Event = field(factory=asyncio.Event)

    def leave(self) -> None:
        """The caller has hung up, or its own deadline has passed."""
        self._gone.set()

    def answer(self) -> None:
        """The caller need not wait any longer, whatever is still to come. Rules: DM-163"""
        self._answered.set()

    async def wait(self, work: asyncio.Task[Any]) -> bool:
        """Return when the work is done or the caller was answered before; whether it is done."""
        answered = asyncio.ensure_future(self._answered.wait())
        try:
            await asyncio.wait({work, answered}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answered.cancel()
        return work.done()

    async def unless_gone(self, awaitable: Awaitable[T], failure: Callable[[], Exception]) -> T:
        """The result, or `failure` as soon as the caller leaves; the work is cancelled then."""
        return await unless_set(self._gone, awaitable, failure)


async def unless_set(event: asyncio.Event, awaitable: Awaitable[T], failure: Callable[[], Exception]) -> T:
    """The result, or `failure` as soon as the event is set; the work is cancelled then, and has ended."""
    work = asyncio.ensure_future(awaitable)
    ended = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise failure()
    finally:
        for task in (work, ended):
            task.cancel()
        await asyncio.gather(work, ended, return_exceptions=True)
