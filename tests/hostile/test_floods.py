"""Plugins that send too much: what holds them, and whom they must not hold."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

from attrs import define, field

from kubelet_sim.errors import CheckpointMissing
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.transcript import Record, RecordLevel
from kubelet_sim.wire import messages
from tests.hostile.cases import MIB, answers, many, sends, socket_of
from tests.hostile.peers import Ground, on_ground, pod, serves_the_next
from tests.patience import PATIENCE_S
from tests.wire import helpers
from tests.wire.helpers import Context, ScriptedPlugin

BAD = "example.com/bad"


@define
class SlowDisk:
    """A checkpoint store whose writes end when the test says so."""

    documents: list[CheckpointDocument] = field(factory=list)
    _allowed: asyncio.Semaphore = field(factory=lambda: asyncio.Semaphore(0))

    def allow(self) -> None:
        """Let one write come to its end."""
        self._allowed.release()

    async def write(self, document: CheckpointDocument) -> None:
        await self._allowed.acquire()
        self.documents.append(document)

    async def read(self) -> CheckpointDocument:
        raise CheckpointMissing


@define
class Sender:
    """A plugin's stream that counts what it could hand to its connection."""

    count: int | None
    width: int
    sent: int = 0

    async def lists(self, _context: Context) -> AsyncIterator[bytes]:
        """Lists as fast as the connection takes them, each with its number in it."""
        for number in itertools.count() if self.count is None else range(self.count):
            yield messages.encode_devices([Device(DeviceID(f"{number}-{'x' * self.width}"))])
            self.sent = number + 1


def test_a_flood_is_held_by_flow_control_and_nothing_is_left_out(short_root: Path) -> None:
    """Every list is dealt with in order, its checkpoint included, before the next is taken; the plugin has to wait.

    Rules: DM-60
    """
    count, width = 300, 100_000
    disk, sender = SlowDisk(), Sender(count, width)

    async def body() -> None:
        ahead, listed = 0, asyncio.Queue[Record]()
        async with Node(NodeConfig(root=short_root, has_status_rounds=False), store=disk) as node:
            ground = Ground(node, node.root.layout.device_plugins)
            node.transcript.listen(lambda record: listed.put_nowait(record) if "sent a list" in record.text else None)
            async with helpers.serving(ScriptedPlugin(lists=sender.lists), ground.path("b.sock")):
                ended = ground.wait_for_text(BAD, "the stream of client")
                assert await ground.register(BAD, "b.sock") is None
                for number in range(count):
                    await helpers.soon(listed.get())
                    ahead = max(ahead, sender.sent - number)
                    assert listed.empty()
                    disk.allow()
                await ended
        stored = [next(iter((document.registered or {})[BAD] or ())).partition("-")[0] for document in disk.documents]
        assert stored == [str(number) for number in range(count)]
        assert ahead * width < 16 * MIB < count * width

    asyncio.run(asyncio.wait_for(body(), PATIENCE_S))


def test_a_flood_without_end_keeps_nobody_waiting(short_root: Path) -> None:
    """While a plugin lists for ever, another registers, a pod gets its devices, and the node can be stopped."""
    sender = Sender(None, 10_000)

    async def body(ground: Ground) -> None:
        async with helpers.serving(ScriptedPlugin(lists=sender.lists), ground.path("b.sock")):
            listed = ground.wait_for_text(BAD, "listed 1 devices")
            assert await ground.register(BAD, "b.sock") is None
            await listed
            await serves_the_next(ground)
            assert ground.new_warnings(BAD) == []
            await helpers.soon(ground.node.stop())

    on_ground(short_root, body)


def test_a_thousand_lists_with_the_same_fault_are_one_warning(short_root: Path) -> None:
    """A repeated id is told of once; every list is still in the transcript. Rules: DM-53"""
    twice = messages.encode_devices([Device(DeviceID("a")), Device(DeviceID("a"))])

    async def body(ground: Ground) -> None:
        ended = ground.wait_for_text(BAD, "the stream of client")
        async with helpers.serving(ScriptedPlugin(lists=sends(*[twice] * 100)), ground.path("b.sock")):
            assert await ground.register(BAD, "b.sock") is None
            await ended
        told = [record for record in ground.new_records() if "more than once" in record.text]
        assert [record.level for record in told] == [RecordLevel.WARNING] + [RecordLevel.INFO] * 99

    on_ground(short_root, body)


def test_a_hundred_thousand_devices_in_four_mebibytes(short_root: Path) -> None:
    """As long as the message is within the limit, all are known, and a pod gets as many as it wants. Rules: DM-42, DM-51"""
    allocate = answers(messages.encode_allocate_answer(AllocateAnswer((ContainerResponse(),))))

    async def stay(_context: Context) -> AsyncIterator[bytes]:
        yield many(100_000, 5)
        await asyncio.Event().wait()

    async def body(ground: Ground) -> None:
        async with helpers.serving(ScriptedPlugin(lists=stay, allocate=allocate), ground.path(socket_of(BAD))):
            listed = ground.wait_for_text(BAD, "listed 100000 devices, 100000 of them healthy")
            assert await ground.register(BAD, socket_of(BAD)) is None
            await listed
            await ground.node.status_round()
            assert ground.node.kubelet.state.node.capacity[BAD] == Quantity.of(100_000)
            assert isinstance(await ground.node.admit(pod(BAD, "large", 1000)), Admitted)
            (view,) = ground.node.status().resources
            assert (view.healthy, view.allocated, len(view.devices)) == (100_000, 1000, 100_000)
            assert ground.new_warnings() == []

    on_ground(short_root, body)
