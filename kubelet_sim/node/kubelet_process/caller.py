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
    ended = asyncio.ensure_future(event.wait())
    try:
        return await unless_done(ended, awaitable, failure)
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)


async def unless_done(end: asyncio.Future[Any], awaitable: Awaitable[T], failure: Callable[[], Exception]) -> T:
    """The result, or `failure` as soon as the other is done; the work is cancelled then, and has ended."""
    work = asyncio.ensure_future(awaitable)
    both: set[asyncio.Future[Any]] = {work, end}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise failure()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
