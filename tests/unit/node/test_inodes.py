"""Inode numbers that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.model.life import Comeback
from kubelet_sim.node.inodes import HeldInode, inode_of
from tests.unit.node.bench import Bench, RunOnBench, soon


def test_a_number_is_kept_until_somebody_binds_where_it_leads(short_root: Path) -> None:
    """No file that is made meanwhile gets it, and nothing of it is left."""
    before, after, link = short_root / "before", short_root / "after", short_root / "link"
    before.touch()
    held = HeldInode.of(before, link)
    assert held is not None
    before.unlink()
    others = [short_root / f"other-{number}" for number in range(20)]
    for path in others:
        path.touch()
    assert held.number not in map(inode_of, others)
    held.lead_to(after)
    assert (inode_of(after), link.exists()) == (held.number, False)
    after.unlink()
    after.touch()  # as the library does: it has the number now, where numbers come back and no other program is quicker
    held.let_go()
    assert sorted(short_root.iterdir()) == sorted([after, *others])


def test_a_number_is_let_go(short_root: Path) -> None:
    """Nothing is left of it, of a process that was killed neither; where no file is there is no number."""
    socket, link = short_root / "socket", short_root / "link"
    assert HeldInode.of(socket, link) is None
    socket.touch()
    link.touch()
    held = HeldInode.of(socket, link)
    assert held == HeldInode(socket.stat().st_ino, link)
    assert socket.samefile(link)
    held.let_go()
    held.let_go()
    held.lead_to(short_root / "nowhere")
    assert list(short_root.iterdir()) == [socket]


def test_a_number_that_cannot_be_kept_is_known_all_the_same(short_root: Path) -> None:
    """A link may be impossible."""
    socket = short_root / "socket"
    socket.touch()
    assert HeldInode.of(socket, short_root / "no" / "link") == HeldInode(
        socket.stat().st_ino, short_root / "no" / "link"
    )


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
        assert not it.node.root.layout.held_inode.exists()

    on_bench(body)
