from __future__ import annotations

import pytest
from fnv_hash_fast import fnv1a_32

from kubelet_sim.core.checkpoint_file.running_hash import START, Stretch, after_byte


def test_stretch_by_stretch() -> None:
    """The state behind several stretches and bytes is the hash of the whole text. Rules: CP-9, DM-139"""
    texts = [b"", b"a", b"some text", bytes(range(256)), b"\xff" * 1000]
    state = START
    for text in texts:
        state = after_byte(Stretch(text).after(state), ord(" "))

    assert state == fnv1a_32(b" ".join(texts) + b" ")


@pytest.mark.parametrize("keeps", [1, 3, 256])
def test_behind_any_state(keeps: int) -> None:
    """A stretch is right behind each kind of state, new or met before, however many answers it keeps. Rules: CP-9"""
    stretch = Stretch(b"stretch", keeps)
    for before in [bytes([byte]) + b"x" * (byte % 3) for byte in range(256)] * 2:
        assert stretch.after(fnv1a_32(before)) == fnv1a_32(before + b"stretch")
