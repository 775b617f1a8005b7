"""The plugin of `main.go` in Python, where there is no Go: the same lines, the same answers, and slower.

Its time counts on either side, so what is measured with it is only good against the floor of the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kubelet_sim.scenario.plugins.script import read_devices, read_script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.wire.registration_client import register

_PAUSE_S = 0.0005
_PATIENCE_S = 60.0


async def main() -> None:
    """Serve, and answer lines until there are no more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-folder", type=Path, required=True)
    parser.add_argument("-resource", default="example.com/dev")
    parser.add_argument("-devices", type=int, default=8)
    parser.add_argument("-numa", type=int, default=0)
    given = parser.parse_args()
    devices: list[dict[str, Any]] = [{"id": f"device-{number:05}"} for number in range(given.devices)]
    for number, device in enumerate(devices if given.numa else ()):
        device["numa"] = [number % given.numa]
    mounts = [["/usr/lib/example", "/opt/example/lib", True]]
    allocate = {"envs": {"IDS": "{ids}"}, "mounts": mounts, "device_per_id": True}
    socket = given.resource.replace("/", "_") + ".sock"
    script = {"resource": given.resource, "socket": socket, "devices": devices, "allocate": allocate}
    plugin = ScriptedPlugin(read_script(script), given.folder)
    await plugin.serve()
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    async def update() -> None:
        devices[-1]["health"] = "Unhealthy" if devices[-1].get("health", "Healthy") == "Healthy" else "Healthy"
        plugin.send(read_devices(devices))

    does: dict[str, Callable[[], Awaitable[object]]] = {
        "register": lambda: register(given.folder / "kubelet.sock", plugin.script.registration),
        "update": update,
    }
    while line := (await lines.readline()).decode().strip():
        took_ms = await _until_written(given.folder / "kubelet_internal_checkpoint", does[line])
        print(json.dumps({"ms": took_ms}), flush=True)
    await plugin.stop()


async def _until_written(checkpoint: Path, do: Callable[[], Awaitable[object]]) -> float:
    before, begun = _inode(checkpoint), time.perf_counter()
    await do()
    async with asyncio.timeout(_PATIENCE_S):
        while _inode(checkpoint) in {0, before}:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(_PAUSE_S)
    return (time.perf_counter() - begun) * 1000


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    asyncio.run(main())
