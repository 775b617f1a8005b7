"""A node under load, in a process that will be killed: what it does, it notes down a pipe before and after.

Meant to be run in a child made by `fork`, from a process that has imported this and has no threads.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubelet_sim.core.checkpoint_file.document_text import checksum
from kubelet_sim.core.facts import PodActivated
from kubelet_sim.core.kubelet import invariants
from kubelet_sim.errors import KubeletSimError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import ContainerName, PodUID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.root_directory.checkpoint_store import FileCheckpointStore

RESOURCE = ResourceName("example.com/dev")
SOCKET = "../plugin/p.sock"
"""Beside the directory, where no start sweeps it away: the plugin need not serve anew."""
_MOST_PODS = 10
_MOST_DEVICES = 3
Pods = dict[str, int]
"""How many devices each pod wants, by uid: what the API server knows."""


class Notes:
    """Lines down a pipe, whole ones only, there for the reader whatever becomes of the writer."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, *said: Any) -> None:
        """Note a line."""
        os.write(self._descriptor, json.dumps(said).encode() + b"\n")


class NotedStore:
    """The real store; tells when a write begins and when it is durable."""

    def __init__(self, store: FileCheckpointStore, note: Notes) -> None:
        self._store = store
        self._note = note

    async def write(self, document: CheckpointDocument) -> None:
        """As the real one."""
        number = checksum(document)
        self._note("begun", number)
        await self._store.write(document)
        self._note("durable", number)

    async def read(self) -> CheckpointDocument:
        """As the real one."""
        return await self._store.read()


def pod(uid: str, count: int) -> Pod:
    """A pod of one container."""
    limits = {str(RESOURCE): Quantity.of(count)}
    container = Container(ContainerName("main"), ContainerKind.APP, limits, limits)
    return Pod(uid, "default", PodUID(uid), containers=(container,))


def run(root: Path, pods: Mapping[str, int], seed: int, pipe: int) -> None:
    """Be a node until the end comes from outside. Whatever goes wrong is noted as a problem."""
    note = Notes(pipe)
    try:
        asyncio.run(_live(root, dict(pods), random.Random(seed), note))  # noqa: S311 - load, no secrets
    except BaseException as problem:  # noqa: BLE001 - the reader wants to hear of all
        note("problem", f"{type(problem).__name__}: {problem}"[:2000])


async def _live(root: Path, pods: Pods, chance: random.Random, note: Notes) -> None:
    config = NodeConfig(
        root=root, has_status_rounds=False, runs_containers=False, has_pod_resources=False, has_plugin_watcher=False
    )
    node = Node(config, store=NotedStore(FileCheckpointStore(root / "device-plugins"), note))
    await node.start()
    for uid, count in pods.items():  # the sources deliver what the API server knows, before anything is admitted
        await node.kubelet.apply(PodActivated(pod(uid, count)))
    state = node.kubelet.state
    invariants.check(state)
    note(
        "restored",
        {uid: sorted(record.ids) for (uid, _, _), record in state.allocations},
        sorted(map(str, state.allocations.shared)),
    )
    await node.kubelet.register(Registration(API_VERSION, SOCKET, RESOURCE))
    await node.wait_for(lambda now: any(each.healthy for each in now.resources))
    await node.status_round()  # a node object that knows of no devices has room for no pod
    for uid, count in list(pods.items()):
        await _admit(node, uid, count, pods, note)
    note("ready")
    while True:
        if pods and (len(pods) >= _MOST_PODS or chance.random() < 0.4):
            uid = chance.choice(sorted(pods))
            note("removing", uid)
            del pods[uid]
            await node.remove(uid)
        else:
            uid = f"pod-{chance.getrandbits(64):016x}"
            await _admit(node, uid, chance.randint(1, _MOST_DEVICES), pods, note)
        invariants.check(state)


async def _admit(node: Node, uid: str, count: int, pods: Pods, note: Notes) -> None:
    pods[uid] = count
    note("admitting", uid, count)
    verdict = await node.admit(pod(uid, count))
    record = node.kubelet.state.allocations.record(PodUID(uid), ContainerName("main"), RESOURCE)
    if verdict == Admitted() and record is not None:
        note("admitted", uid, sorted(record.ids))
        return
    raise KubeletSimError(f"{uid} was refused: {verdict.message if isinstance(verdict, Rejected) else 'no record'}")
