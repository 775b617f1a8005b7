"""A node of ours behind JSON lines, as `tests/reference` has the real device manager: for `side_by_side.py`.

One operation a line comes in, one answer goes out, with the milliseconds that the operation itself took.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.node import DEFAULT_MACHINE
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.root_directory.checkpoint_store import write_file
from kubelet_sim.wire.plugin_client import GrpcPluginCalls

_LONGEST_LINE = 16 * 2**20


class Ours:
    """One node after the other."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self._pods: dict[str, Pod] = {}

    @property
    def node(self) -> Node:
        """The node that is open."""
        if self._node is None:
            raise RuntimeError("no node is open")
        return self._node

    async def perform(self, operation: str, asked: Mapping[str, Any]) -> tuple[object, float]:
        """The answer, and how long it took."""
        if operation == "admit":  # A kubelet, too, has its pods read before it admits them.
            manifest = asked["pod"]
            pod = self._pods[manifest["metadata"]["uid"]] = pod_from_mapping(manifest)
            begun = time.perf_counter()
            verdict = await self.node.admit(pod)
            return {"admit": verdict == Admitted(), "message": str(verdict)}, _since(begun)
        begun = time.perf_counter()
        answer = await getattr(self, f"_do_{operation}")(asked)
        return answer, _since(begun)

    async def _do_open(self, asked: Mapping[str, Any]) -> None:
        await self.close()
        given = asked["node"]
        config = NodeConfig(
            root=Path(asked["root"]),
            machine={**DEFAULT_MACHINE, "pods": Quantity.of(given["max_pods"])},
            numa=tuple(NumaNodeInfo(node) for node in given["numa"]),
            topology=TopologySettings(given["policy"], given["scope"]),
            runs_containers=False,
            has_status_rounds=False,
            has_pod_resources=False,
            has_plugin_watcher=False,
        )
        self._node = Node(config)
        await self._node.start()

    async def _do_kill(self, _: Mapping[str, Any]) -> None:
        await self.node.kill()

    async def _do_start(self, _: Mapping[str, Any]) -> None:
        if not self.node.has_kubelet:
            kubelet = await self.node.boot(frozenset(), tuple(self._pods.values()))
            await kubelet.sources_ready(ready=True)

    async def _do_capacity(self, _: Mapping[str, Any]) -> None:
        await self.node.status_round()

    async def _do_container(self, asked: Mapping[str, Any]) -> object:
        spec = await self.node.prepare(self._pods[asked["uid"]].name, asked["container"])
        return {"options": None if spec is None else {"envs": len(spec.envs)}}

    async def _do_floor(self, asked: Mapping[str, Any]) -> object:
        """An Allocate call of our own client, and a durable write of the checkpoint as it is."""
        layout = self.node.root.layout
        socket = min(path for path in layout.device_plugins.glob("*.sock") if path != layout.registration_socket)
        connection = GrpcPluginCalls().connection(str(socket))
        await connection.ready()
        content, target = layout.checkpoint.read_bytes(), layout.device_plugins / ".floor"
        calls, writes = [], []
        for _ in range(asked["rounds"]):
            begun = time.perf_counter()
            await connection.allocate([DeviceID(each) for each in asked["ids"]])
            calls.append(_since(begun))
            begun = time.perf_counter()
            write_file(target, content)
            writes.append(_since(begun))
        await connection.close()
        return {"calls": calls, "writes": writes}

    async def close(self) -> None:
        """End the node."""
        if self._node is not None:
            await self._node.stop()
        self._node, self._pods = None, {}


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000


async def main() -> None:
    """Answer until there is nothing more to answer."""
    lines = asyncio.StreamReader(limit=_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    ours = Ours()
    while line := await lines.readline():
        asked = json.loads(line)
        reply: dict[str, Any] = {"id": asked["id"]}
        try:
            reply["answer"], reply["ms"] = await ours.perform(asked["op"], asked)
        except Exception as error:  # noqa: BLE001 - told, and the benchmark ends
            reply["error"] = repr(error)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    await ours.close()


if __name__ == "__main__":
    profile = os.environ.get("KUBELET_SIM_PROFILE")
    if profile is None:
        asyncio.run(main())
    else:
        with cProfile.Profile() as profiler:
            asyncio.run(main())
        profiler.dump_stats(profile)
