from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.errors import CheckpointCorrupt, CheckpointMissing, CheckpointNotWritten, CheckpointUnreadable
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.node.ports import CheckpointStore
from kubelet_sim.node.root_directory import checkpoint_store as store_module
from kubelet_sim.node.root_directory.checkpoint_file import read_file
from kubelet_sim.node.root_directory.checkpoint_store import FileCheckpointStore, write_file
from tests.patience import PATIENCE_S

NAME = "kubelet_internal_checkpoint"
SLOW, QUICK = 0.0, 60.0
"""A limit under which no disk is quick, and one under which every disk is."""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A folder whose sockets have short paths."""
    path = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@asynccontextmanager
async def _store(directory: Path) -> AsyncIterator[FileCheckpointStore]:
    store = FileCheckpointStore(directory)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield store
    finally:
        store.close()


def _document(number: int) -> CheckpointDocument:
    return CheckpointDocument(None, {"example.com/dev": (f"dev-{number}",)})


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_written_and_read_back(directory: Path) -> None:
    """A write stores the kubelet's bytes with mode 0600, leaves nothing else, and is read back. Rules: CP-1, CP-3"""

    async def run() -> CheckpointDocument:
        async with _store(directory) as store:
            port: CheckpointStore = store
            await port.write(_document(1))
            return await port.read()

    assert asyncio.run(run()) == _document(1)
    assert _names(directory) == [NAME]
    assert (directory / NAME).read_bytes() == encode(_document(1))
    assert stat.S_IMODE((directory / NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("quick_s", [SLOW, QUICK])
def test_order_is_kept(directory: Path, monkeypatch: pytest.MonkeyPatch, quick_s: float) -> None:
    """Writes are stored as they were asked for, and a read sees all that were asked for before it. Rules: DM-137"""
    monkeypatch.setattr(store_module, "QUICK_S", quick_s)

    async def run() -> CheckpointDocument:
        async with _store(directory) as store, asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(store.write(_document(number)))
            reading = group.create_task(store.read())
            later = group.create_task(store.write(_document(99)))
            await later
            return await reading

    assert asyncio.run(run()) == _document(19)
    assert read_file(directory / NAME) == encode(_document(99))


def test_the_loop_is_free_during_a_write(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a disk that was slow takes its time, other tasks go on. Rules: CP-3"""
    monkeypatch.setattr(store_module, "QUICK_S", SLOW)
    going_on = threading.Event()
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        assert going_on.wait(PATIENCE_S)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)

    async def run() -> None:
        async with _store(directory) as store, asyncio.TaskGroup() as group:
            group.create_task(store.write(_document(1)))
            await asyncio.sleep(0)
            going_on.set()

    asyncio.run(run())
    assert _names(directory) == [NAME]


def test_which_thread_writes(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop waits for a quick disk, a thread for one that was slow the last time. Rules: CP-3"""
    writers: list[bool] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        writers.append(threading.current_thread() is threading.main_thread())
        fsync(descriptor)

    async def run() -> None:
        async with _store(directory) as store:
            for number, quick_s in enumerate((QUICK, SLOW, QUICK)):
                monkeypatch.setattr(store_module, "QUICK_S", quick_s)
                await store.write(_document(number))

    monkeypatch.setattr(os, "fsync", noted)
    asyncio.run(run())
    assert writers == [True, False, True]


def test_a_cancelled_write_is_stored_all_the_same(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked for is stored, in its turn, even if nobody waits for it any more. Rules: DM-137"""
    monkeypatch.setattr(store_module, "QUICK_S", SLOW)
    going_on = threading.Event()
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        assert going_on.wait(PATIENCE_S)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)

    async def run() -> CheckpointDocument:
        async with _store(directory) as store:
            writes = [asyncio.create_task(store.write(_document(number))) for number in (1, 2)]
            await asyncio.sleep(0)
            for write in writes:
                write.cancel()
            await asyncio.wait(writes)
            going_on.set()
            return await store.read()

    assert asyncio.run(run()) == _document(2)


def test_a_directory_that_vanished_is_made_again(directory: Path) -> None:
    """The directory is recreated when it is gone. Rules: DM-135"""
    target = directory / "sub" / "device-plugins" / NAME

    write_file(target, b"text")

    assert target.read_bytes() == b"text"
    assert stat.S_IMODE(target.parent.stat().st_mode) & 0o700 == 0o700


def test_a_target_that_cannot_be_replaced(directory: Path) -> None:
    """A directory in the file's place fails the write in the kubelet's words, no temporary file left. Rules: CP-3, DM-135"""
    (directory / NAME).mkdir()

    async def run() -> None:
        async with _store(directory) as store:
            await store.write(_document(1))

    with pytest.raises(CheckpointNotWritten) as caught:
        asyncio.run(run())

    operation, temporary, rest = caught.value.cause.split(" ", 2)
    assert operation == "rename"
    assert Path(temporary).parent == directory
    assert Path(temporary).name[1:].isdecimal()
    assert rest == f"{directory}/{NAME}: file exists"
    assert str(caught.value) == f'failed to write checkpoint file "{NAME}": {caught.value.cause}'
    assert _names(directory) == [NAME]


def test_a_directory_that_is_a_file(directory: Path) -> None:
    """No temporary file can be made below a regular file. Rules: CP-3"""
    (directory / "file").touch()

    with pytest.raises(CheckpointNotWritten, match=r"open .*/file/\.\d+: not a directory"):
        write_file(directory / "file" / NAME, b"")
    with pytest.raises(CheckpointNotWritten, match=f"mkdir {directory}/file/sub: not a directory"):
        write_file(directory / "file" / "sub" / NAME, b"")


@pytest.mark.parametrize("function, operation", [("write", "write"), ("fsync", "sync")])
def test_a_disk_that_fails(directory: Path, monkeypatch: pytest.MonkeyPatch, function: str, operation: str) -> None:
    """A failing disk leaves the old file as it was, and no temporary file. Rules: CP-3, DM-135"""
    write_file(directory / NAME, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, full)
    with pytest.raises(CheckpointNotWritten, match=rf"{operation} {directory}/\.\d+: no space left on device"):
        write_file(directory / NAME, b"new")
    monkeypatch.undo()

    assert _names(directory) == [NAME]
    assert (directory / NAME).read_bytes() == b"old"


def test_the_file_is_only_replaced_whole(directory: Path) -> None:
    """A reader that has the old file open goes on reading the old one: it is replaced, never rewritten. Rules: CP-3"""
    write_file(directory / NAME, b"old")
    with (directory / NAME).open("rb") as reader:
        write_file(directory / NAME, b"a new and longer one")

        assert reader.read() == b"old"
        assert os.fstat(reader.fileno()).st_ino != (directory / NAME).stat().st_ino


def test_killed_before_the_rename(directory: Path) -> None:
    """A process killed when the new file is complete but not yet in place leaves the old one. Rules: CP-3"""
    write_file(directory / NAME, b"old")
    program = (
        "import os, pathlib, signal, sys\n"
        "from kubelet_sim.node.root_directory import checkpoint_store as store\n"
        "store._rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "store.write_file(pathlib.Path(sys.argv[1]), b'new')\n"
    )
    root = str(Path(store_module.__file__).parents[3])

    ended = subprocess.run(
        [sys.executable, "-c", program, str(directory / NAME)],
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": root},
    )

    assert ended.returncode == -signal.SIGKILL
    assert (directory / NAME).read_bytes() == b"old"
    assert len(_names(directory)) == 2


def test_names_of_temporary_files_may_be_taken(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary name that exists is not touched; another one is tried. Rules: CP-3"""
    (directory / ".7").write_text("foreign")
    numbers = iter((7, 7, 8))
    monkeypatch.setattr(secrets, "randbelow", lambda _: next(numbers))

    write_file(directory / NAME, b"new")

    assert (directory / ".7").read_text() == "foreign"
    assert (directory / NAME).read_bytes() == b"new"


def test_names_of_temporary_files_may_all_be_taken(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When no free name is found the write fails; it does not search for ever. Rules: CP-3"""
    (directory / ".7").touch()
    monkeypatch.setattr(secrets, "randbelow", lambda _: 7)

    with pytest.raises(CheckpointNotWritten, match=r"open .*/\.7: file exists"):
        write_file(directory / NAME, b"new")


def _read(directory: Path) -> CheckpointDocument:
    async def run() -> CheckpointDocument:
        async with _store(directory) as store:
            return await store.read()

    return asyncio.run(run())


def test_a_missing_file_is_the_kubelets_own_word(directory: Path) -> None:
    """A missing file, directory or link target is the kubelet's own word. Rules: CP-14"""
    with pytest.raises(CheckpointMissing, match="checkpoint is not found"):
        _read(directory)
    with pytest.raises(CheckpointMissing):
        _read(directory / "gone")
    (directory / NAME).symlink_to("nothing")
    with pytest.raises(CheckpointMissing):
        _read(directory)


def test_a_directory_of_that_name(directory: Path) -> None:
    """A directory is unreadable. Rules: DM-143"""
    (directory / NAME).mkdir()

    with pytest.raises(CheckpointUnreadable, match=f"read {directory}/{NAME}: is a directory"):
        _read(directory)


def test_a_socket_of_that_name(directory: Path) -> None:
    """A socket is unreadable. Rules: DM-8, DM-143"""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(directory / NAME))

    with pytest.raises(CheckpointUnreadable, match=f"open {directory}/{NAME}: no such device or address"):
        _read(directory)


def test_a_named_pipe_of_that_name(directory: Path) -> None:
    """A FIFO is unreadable, and nobody waits for a writer. Rules: DM-143"""
    os.mkfifo(directory / NAME)

    with pytest.raises(CheckpointUnreadable, match="not a regular file"):
        _read(directory)


def test_a_file_that_may_not_be_read_is_unreadable(directory: Path) -> None:
    """A file that may not be read is unreadable. Rules: DM-143"""
    write_file(directory / NAME, b"")
    directory.chmod(0o755)
    (directory / NAME).chmod(0)
    user_id = os.geteuid()
    if user_id == 0:  # modes do not bind root
        os.seteuid(65534)
    try:
        with pytest.raises(CheckpointUnreadable, match="permission denied"):
            read_file(directory / NAME)
    finally:
        os.seteuid(user_id)


def test_content_that_is_not_believed(directory: Path) -> None:
    """Foreign bytes and a wrong checksum are told apart. Rules: CP-12, CP-13"""
    (directory / NAME).write_bytes(b"{")
    with pytest.raises(CheckpointUnreadable):
        _read(directory)
    (directory / NAME).write_bytes(b"{}")
    with pytest.raises(CheckpointCorrupt):
        _read(directory)


def test_closing_ends_the_thread_after_its_work(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing ends the thread after its work; later calls fail as those to a broken disk."""
    monkeypatch.setattr(store_module, "QUICK_S", SLOW)
    before = threading.active_count()

    async def run() -> None:
        async with _store(directory) as store:
            write = asyncio.create_task(store.write(_document(1)))
            await asyncio.sleep(0)
            store.close()
            store.close()
            await write
            with pytest.raises(CheckpointNotWritten, match="the store is closed"):
                await store.write(_document(2))
            with pytest.raises(CheckpointUnreadable, match="the store is closed"):
                await store.read()

    asyncio.run(run())

    assert read_file(directory / NAME) == encode(_document(1))
    assert threading.active_count() == before
