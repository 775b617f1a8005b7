from __future__ import annotations

from attrs import evolve

from kubelet_sim.core.checkpoint_file.diagnosis import diagnose, meaning
from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

ENTRY = CheckpointEntry("u", "c", "r", {0: ("a", "b"), -1: None}, b"good")


def _decode(raw: bytes) -> None:
    if raw == b"bad":
        raise ValueError("no message")


def _said(*entries: CheckpointEntry, registered: tuple[str, ...] = ("r",)) -> list[tuple[str, str]]:
    document = CheckpointDocument(entries, dict.fromkeys(registered, ()))
    return [(each.rule, each.text) for each in meaning(document, _decode)]


def test_a_good_file() -> None:
    """It fits, and nothing is to be said. Rules: CP-13"""
    found = diagnose(encode(CheckpointDocument((ENTRY,), {"r": ("a",)})))

    assert found.fits
    assert (found.damage, found.notes, found.fits_if, found.line) == ("", (), (), None)


def test_a_wrong_shape_has_a_place() -> None:
    """Line, column and path of the value that is none of what was expected. Rules: CP-12"""
    second = b' "Data": {"RegisteredDevices": {"r": [1]}}}'
    found = diagnose(b"{\n" + second)

    assert not found.fits
    assert (found.path, found.line, found.column) == ('Data.RegisteredDevices["r"]', 2, second.index(b"[1]") + 1)


def test_no_json_has_a_place() -> None:
    """Line and column where the text stops to be JSON. Rules: CP-12, DM-143"""
    found = diagnose(b'{\n "Data": nothing}')

    assert (found.path, found.line, found.column) == (None, 2, 10)


def test_the_old_format_is_named() -> None:
    """A plain list of devices is the format before 1.20; a number in its place is not. Rules: CP-12, DM-144"""
    assert diagnose(b'{"data":{"podDeviceEntries":[{"DeviceIDs":["a"]}]}}').is_old_format
    assert not diagnose(b'{"data":{"podDeviceEntries":[{"DeviceIDs":7}]}}').is_old_format
    assert not diagnose(b'{"data":{"podDeviceEntries":[{"PodUID":["a"]}]}}').is_old_format


def test_what_reading_changed_is_noted() -> None:
    """Bytes that are not UTF-8 and halves of characters; pairs and escaped backslashes are neither. Rules: CP-7, CP-11"""
    assert diagnose(b'{"a":"\\ud83d\\ude00","b":"\\\\ud800"}').notes == ()
    assert diagnose(b'{\n"a":"\xff\xff"}').notes == (
        "a byte is not UTF-8 and read as U+FFFD (2 times): line 2, column 6",
    )
    assert diagnose(b'{"a":"\\udc00"}').notes == ("an escape is half a character and read as U+FFFD: line 1, column 7",)


def test_what_is_restored() -> None:
    """Allocations, pods and names are counted. Rules: CP-15, DM-145"""
    late = " without devices until their plugins are back, removed after 5 minutes without them"
    two = [ENTRY, evolve(ENTRY, container="d", devices={1: ("c",)})]

    assert _said(registered=()) == [("DM-145", "restored: 0 allocations of 0 pods; 0 resources")]
    assert _said(*two) == [("DM-145", f"restored: 2 allocations of 1 pod; 1 resource{late}")]


def test_what_is_odd() -> None:
    """Answers that cannot be decoded, a repeated container, a name in entries only, an id of two pods. Rules: CP-6, CP-16, DM-145"""
    said = _said(
        ENTRY,
        ENTRY,
        evolve(ENTRY, pod_uid="bad", allocate_response=b"bad"),
        evolve(ENTRY, pod_uid="v", resource="x", allocate_response=None),
        evolve(ENTRY, pod_uid="w", devices={0: ("a",)}),
    )
    texts = [text for _, text in said]
    what = "it counts as allocated, but not as registered, and nobody gets more of it until its plugin registers"

    assert texts[0].startswith("restored: 3 allocations of 3 pods; 1 resource ")
    assert texts[1:] == [
        "entry 1 (pod u, container c, r) takes the place of an earlier entry of the same container",
        "entry 2 (pod bad, container c, r) is left out: its Allocate answer cannot be decoded: no message",
        "entry 3 (pod v, container c, x) has no Allocate answer: no kubelet writes that, but each reads it",
        f"x is in entries only: {what}",
        "r: a is held by 2 pods: u, w",
    ]
