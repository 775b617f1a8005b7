"""A fault that was injected: whom it meets, how often it applied, how it ends.

It ends when it is undone, after its count, or with the node; whatever it has done to the world by a hook, a file's mode
or a signal is taken back then. Each step of that is a record of the kind `fault`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from attrs import define, field

from kubelet_sim.errors import KubeletSimError
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.node.clock import with_timeout
from kubelet_sim.node.faults.kinds import FaultKind
from kubelet_sim.node.faults.reach import Reach
from kubelet_sim.node.hooks import Hook
from kubelet_sim.tasks import Tasks
from kubelet_sim.transcript import RecordLevel


@define(eq=False)
class ActiveFault:
    """A fault that was injected into a node, until it is over."""

    id: int
    kind: FaultKind
    fault: Fault
    arguments: Mapping[str, Any]
    """All of them, read."""
    reach: Reach
    at_s: float
    count: int | None
    _ended: Callable[[ActiveFault], None]
    did: str = ""
    undo_text: str = ""
    applied: int = 0
    is_over: bool = False
    _over: asyncio.Event = field(factory=asyncio.Event)
    _in_progress: int = 0
    _at_the_end: list[Callable[[], object]] = field(factory=list)
    _tasks: Tasks = field(factory=Tasks)

    # --- for whoever injected it

    @property
    def is_holding(self) -> bool:
        """Whether it is applying right now: something is held up, or held open."""
        return self._in_progress > 0

    async def undo(self) -> None:
        """End it, and take back what can be taken back. May be repeated. Raises `UsageError` for what cannot be."""
        self.end("undone")
        await self._tasks.over()
        await self.reach.tasks.over()

    def view(self) -> FaultView:
        """The fault as a value: what it did, and how often it applied."""
        fault = self.fault
        filters = {"resource": fault.resource, "socket": fault.socket, "pod": fault.pod, "count": self.count}
        given = {name: value for name, value in filters.items() if value}
        return FaultView(
            self.id,
            self.kind.name,
            {**self.arguments, **given},
            self.did,
            self.undo_text,
            self.at_s,
            self.applied,
            not self.is_over,
        )

    # --- for the functions that make a fault what it is

    def hook(self, hook: Hook) -> None:
        """Have a hook of the fault see what goes on in the node, until the fault ends."""
        self.at_the_end(self.reach.hooks.add(hook))

    def at_the_end(self, do: Callable[[], None]) -> None:
        """Call this at the end, the last one first; whatever it raises is told."""
        self._at_the_end.append(do)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this until it is done, or to the end of the fault."""
        self._at_the_end.append(self._tasks.run(work).cancel)

    @contextmanager
    def applying(self, subject: str, text: str) -> Iterator[bool]:
        """Apply once, for as long as the context lasts; whether it still may. After the last time it ends."""
        if self.is_over or (self.count is not None and self.applied >= self.count):
            yield False
            return
        self.applied += 1
        self._in_progress += 1
        self.note(subject, f"applies: {text}")
        try:
            yield True
        finally:
            self._in_progress -= 1
            if self.count is not None and self.applied >= self.count and not self._in_progress:
                self.end(f"it has applied {self.applied} times" if self.applied > 1 else "it has applied")

    def once(self, subject: str, text: str) -> bool:
        """Apply at one moment; whether it still may."""
        with self.applying(subject, text) as applies:
            return applies

    async def hold_up(self, subject: str, text: str, seconds: float | None) -> None:
        """Apply once, by returning after so many seconds of the node's clock, and no later than the end of the fault."""
        with self.applying(subject, text) as applies, suppress(TimeoutError):
            if applies and seconds is not None:
                await with_timeout(self.reach.clock, self._over.wait(), seconds)
            elif applies:
                await self._over.wait()

    def meets(self, path: str) -> bool:
        """Whether the filters let the plugin at that socket path through."""
        return self.reach.fits(self.fault, path)

    def note(self, subject: str, text: str, level: RecordLevel = RecordLevel.INFO) -> None:
        """Write something about the fault into the transcript."""
        told = f"fault {self.id} {self.kind.name} {text}"
        self.reach.transcript.add("fault", subject, told, rules=self.kind.rules, level=level)

    def end(self, why: str) -> None:
        """End the fault, for that reason, and take back what it did; nothing if it is over."""
        if self.is_over:
            return
        self.is_over = True
        self._over.set()
        while self._at_the_end:
            try:
                self._at_the_end.pop()()
            except (OSError, KubeletSimError) as failure:
                self.note("node", f"could not be taken back: {failure}", RecordLevel.WARNING)
        self.note("node", f"is over: {why}")
        self._ended(self)
