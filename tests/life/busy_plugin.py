"""A plugin that never rests, as a program: `python -m tests.life.busy_plugin SOCKET`.

It lists all the time, always with the same devices healthy and one more that comes and goes, and grants whatever it is asked
for. It outlives every node, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from itertools import count
from pathlib import Path

from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, PreferredAllocationRequest
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.wire.plugin_server import PluginServer

DEVICE_COUNT = 32
_PAUSE_S = 0.002


class BusyPlugin:
    """The plugin's behaviour."""

    async def options(self) -> PluginOptions:
        """It wants to be asked for everything."""
        return PluginOptions(get_preferred_allocation_available=True)

    async def lists(self) -> AsyncGenerator[tuple[Device, ...], None]:
        """List after list."""
        steady = tuple(Device(DeviceID(f"device-{number:02}"), HEALTHY) for number in range(DEVICE_COUNT))
        for turn in count():
            yield (*steady, Device(DeviceID("restless"), HEALTHY if turn % 2 else UNHEALTHY))
            await asyncio.sleep(_PAUSE_S)

    async def allocate(self, requests: Sequence[tuple[DeviceID, ...]]) -> AllocateAnswer:
        """A variable with the ids."""
        return AllocateAnswer(tuple(ContainerResponse({"IDS": ",".join(sorted(ids))}) for ids in requests))

    async def preferred(self, requests: Sequence[PreferredAllocationRequest]) -> Sequence[Sequence[DeviceID]]:
        """Never the restless one, and rather the last ones: others than a kubelet would take by itself."""
        return [self._preferred(request) for request in requests]

    def _preferred(self, request: PreferredAllocationRequest) -> list[DeviceID]:
        free = sorted(set(request.available) - set(request.must_include) - {DeviceID("restless")}, reverse=True)
        return [*request.must_include, *free][: request.size]

    async def pre_start(self, _: tuple[DeviceID, ...]) -> None:
        """Nothing."""


async def _serve(socket: Path) -> None:
    server = PluginServer(BusyPlugin())
    await server.serve(socket)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
