"""How a plugin's bytes become lines."""

from __future__ import annotations

import pytest

from kubelet_sim.node.plugin.plugin_output import LineSplitter


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_pieces_keep_characters_whole(size: int) -> None:
    """However the bytes arrive, the pieces of a long line are cut between characters."""
    text = "aé€😀" * 20
    splitter = LineSplitter(longest=16)
    encoded = (text + "\n" + text).encode()
    pieces = [piece for start in range(0, len(encoded), size) for piece in splitter.add(encoded[start : start + size])]
    pieces += splitter.rest()
    assert "".join(piece.decode() for piece in pieces) == text + text
    assert max(map(len, pieces)) <= 16


def test_nonsense_longer_than_a_piece() -> None:
    """Bytes that only look like the middle of characters are cut all the same."""
    splitter = LineSplitter(longest=16)
    assert splitter.add(b"\x80" * 40) == [b"\x80" * 16] * 2
    assert splitter.rest() == [b"\x80" * 8]
