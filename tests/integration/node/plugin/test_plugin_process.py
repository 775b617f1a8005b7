"""The plugin's process: what is kept of what it says."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kubelet_sim.node.plugin.launch import Launch
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.node.root_directory.layout import RootLayout


def test_colours_of_a_plugin_are_left_out(short_root: Path) -> None:
    """Words that a check looks for may have some between them, and on paper they are noise; the rest is kept as it came."""

    async def said(text: str) -> str:
        process = PluginProcess(Launch(("echo", text), RootLayout(short_root)))
        await process.start()
        try:
            assert await process.ended(10.0)
            return process.output()
        finally:
            await process.close()

    assert asyncio.run(said("\x1b[2m\x1b[31mno\x1b[0m such \x1b[3mcard\x1b[0m \x1b[2J")) == "no such card \x1b[2J"
