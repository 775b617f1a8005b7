"""What commands are given to read: files, and standard input for `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from kubelet_sim.foreign import why_no_text


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`. Raises `UsageError`."""
    return _decoded(standard_input(), "standard input") if file == "-" else read_file(Path(file))


def read_file(path: Path) -> str:
    """The text of a file, whatever its name. Raises `UsageError`."""
    from kubelet_sim.errors import UsageError

    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


def _decoded(data: bytes, name: str) -> str:
    from kubelet_sim.errors import UsageError

    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {name}: {why_no_text(error)}") from error


def standard_input(most: int = -1) -> bytes:
    """What comes in, to its end or so many bytes of it. Raises `UsageError` if it is closed or cannot be read."""
    from kubelet_sim.errors import UsageError

    if sys.stdin is None:  # the caller closed it
        raise UsageError("standard input is closed")
    try:
        return sys.stdin.buffer.read(most)
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror or error}") from error
