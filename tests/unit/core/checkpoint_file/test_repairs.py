from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kubelet_sim.core.checkpoint_file import repairs as checkpoint_repairs
from kubelet_sim.core.checkpoint_file.document_text import checksum
from kubelet_sim.core.checkpoint_file.repairs import repairs
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

ONE = CheckpointEntry("uid-1", "main", "example.com/dev", {0: ("dev0", "dev1"), 1: ("dev2",)}, b"\x0a\x0c\xc8")
TWO = evolve(ONE, pod_uid="uid-2", devices={}, allocate_response=b"")
GOOD = CheckpointDocument((ONE, TWO), {"example.com/dev": ("dev0", "dev1", "dev2"), "other.io/nic": ()})
NULLS = CheckpointDocument(None, None)


def _repairs(before: CheckpointDocument, after: CheckpointDocument) -> tuple[str, ...]:
    assert checksum(before) != checksum(after)
    return repairs(after, checksum(before), checksum(after))


def _with(**changes: Any) -> CheckpointDocument:
    return evolve(GOOD, entries=(evolve(ONE, **changes), TWO))


@pytest.mark.parametrize(
    "after, sentence",
    [
        (_with(pod_uid="uid-7"), 'Data.PodDeviceEntries[0].PodUID were "uid-1" instead of "uid-7"'),
        (_with(container="man"), 'Data.PodDeviceEntries[0].ContainerName were "main" instead of "man"'),
        (_with(resource="example..com/dev"), 'Data.PodDeviceEntries[0].ResourceName were "example.com/dev" instead of'),
        (
            _with(allocate_response=b"\x0a\x0c\xc9"),
            "byte Data.PodDeviceEntries[0].AllocResp[2] were 200 instead of 201",
        ),
        (_with(allocate_response=b"\x0a\x0c\x05"), "byte Data.PodDeviceEntries[0].AllocResp[2] were 200 instead of 5"),
        (
            evolve(GOOD, entries=(ONE, evolve(TWO, devices=None))),
            "Data.PodDeviceEntries[1].DeviceIDs were there and empty",
        ),
        (
            evolve(GOOD, entries=(ONE, evolve(TWO, allocate_response=None))),
            "Data.PodDeviceEntries[1].AllocResp were there",
        ),
        (evolve(GOOD, entries=(ONE, ONE, TWO)), "Data.PodDeviceEntries[1] were not there"),
        (evolve(GOOD, entries=(TWO, ONE, TWO)), "Data.PodDeviceEntries[0] were not there"),
        (
            evolve(GOOD, registered={"example.com/dev": ("dev0", "x", "dev1", "dev2"), "other.io/nic": ()}),
            'Data.RegisteredDevices["example.com/dev"][1] were not there',
        ),
    ],
)
def test_a_single_change_is_found(after: CheckpointDocument, sentence: str) -> None:
    """What was changed is named by its path, with what it has to be. Rules: CP-9, CP-10, CP-13"""
    assert any(each.startswith(sentence) for each in _repairs(GOOD, after))


def test_nil_for_empty() -> None:
    """Null, empty and missing are told apart, one at a time or both members of `Data` together. Rules: CP-10, CP-12, DM-142"""
    both_empty = CheckpointDocument((), {})

    assert _repairs(NULLS, both_empty) == ("Data.PodDeviceEntries were null and Data.RegisteredDevices null",)
    assert _repairs(CheckpointDocument(None, {}), both_empty) == ("Data.PodDeviceEntries were null",)
    assert _repairs(CheckpointDocument((), {}), NULLS) == (
        "Data.PodDeviceEntries were empty and Data.RegisteredDevices empty",
    )


def test_a_byte_that_became_a_replacement_character() -> None:
    """What a kubelet hashed as a byte and stored as U+FFFD is found again. Rules: CP-7, CP-13"""
    lost = CheckpointDocument(None, {"r": ("a\ufffdb",)})
    state = 2166136261
    text = b"(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)<nil> "
    for byte in text + b"RegisteredDevices:(map[string][]string)map[r:[a\xe9b]]}":
        state = ((state ^ byte) * 16777619) % 2**32

    answers = repairs(lost, state, checksum(lost))
    assert 'the U+FFFD in Data.RegisteredDevices["r"][0] were the byte 0xe9, which is not UTF-8 by itself' in answers


def test_the_number_itself() -> None:
    """One digit more or less is an edit of the number. Rules: CP-13"""
    right = checksum(GOOD)
    wrong = right + (1 if right % 10 < 9 else -1)
    (sentence,) = repairs(GOOD, wrong, right)
    assert sentence.startswith("it was the number itself")


@pytest.mark.parametrize("stored", [2**64 - 1, 2**32, 0])
def test_what_no_single_change_explains(stored: int) -> None:
    """A number that FNV-1a cannot give, or one that no change of ours leads to, is left unexplained. Rules: CP-9"""
    assert repairs(GOOD, stored, checksum(GOOD)) == ()


def test_a_very_long_dump_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is bounded, and says nothing rather than take minutes. Rules: CP-13"""
    monkeypatch.setattr(checkpoint_repairs, "_MOST_BYTES", 10)
    assert repairs(_with(pod_uid="uid-7"), checksum(GOOD), 1) == ()
