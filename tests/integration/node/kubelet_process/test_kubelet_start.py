from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod, soon


def _entry(uid: str, devices: Mapping[int, tuple[str, ...] | None] | None, answer: bytes | None) -> CheckpointEntry:
    return CheckpointEntry(uid, "main", RESOURCE, devices, answer)


@pytest.mark.parametrize("answer", [b"\xff\xff", b"\x0a\x05ab", b"\x08"])
def test_an_entry_that_cannot_be_decoded_is_left_out(on_bench: RunOnBench, answer: bytes) -> None:
    """It alone, with a warning that names it; its devices are free. Rules: DM-145"""

    async def body(it: Bench) -> None:
        entries = (
            _entry("one", {0: ("a",)}, b""),
            _entry("two", {0: ("b",)}, answer),
            _entry("three", {-1: ("c",)}, b""),
        )
        it.store.data = encode(CheckpointDocument(entries, {RESOURCE: ("a", "b", "c")}))
        await soon(it.node.restart())
        assert it.node.kubelet.state.allocations.in_use.keys() == {RESOURCE}
        assert {key[0] for key, _ in it.node.kubelet.state.allocations} == {"one", "three"}
        (warning,) = (
            each for each in it.node.transcript if "DM-145" in each.rules and each.level is RecordLevel.WARNING
        )
        assert warning.text.startswith(f"checkpoint entry of pod two, {RESOURCE} is left out: ")
        peer = await it.plugin(device("b"))
        await soon(it.node.admit(pod("new")))
        assert peer.allocated == [("b",)]

    on_bench(body)


def test_an_entry_without_devices_or_answer_is_restored(on_bench: RunOnBench) -> None:
    """Null is nothing, in both places. Rules: DM-145, CP-15"""

    async def body(it: Bench) -> None:
        entries = _entry("one", None, None), _entry("two", {0: None}, b"")
        it.store.data = encode(CheckpointDocument(entries, None))
        await soon(it.node.restart())
        assert {key[0] for key, _ in it.node.kubelet.state.allocations} == {"one", "two"}
        assert it.node.kubelet.state.healthy == {}

    on_bench(body)


@pytest.mark.parametrize("there, advice", [("file", "the next write replaces /"), ("directory", "move /")])
def test_a_checkpoint_that_is_not_used_comes_with_advice(short_root: Path, there: str, advice: str) -> None:
    """The start goes on; what is to be done depends on what is there. Rules: DM-143"""

    async def body() -> str:
        async with Node(NodeConfig(short_root, has_status_rounds=False)) as node:
            path = node.root.layout.checkpoint
            await node.crash()
            path.unlink(missing_ok=True)
            path.mkdir() if there == "directory" else path.write_text("{")
            await soon(node.start_kubelet())
            (warning,) = (each for each in node.transcript if "DM-143" in each.rules)
            return warning.text

    text = asyncio.run(body())
    assert "device allocation info may not be up to date: " in text
    assert f"({advice}" in text
