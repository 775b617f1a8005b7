"""Reads the text files that a user gives, and replaces those that a user wants, whole or not at all.

One that cannot be read or written, or is no text, is a `UsageError` in our words.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kubelet_sim.errors import UsageError
from kubelet_sim.foreign import NO_UTF8


def read_text(path: Path, name: str = "") -> str:
    """The text of a file, without a byte order mark; errors call it by the name, if there is one. Raises `UsageError`."""
    name = name or str(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a name with a null in it is no path
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    return decoded(data, name)


def decoded(data: bytes, name: str) -> str:
    """The text in the bytes of what has that name, without a byte order mark. Raises `UsageError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise UsageError(f"cannot read {name}: {NO_UTF8}: {at}") from error


def check_writable(path: Path) -> None:
    """Raises `UsageError` for a file that `write_text` could not write: ask before what takes long."""
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}: {folder} is no directory that you may write to")


def write_text(path: Path, text: str) -> None:
    """Replace a file by the text, or make it, as `replace` does. Raises `UsageError`."""
    try:
        replace(path, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def replace(path: Path, data: bytes) -> None:
    """Have the file hold that, with the permissions a new file gets; until it is whole, the old one stays.

    A link is followed: what it points at is replaced. Raises `OSError`.
    """
    path = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=".kubelet-sim-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """What the process takes from new files; there is no way to ask but to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
