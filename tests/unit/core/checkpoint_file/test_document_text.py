from __future__ import annotations

import pytest

from kubelet_sim.core.checkpoint_file.document_text import checksum, dump, encode
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

FRESH = CheckpointDocument(None, {})
U1 = CheckpointEntry("u1", "c1", "example.com/dev", {-1: ("a",)}, b"")
TWO_NODES = CheckpointEntry(
    "u1", "c1", "example.com/dev", {1: ("a", "b"), 0: ("a",)}, bytes.fromhex("0a060a014b120156")
)


@pytest.mark.parametrize(
    "document, expected",
    [
        (CheckpointDocument(None, {"nvidia.com/gpu": ("GPU-0650a168-e770-3ea8-8ac3-8a1d419763e0",)}), 3952659280),
        (FRESH, 3467439661),
        (CheckpointDocument(None, {"example.com/dev": ()}), 4190085820),
        (CheckpointDocument(None, {"example.com/dev": ("a", "b")}), 4221687573),
        (CheckpointDocument((U1,), {"example.com/dev": ("a", "b")}), 2246994124),
        (CheckpointDocument((TWO_NODES,), {"example.com/dev": ("a", "b")}), 1220813473),
    ],
)
def test_checksums_of_the_specification(document: CheckpointDocument, expected: int) -> None:
    """The documents of the specification, one from a published file, have the checksums given there. Rules: DM-140"""
    assert checksum(document) == expected


def test_numa_nodes_are_sorted_twice() -> None:
    """NUMA nodes ascend as numbers in the dump and as strings in the file. Rules: CP-8, CP-10, DM-210"""
    document = CheckpointDocument((CheckpointEntry(devices={10: None, 2: (), -1: None}),), None)

    assert "map[-1:<nil> 2:[] 10:<nil>]" in dump(document)
    assert b'{"-1":null,"10":null,"2":[]}' in encode(document)


def test_two_documents_may_hash_alike() -> None:
    """An id with a space hashes as two ids do: the checksum is no identity. Rules: CP-10"""
    assert checksum(CheckpointDocument(None, {"r": ("a b",)})) == checksum(CheckpointDocument(None, {"r": ("a", "b")}))
