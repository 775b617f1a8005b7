"""Inode numbers that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.model.life import Comeback
from kubelet_sim.node.inodes import given_back, inode_of
from tests.unit.node.bench import Bench, RunOnBench, soon


def test_nothing_is_left_in_the_directory(short_root: Path) -> None:
    """Whether the number came back or not; a file made within may have it."""
    gone = short_root / "gone"
    gone.touch()
    wanted = inode_of(gone)
    gone.unlink()
    assert inode_of(gone) is None
    with given_back(short_root, wanted) as free:
        free()
        (short_root / "new").touch()
    assert [path.name for path in short_root.iterdir()] == ["new"]


def test_a_directory_that_is_not_there_is_no_matter(short_root: Path) -> None:
    """Who wants to listen there learns it from the kernel."""
    with given_back(short_root / "no", 1) as free:
        free()
    assert list(short_root.iterdir()) == []


@pytest.mark.parametrize("socket_after_s", [0.0, 5.0])
def test_a_restart_with_the_same_inode(on_bench: RunOnBench, socket_after_s: float) -> None:
    """It is so, or the transcript says that the file system had another one. Rules: DM-17"""

    async def body(it: Bench) -> None:
        path = it.node.root.layout.registration_socket
        before = inode_of(path)
        await soon(it.node.restart(Comeback(socket_after_s, same_inode=True)))
        await it.node.advance(socket_after_s)
        await it.node.wait_for(lambda now: now.sources_ready)
        said = next(text for text in it.texts() if text.startswith("the inode of kubelet.sock"))
        assert ("the same" in said) == (inode_of(path) == before)
        assert not [each for each in path.parent.iterdir() if each.name.startswith(".inode")]

    on_bench(body)
