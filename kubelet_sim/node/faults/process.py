"""Faults of the plugin's process: stopped, ended, killed in the middle of a call."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from kubelet_sim.errors import UsageError
from kubelet_sim.model.device import Device
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import choice, seconds
from kubelet_sim.node.faults.calls import UNARY
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.node.faults.signals import Listener, listener
from kubelet_sim.node.faults.through import Through, lasting
from kubelet_sim.transcript import RecordLevel

T = TypeVar("T")
_ON_ITS_WAY_S = 0.02
"""How long a request takes to a process that is stopped, in real time; it waits in the socket."""


@kind(
    "stop-plugin",
    "process",
    "The plugin's process is stopped (SIGSTOP): its connections stay, calls to it do not come back. So looks a plugin in"
    " uninterruptible sleep, and a node under memory pressure.",
    undo="and it goes on (SIGCONT)",
    rules=("DM-41", "DM-43"),
    filters=PLUGIN,
)
async def _stop(active: ActiveFault) -> str:
    found = listener(active.reach.plugin_socket(active.fault))
    found.send(signal.SIGSTOP)

    def go_on() -> None:
        with contextlib.suppress(UsageError):  # it was killed meanwhile
            found.send(signal.SIGCONT)

    active.at_the_end(go_on)
    active.once(_subject(active), "its process is stopped")
    return f"process {found.pid} is stopped"


@kind(
    "terminate-plugin",
    "process",
    "The plugin's process gets SIGTERM, with its stream open: as when its pod is deleted.",
    rules=("DM-42",),
    filters=PLUGIN,
)
async def _terminate(active: ActiveFault) -> str:
    return _signal(active, signal.SIGTERM)


@kind(
    "kill-plugin",
    "process",
    "The plugin's process gets SIGKILL: its socket's file stays, and nobody listens.",
    rules=("DM-42",),
    filters=PLUGIN,
)
async def _kill(active: ActiveFault) -> str:
    return _signal(active, signal.SIGKILL)


def _signal(active: ActiveFault, number: signal.Signals) -> str:
    found = listener(active.reach.plugin_socket(active.fault))
    found.send(number)
    active.once(_subject(active), f"its process gets {number.name}")
    return f"process {found.pid} got {number.name}"


@lasting(
    "kill-in-call",
    "process",
    "The plugin's process is killed (SIGKILL) while it works on a call: what it has done of it stays done, and nobody has"
    " the answer.",
    "the plugin is killed inside its next {call}",
    undo="and calls go well again",
    arguments=(
        choice("call", (*UNARY, "ListAndWatch"), "Allocate", "Inside which call."),
        seconds(
            "after",
            0.0,
            "How long after it was sent, in real time; a plugin that is faster has answered. At 0 it is stopped before, so"
            " that it cannot answer.",
        ),
    ),
    rules=("DM-78", "DM-101"),
    filters=PLUGIN,
    counts=True,
    usual_count=1,
)
class _Killed(Through):
    def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        return self._lists(self.inner.list_and_watch())

    async def _lists(self, stream: AsyncIterator[tuple[Device, ...]]) -> AsyncIterator[tuple[Device, ...]]:
        async def first() -> tuple[Device, ...] | None:
            return await anext(stream, None)

        devices = await self.around("ListAndWatch", first)
        while devices is not None:
            yield devices
            devices = await first()

    async def around(self, call: str, make: Callable[[], Awaitable[T]]) -> T:
        after_s = self.active.arguments["after"]
        found = self._found(call)
        if found is not None and not after_s:
            found.send(signal.SIGSTOP)  # the request reaches it, and it cannot answer
        work = asyncio.ensure_future(make())
        try:
            if found is not None:
                await asyncio.wait({work}, timeout=after_s or _ON_ITS_WAY_S)
                self._kill(found, call, is_answered=work.done())
            return await work
        finally:
            work.cancel()

    def _found(self, call: str) -> Listener | None:
        """The process that is to be killed in that call, if any."""
        if self.active.arguments["call"] != call:
            return None
        try:
            found = listener(Path(self.path))
            found.check()
        except UsageError as failure:
            self.active.note(self.subject, f"cannot kill the plugin in {call}: {failure}", RecordLevel.WARNING)
            return None
        return found if self.active.once(self.subject, f"process {found.pid} is to be killed inside {call}") else None

    def _kill(self, found: Listener, call: str, *, is_answered: bool) -> None:
        with contextlib.suppress(UsageError):  # it is gone
            found.send(signal.SIGKILL)
        when = "after it had answered" if is_answered else "inside"
        self.active.note(self.subject, f"process {found.pid} is killed {when} {call}")


def _subject(active: ActiveFault) -> str:
    return active.reach.subject(str(active.reach.plugin_socket(active.fault)))
