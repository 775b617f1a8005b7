"""The checkpoint on disk: written so that the file is the old or the new one, never half of one.

As long as the disk is quick, the event loop waits for it: a change of threads takes longer than that. Once it was slow, the
blocking work is done in one thread of the store's own, in the order in which it was asked for, and the event loop stays free.
A read sees every write before it. The text is `core.checkpoint_file.encoder`'s, reading it back is `core.checkpoint_file.decoder`'s.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.core.checkpoint_file.encoder import Encoder
from kubelet_sim.errors import CheckpointNotWritten, CheckpointUnreadable, TransportError
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.node.root_directory.checkpoint_file import read_file, write_advice
from kubelet_sim.node.root_directory.device_plugin_directory import make_directory
from kubelet_sim.node.root_directory.os_errors import os_error_text

_T = TypeVar("_T")

_TEMPORARY_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_TEMPORARY_MODE = 0o600
_TEMPORARY_TRIES = 100
QUICK_S = 0.02
"""Less than that a disk has to have taken the last time for the event loop to wait for it."""


class FileCheckpointStore:
    """The `CheckpointStore` of a real directory.

    Work that was asked for is done even if the caller is cancelled meanwhile. After `close` nothing is stored: a
    write fails as one to a broken disk does.

    Args:
        directory: where the file lies.
        reads_before_1_20: whether a file of a kubelet before 1.20 can be read (DM-144).

    Rules: CP-1, CP-3, DM-135, DM-137
    """

    def __init__(self, directory: Path, *, reads_before_1_20: bool = False) -> None:
        self._directory = directory
        self._encoder = Encoder()
        self._reads_before_1_20 = reads_before_1_20
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kubelet-sim-checkpoint")
        self._in_thread: Future[Any] | None = None
        """What the thread was asked for last."""
        self._last_took_s = 0.0
        self._is_closed = False

    @property
    def path(self) -> Path:
        """The checkpoint file, whether or not it exists."""
        return self._directory / CHECKPOINT_NAME

    async def write(self, document: CheckpointDocument) -> None:
        """Durable when it returns. Raises `CheckpointNotWritten`; the file is then as it was before.

        The text is composed before the first await: what changes later is not in it (DM-137).

        Rules: CP-3, DM-135
        """
        data = self._encoder.encode(document)
        if self._is_closed:
            raise CheckpointNotWritten("the store is closed")
        await self._done(lambda: write_file(self.path, data))

    async def read(self) -> CheckpointDocument:
        """The document as stored by all writes before.

        Raises `CheckpointMissing`, `…Unreadable`, `…Corrupt` or, for what a start must not go on over, `…TooLarge`.

        Rules: CP-12, CP-13, CP-14, DM-141
        """
        if self._is_closed:
            raise CheckpointUnreadable("the store is closed")
        data = await self._done(lambda: read_file(self.path))
        return decode(data, reads_before_1_20=self._reads_before_1_20)

    def close(self) -> None:
        """End the thread, after what was asked of it is done. May be called again."""
        self._is_closed = True
        self._worker.shutdown(wait=True)

    async def _done(self, work: Callable[[], _T]) -> _T:
        """What comes of work with the disk: at once if it is quick and nothing is before it, else in the thread."""
        if self._last_took_s < QUICK_S and (self._in_thread is None or self._in_thread.done()):
            return self._timed(work)
        self._in_thread = in_thread = self._worker.submit(self._timed, work)
        return await _outcome(in_thread)

    def _timed(self, work: Callable[[], _T]) -> _T:
        begun_at_s = time.monotonic()
        try:
            return work()
        finally:
            self._last_took_s = time.monotonic() - begun_at_s


def write_file(path: Path, data: bytes) -> None:
    """Write a temporary file beside `path`, sync it and rename it over `path`; the directory is made if it is gone.

    Raises `CheckpointNotWritten`, no temporary file left. The directory itself is not synced, as the kubelet has it.

    Rules: CP-3, DM-135
    Follows: filestore Write, writeFile
    """
    try:
        make_directory(path.parent)
        _replace(path, data)
    except (TransportError, CheckpointNotWritten) as exc:
        advice = write_advice(path, exc.__cause__) if isinstance(exc.__cause__, OSError) else ""
        cause = exc.cause if isinstance(exc, CheckpointNotWritten) else str(exc)
        raise CheckpointNotWritten(cause, advice=advice) from exc


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = _open_temporary(path.parent)
    try:
        _fill(descriptor, temporary, data)
        _rename(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _open_temporary(directory: Path) -> tuple[int, Path]:
    tries_left = _TEMPORARY_TRIES
    while True:
        path = directory / f".{secrets.randbelow(2**32)}"
        try:
            return os.open(path, _TEMPORARY_FLAGS, _TEMPORARY_MODE), path
        except OSError as exc:
            tries_left -= 1
            if not (isinstance(exc, FileExistsError) and tries_left):
                raise CheckpointNotWritten(os_error_text("open", path, exc)) from exc


def _fill(descriptor: int, temporary: Path, data: bytes) -> None:
    try:
        with _failing_as("write", temporary):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        with _failing_as("sync", temporary):
            os.fsync(descriptor)
    finally:
        with _failing_as("close", temporary):
            os.close(descriptor)


def _rename(temporary: Path, path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():  # Go looks before the system call does, and has its own word for it
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        temporary.rename(path)
    except OSError as exc:
        raise CheckpointNotWritten(os_error_text(f"rename {temporary}", path, exc)) from exc


@contextmanager
def _failing_as(operation: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise CheckpointNotWritten(os_error_text(operation, path, exc)) from exc


async def _outcome(work: Future[_T]) -> _T:
    """What the thread made of the work. Giving up the wait does not take the work back."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not answer.done():  # else the caller was cancelled
            answer.set_result(None)

    def tell(_: Future[_T]) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(settle)

    work.add_done_callback(tell)
    await answer
    return work.result()
