from __future__ import annotations

import asyncio

import pytest

from kubelet_sim.errors import CheckpointCorrupt, CheckpointMissing, CheckpointNotWritten
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.node.ports import CheckpointStore
from kubelet_sim.testing.stores import MemoryCheckpointStore

DOCUMENT = CheckpointDocument(None, {"example.com/dev": ("a",)})


def test_a_store_reads_back_what_was_written() -> None:
    """What was written is read back; before, nothing is found. Rules: CP-14"""

    async def run() -> CheckpointDocument:
        store: CheckpointStore = MemoryCheckpointStore()
        with pytest.raises(CheckpointMissing):
            await store.read()
        await store.write(DOCUMENT)
        return await store.read()

    assert asyncio.run(run()) == DOCUMENT


def test_a_write_that_fails_leaves_the_old_content() -> None:
    """One write fails when it is told to, and leaves the old content; the next one works again. Rules: CP-3"""

    async def run() -> None:
        store = MemoryCheckpointStore()
        store.fail_next_write("input/output error")
        with pytest.raises(CheckpointNotWritten) as caught:
            await store.write(DOCUMENT)
        assert caught.value.cause == "input/output error"
        assert (store.data, store.write_count) == (None, 0)
        await store.write(DOCUMENT)
        assert store.write_count == 1

    asyncio.run(run())


def test_a_store_takes_any_bytes_from_a_test() -> None:
    """A test may put any bytes there. Rules: CP-13"""
    with pytest.raises(CheckpointCorrupt):
        asyncio.run(MemoryCheckpointStore(b"{}").read())
