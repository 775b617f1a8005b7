"""Register calls that a check keeps waiting, or refuses, to see what a plugin makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from kubelet_sim.conformance.plugin_log import PluginLog, RegisterCall
from kubelet_sim.errors import RegistrationRefused
from kubelet_sim.model.plugin import Registration
from kubelet_sim.node.hooks import Hook, Hooks


class HeldRegistrations(Hook):
    """Register calls that wait until they are released, or are refused at once.

    Args:
        seen: the log of the plugin, which has the call already.
        refusal: the text to refuse them with; they wait without one.
    """

    def __init__(self, seen: PluginLog, refusal: str = "") -> None:
        self._seen = seen
        self._refusal = refusal
        self.calls: list[RegisterCall] = []
        """So far, oldest first."""
        self.released = asyncio.Event()
        """Set it to let the calls that wait go on."""

    @contextmanager
    def hooked(self, hooks: Hooks) -> Iterator[Self]:
        """Have it meet every Register call until the block ends; those that wait then go on."""
        remove = hooks.add(self)
        try:
            yield self
        finally:
            remove()
            self.released.set()

    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        """Note the call, and let it wait or refuse it. Rules: DM-29"""
        del registration, deadline_s
        self.calls.append(self._seen.registrations[-1])
        if self._refusal:
            raise RegistrationRefused(self._refusal, rule="DM-29")
        await self.released.wait()
