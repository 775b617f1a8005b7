from __future__ import annotations

import pytest

from kubelet_sim.core.checkpoint_file import encoder as checkpoint_parts
from kubelet_sim.core.checkpoint_file.document_text import encode, entry_dump
from kubelet_sim.core.checkpoint_file.encoder import Encoder
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry


@pytest.mark.parametrize(
    "document",
    [
        CheckpointDocument(),
        CheckpointDocument((), {}),
        CheckpointDocument(None, {"r": None, "a": (), "\ufb00": ("<&>", "b c")}),
        CheckpointDocument((CheckpointEntry(), CheckpointEntry("u", "c", "r", {10: ("x",), 2: None}, b"\x00\xff"))),
        CheckpointDocument(None, {"\ud800": ("\udfff",)}),
    ],
)
def test_a_first_document(document: CheckpointDocument) -> None:
    """Nil, empty, escapes and halves of characters come out as from the plain path. Rules: CP-5, CP-7, CP-8, CP-10"""
    assert Encoder().encode(document) == encode(document)


def test_a_part_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only an entry that was not in the last document is turned into text, wherever it moves. Rules: CP-5"""
    made: list[str] = []

    def noted(entry: CheckpointEntry) -> str:
        made.append(entry.pod_uid)
        return entry_dump(entry)

    monkeypatch.setattr(checkpoint_parts, "entry_dump", noted)
    old, new = CheckpointEntry("old"), CheckpointEntry("new")
    encoder = Encoder()

    for entries in ((old,), (new, old), (old,), (old, new)):
        encoder.encode(CheckpointDocument(entries, {}))

    assert made == ["old", "new", "new"]
    encoder.encode(CheckpointDocument(None, {}))
    encoder.encode(CheckpointDocument((old,), {}))
    assert made == ["old", "new", "new", "old"]


def test_an_entry_that_stands_there_twice() -> None:
    """Each of its places has its own part in the checksum. Rules: CP-9, CP-10"""
    one, two, encoder = CheckpointEntry("one"), CheckpointEntry("two"), Encoder()
    for entries in ((one, one), (two, one, one), (one, two, one), (one, two, two, one), (one, two), (one,)):
        document = CheckpointDocument(entries, {})
        assert encoder.encode(document) == encode(document)


def test_equal_is_not_the_same() -> None:
    """A list that was changed under its name is written as it is now. Rules: CP-6"""
    encoder = Encoder()
    for ids in (("a",), ("b",), None, ("a",)):
        document = CheckpointDocument(None, {"r": ids})
        assert encoder.encode(document) == encode(document)
