from __future__ import annotations

from kubelet_sim.core.checkpoint_file.document_text import dump
from kubelet_sim.core.checkpoint_file.dump_spans import Drawing, SpanKind
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

DOCUMENT = CheckpointDocument(
    (CheckpointEntry("u", "c", "r", {2: ("é", "b"), -1: None}, b"\x07\xff"), CheckpointEntry()), {"z": (), "a": None}
)


def test_the_drawing_is_the_dump() -> None:
    """Its bytes are those that are hashed. Rules: CP-10"""
    for document in (DOCUMENT, CheckpointDocument(), CheckpointDocument((), {})):
        assert Drawing.of(document).dump.decode() == dump(document)


def test_every_value_has_its_path() -> None:
    """Texts, bytes and items are named as one would look them up in the file. Rules: CP-5, CP-10"""
    drawing = Drawing.of(DOCUMENT)
    texts = {span.path: drawing.text(span) for span in drawing.spans if span.kind in {SpanKind.TEXT, SpanKind.BYTE}}

    assert texts["Data.PodDeviceEntries[0].PodUID"] == "u"
    assert texts['Data.PodDeviceEntries[0].DeviceIDs["2"][0]'] == "é"
    assert texts["Data.PodDeviceEntries[0].AllocResp[1]"] == "255"
    nil = [span.path for span in drawing.spans if drawing.text(span) == "<nil>"]
    assert nil == [
        'Data.PodDeviceEntries[0].DeviceIDs["-1"]',
        "Data.PodDeviceEntries[1].DeviceIDs",
        "Data.PodDeviceEntries[1].AllocResp",
        'Data.RegisteredDevices["a"]',
    ]
