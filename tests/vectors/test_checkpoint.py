from __future__ import annotations

import base64
from typing import Any

import pytest

from kubelet_sim.core.checkpoint_file.decoder import decode, parse
from kubelet_sim.core.checkpoint_file.document_text import checksum, dump, encode
from kubelet_sim.errors import CheckpointCorrupt, CheckpointUnreadable
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

VECTOR_FILES = {"case": "checkpoint.json", "reading": "checkpoint_read.json"}


def _lists(lists: dict[str, list[str] | None] | None) -> dict[str, tuple[str, ...] | None] | None:
    return None if lists is None else {key: None if ids is None else tuple(ids) for key, ids in lists.items()}


def _entry(entry: dict[str, Any]) -> CheckpointEntry:
    devices, response = _lists(entry["DeviceIDs"]), entry["AllocResp"]
    return CheckpointEntry(
        pod_uid=entry["PodUID"],
        container=entry["ContainerName"],
        resource=entry["ResourceName"],
        devices=None if devices is None else {int(numa): ids for numa, ids in devices.items()},
        allocate_response=None if response is None else base64.b64decode(response),
    )


def _document(data: dict[str, Any]) -> CheckpointDocument:
    entries = data["entries"]
    return CheckpointDocument(None if entries is None else tuple(map(_entry, entries)), _lists(data["registered"]))


def _file(reading: dict[str, Any]) -> bytes:
    return base64.b64decode(reading["file_b64"]) if "file_b64" in reading else reading["file"].encode()


def test_the_hashed_text_is_the_kubelets(case: dict[str, Any]) -> None:
    """The hashed text is the kubelet's, nil and empty told apart. Rules: CP-10, DM-139"""
    assert case["dump"] == dump(_document(case))


def test_the_checksum_is_the_kubelets(case: dict[str, Any]) -> None:
    """The checksum is the kubelet's. Rules: CP-9, DM-139"""
    assert case["checksum"] == checksum(_document(case))


def test_the_file_is_the_kubelets_byte_for_byte(case: dict[str, Any]) -> None:
    """The file is the kubelet's, byte for byte. Rules: CP-5, CP-7, CP-8, DM-138"""
    assert case["file"].encode() == encode(_document(case))


def test_file_is_read_back(case: dict[str, Any]) -> None:
    """A file of the kubelet is read as the document it was made of. Rules: CP-12, CP-18"""
    assert _document(case) == decode(case["file"].encode())


def test_a_file_is_believed_or_refused_as_by_the_kubelet(reading: dict[str, Any]) -> None:
    """A file is believed, found corrupt or refused as by the kubelet. Rules: CP-12, CP-13, DM-141, DM-142, DM-144"""
    match reading["result"]:
        case "ok":
            assert _document(reading["data"]) == decode(_file(reading))
        case "corrupt":
            with pytest.raises(CheckpointCorrupt) as corrupt:
                decode(_file(reading))

            assert reading["error"] == str(corrupt.value)
            assert reading["stored_checksum"] == corrupt.value.stored
            assert reading["computed_checksum"] == corrupt.value.computed
        case "unreadable":
            with pytest.raises(CheckpointUnreadable) as unreadable:
                decode(_file(reading))

            assert unreadable.value.cause
        case other:
            pytest.fail(f"a result that no rule knows: {other}")


def test_parsing_shows_what_a_file_says(reading: dict[str, Any]) -> None:
    """Data and stored checksum of a file can be read whether or not they fit. Rules: CP-11, CP-12"""
    if reading["result"] == "unreadable":
        with pytest.raises(CheckpointUnreadable):
            parse(_file(reading))
        return

    document, stored = parse(_file(reading))

    assert _document(reading["data"]) == document
    assert reading["stored_checksum"] == stored
    assert reading["computed_checksum"] == checksum(document)
