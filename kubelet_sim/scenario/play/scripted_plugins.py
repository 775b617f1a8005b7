"""The plugins of a story that follow a script: who they are, and when a kubelet has dealt with what they did.

Waiting is for events, never for time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin


class SettledPlugins(Protocol):
    """Waits until a kubelet has dealt with what plugins did."""

    def links(self) -> Mapping[Any, object]:
        """All connections of this kubelet process."""

    async def with_one(self, plugin: ScriptedPlugin) -> None:
        """Return when it has dealt with all that this plugin sent."""

    async def with_all(self, plugins: Iterable[ScriptedPlugin]) -> None:
        """Return when it has dealt with all that these sent, and has nothing else to do at once."""

    async def with_registrations(self, known: Container[Any]) -> None:
        """Return when every registration but those known is over."""


class ScriptedPlugins:
    """The plugins of one story that follow a script.

    Args:
        scripts: what each does, by its name in the story.
        directory: the device-plugin directory.
        progress: knows what the kubelet has dealt with.
        changed: called whenever a stream opens, closes, or has sent a list.
    """

    def __init__(
        self, scripts: Mapping[str, Script], directory: Path, progress: SettledPlugins, changed: Callable[[], None]
    ) -> None:
        self._progress = progress
        self.by_name: Mapping[str, ScriptedPlugin] = {
            name: ScriptedPlugin(script, directory, arrived=progress.with_one, changed=changed)
            for name, script in scripts.items()
        }

    async def caught_up(self) -> None:
        """Return when the kubelet has dealt with all that they sent, and has nothing else to do at once."""
        await self._progress.with_all(self.by_name.values())

    @contextlib.asynccontextmanager
    async def registering(self) -> AsyncGenerator[None, None]:
        """Leave when every registration in it is over, and its list dealt with: the answer may come before."""
        known = set(self._progress.links())
        yield
        await self._progress.with_registrations(known)
        await self.caught_up()

    async def close(self) -> None:
        """Stop all plugins, as if their processes died."""
        await asyncio.gather(*(plugin.stop() for plugin in self.by_name.values()))
