"""Why what a test waited for did not come: what there is instead, and which processes beside the node have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from attrs import frozen

from kubelet_sim.errors import TransportError
from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.model.views import NodeSnapshot

T = TypeVar("T")
_LOOK_S = 0.05


class InVain(TransportError):
    """What was waited for did not come in time."""


@frozen
class Gone:
    """A process beside the node has ended."""

    text: str
    """Its name, how it ended, what it said. Foreign text in it is not escaped."""
    never_ran: bool
    """Whether there is no such command, or nobody may run it: nothing will come of it."""


Beside = Callable[[], Gone | None]
"""Looks after a process: `None` as long as it runs."""


async def unless_hopeless(waiting: Coroutine[Any, Any, T], beside: Sequence[Beside]) -> T:
    """What the wait returns; given up as soon as a process beside the node turns out to be a command that cannot be run.

    Raises `TransportError` then. One that ran and has ended may have been meant to.
    """
    task = asyncio.ensure_future(waiting)
    try:
        while not (await asyncio.wait({task}, timeout=_LOOK_S if beside else None))[0]:
            for gone in (look() for look in beside):
                if gone is not None and gone.never_ran:
                    raise TransportError(f"what was waited for cannot come: {shown(gone.text)}")
    finally:
        task.cancel()
        await asyncio.wait({task})
    return task.result()


def instead(snapshot: NodeSnapshot, beside: Sequence[Beside]) -> str:
    """What was there at the end of a wait in vain, on one line; resources and pods as the node names them."""
    told = [f"{each.name} has {each.words}" for each in snapshot.resources] or ["no plugin has registered"]
    told += [f"the pod {each.namespace}/{each.name} is {each.phase}" for each in snapshot.pods]
    told += [gone.text for look in beside if (gone := look()) is not None]
    return "; ".join(map(shown, told))


def shown(text: str) -> str:
    """Text of others in an error that pytest prints."""
    return escape_terminal(cut(text, 500))
