"""Reads the text files that a user gives: one that cannot be read, or is no text, is a `UsageError` in our words."""

from __future__ import annotations

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
