"""Which sockets are seen, with real files and inotify; nobody listens on them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from attrs import define, field

from kubelet_sim.errors import TransportError
from kubelet_sim.node.clock import settle
from kubelet_sim.node.services.registry_files import RegistryFiles, Sightings, leave_no_registry, make_registry
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is Linux's")


def bound(path: Path) -> None:
    """Make a socket file."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as unheard:
        unheard.bind(str(path))


@define
class Seen:
    """What was told, as `+name` and `-name` relative to the directory."""

    directory: Path
    told: list[str] = field(factory=list)
    troubles: list[str] = field(factory=list)

    def sightings(self) -> Sightings:
        return Sightings(
            lambda path: self.told.append(f"+{Path(path).relative_to(self.directory)}"),
            lambda path: self.told.append(f"-{Path(path).relative_to(self.directory)}"),
            self.troubles.append,
        )

    async def news(self) -> list[str]:
        """What was told since the last look."""
        await settle()
        told, self.told = self.told, []
        return told


def watching(root: Path, body: Callable[[Seen], Awaitable[None]]) -> Seen:
    """Run the body while the directory is watched."""
    directory = root / "plugins_registry"
    make_registry(directory)
    seen = Seen(directory)

    async def whole() -> None:
        files = RegistryFiles(directory, seen.sightings())
        files.begin()
        reading = asyncio.ensure_future(files.read())
        try:
            await body(seen)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            files.close()
            files.close()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))
    return seen


def test_the_directory_is_closed_to_others(short_root: Path) -> None:
    """0750 less the umask, parents too; one that is there keeps its mode. Rules: DM-146"""
    directory = short_root / "kubelet" / "plugins_registry"
    before = os.umask(0o027)
    try:
        make_registry(directory)
        assert stat.S_IMODE(directory.stat().st_mode) == 0o750
        directory.chmod(0o711)
        make_registry(directory)
    finally:
        os.umask(before)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o711


def test_a_directory_that_cannot_be_made(short_root: Path) -> None:
    """In the kubelet's words. Rules: DM-146"""
    (short_root / "file").touch()
    for path in (short_root / "file", short_root / "file" / "below"):
        with pytest.raises(TransportError, match=f"mkdir {path}: (not a directory|file exists)"):
            make_registry(path)


def test_without_a_watcher_there_is_no_directory(short_root: Path) -> None:
    """An empty one of an earlier node goes, one with something in it stays. Rules: DM-146"""
    directory = short_root / "plugins_registry"
    assert leave_no_registry(directory)
    directory.mkdir()
    assert leave_no_registry(directory)
    assert not directory.exists()
    directory.mkdir()
    (directory / "file").touch()
    assert not leave_no_registry(directory)


def test_sockets_that_are_there_are_seen_at_the_start(short_root: Path) -> None:
    """In sorted order, those in sub-directories too, also in one whose name begins with a dot. Rules: DM-146, DM-153"""
    directory = short_root / "plugins_registry"
    for name in ("sub/deep", ".hidden", "empty"):
        (directory / name).mkdir(parents=True)
    for name in ("b.sock", "a.sock", "sub/deep/c.sock", ".hidden/d.sock", ".dot.sock", "sub/.dot.sock"):
        bound(directory / name)
    (directory / "file").touch()
    os.mkfifo(directory / "fifo")

    async def body(seen: Seen) -> None:
        assert await seen.news() == ["+.hidden/d.sock", "+a.sock", "+b.sock", "+sub/deep/c.sock"]
        bound(directory / ".hidden" / "e.sock")
        bound(directory / "sub" / "deep" / "f.sock")
        assert await seen.news() == ["+.hidden/e.sock", "+sub/deep/f.sock"]

    assert watching(short_root, body).troubles == []


def test_sockets_that_come_and_go(short_root: Path) -> None:
    """Bound, removed, replaced by a rename; what is no socket is nothing. Rules: DM-146, DM-147, DM-152"""

    async def body(seen: Seen) -> None:
        bound(seen.directory / "a.sock")
        assert await seen.news() == ["+a.sock"]
        bound(seen.directory / ".new")
        (seen.directory / ".new").rename(seen.directory / "a.sock")
        assert await seen.news() == ["+a.sock"]
        (seen.directory / "a.sock").unlink()
        (seen.directory / "file").touch()
        assert await seen.news() == ["-a.sock"]

    watching(short_root, body)


def test_a_socket_that_is_moved_away_is_not_missed(short_root: Path) -> None:
    """The kubelet looks for removals, and this is none; where it comes to lie it is new. Rules: DM-146, DM-152"""

    async def body(seen: Seen) -> None:
        bound(seen.directory / "a.sock")
        (seen.directory / "a.sock").rename(seen.directory / "b.sock")
        assert await seen.news() == ["+b.sock"]

    watching(short_root, body)


def test_directories_that_are_made_later(short_root: Path) -> None:
    """Watched, and walked; one whose name begins with a dot is ignored with all in it. Rules: DM-146"""

    async def body(seen: Seen) -> None:
        (seen.directory / "sub").mkdir()
        (seen.directory / ".hidden").mkdir()
        assert await seen.news() == []
        bound(seen.directory / "sub" / "a.sock")
        bound(seen.directory / ".hidden" / "b.sock")
        assert await seen.news() == ["+sub/a.sock"]

        # A whole tree that is moved in: in a walk, dots do not matter.
        outside = short_root / "tree"
        (outside / ".hidden").mkdir(parents=True)
        bound(outside / ".hidden" / "c.sock")
        bound(outside / "d.sock")
        outside.rename(seen.directory / "tree")
        assert await seen.news() == ["+tree/.hidden/c.sock", "+tree/d.sock"]

    watching(short_root, body)


def test_a_link_to_a_socket_is_a_socket_of_its_own_path(short_root: Path) -> None:
    """One to a socket is a socket of its own path; one to a directory is watched, not walked. Rules: DM-146"""
    directory, outside = short_root / "plugins_registry", short_root / "outside"
    directory.mkdir()
    outside.mkdir()
    bound(outside / "a.sock")
    (directory / "before.sock").symlink_to(outside / "a.sock")
    (directory / "before").symlink_to(outside)

    async def body(seen: Seen) -> None:
        assert await seen.news() == ["+before.sock"]
        (directory / "later.sock").symlink_to("../outside/a.sock")
        (directory / "nowhere.sock").symlink_to("nowhere")
        (directory / "circle.sock").symlink_to("circle.sock")
        assert await seen.news() == ["+later.sock"]
        (directory / "later").symlink_to(outside)
        assert await seen.news() == []
        bound(outside / "b.sock")
        assert await seen.news() == ["+later/b.sock"]
        (directory / "later.sock").unlink()
        assert await seen.news() == ["-later.sock"]

    seen = watching(short_root, body)
    assert len(seen.troubles) == 1  # the circle
    assert "circle.sock" in seen.troubles[0]


def test_a_closed_directory_is_told(short_root: Path) -> None:
    """What cannot be looked at is trouble, and everything else is seen all the same. Rules: DM-146"""
    if os.geteuid() == 0:
        pytest.skip("root may look everywhere")
    (short_root / "plugins_registry" / "closed").mkdir(parents=True, mode=0o000)
    bound(short_root / "plugins_registry" / "z.sock")

    async def body(seen: Seen) -> None:
        assert await seen.news() == ["+z.sock"]

    (trouble,) = watching(short_root, body).troubles
    assert "permission denied" in trouble
