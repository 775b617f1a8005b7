"""Inode numbers that come back."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kubelet_sim.model.life import Comeback
from kubelet_sim.node.root_directory.held_inode import HeldInode, inode_of
from tests.integration.node.bench import Bench, RunOnBench, soon


@pytest.fixture
def sock(short_root: Path) -> Path:
    """A socket's file."""
    path = short_root / "sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    return path


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_number_is_kept_until_somebody_binds_where_it_leads(short_root: Path, sock: Path, *, is_seen: bool) -> None:
    """No file that is made meanwhile gets it, and nothing of it is left."""
    after, private = short_root / "after", short_root / "private"
    private.mkdir()
    held = HeldInode.of(sock, private / "link")
    assert held is not None
    sock.unlink()
    others = [short_root / f"other-{number}" for number in range(20)]
    for path in others:
        path.touch()
    assert held.number not in map(inode_of, others)
    held.lead_to(None if is_seen else after)
    assert inode_of(after) == (None if is_seen else held.number)
    after.unlink(missing_ok=True)
    after.touch()  # as the library does: it has the number now, where numbers come back and no other program is quicker
    held.let_go()
    assert sorted(short_root.iterdir()) == sorted([after, private, *others])
    assert list(private.iterdir()) == []


def test_a_number_is_let_go(short_root: Path, sock: Path) -> None:
    """Nothing is left of it, of a process that was killed neither; where no file is there is no number."""
    link = short_root / "link"
    assert HeldInode.of(short_root / "none", link) is None
    link.touch()
    held = HeldInode.of(sock, link)
    assert held == HeldInode(sock.stat().st_ino, link)
    assert sock.samefile(link)
    held.let_go()
    held.let_go()
    held.lead_to(short_root / "nowhere")
    held.let_go()
    assert list(short_root.iterdir()) == [sock]


def test_a_number_that_cannot_be_kept_is_known_all_the_same(short_root: Path, sock: Path) -> None:
    """A link may be impossible, and what is no socket would not be removed by who binds."""
    link = short_root / "no" / "link"
    assert HeldInode.of(sock, link) == HeldInode(sock.stat().st_ino, link)
    file, link = short_root / "file", short_root / "link"
    file.touch()
    assert HeldInode.of(file, link) == HeldInode(file.stat().st_ino, link)
    assert not link.exists()


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
        await soon(it.node.crash())
        path.unlink()
        await soon(it.node.start_kubelet(Comeback(same_inode=True)))
        assert "there was no kubelet.sock whose inode the next one could have" in it.texts()

    on_bench(body)
