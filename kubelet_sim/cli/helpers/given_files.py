"""What commands are given to read: files, and standard input for `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from kubelet_sim.errors import UsageError
from kubelet_sim.text_files import decoded, read_text


def read_given(file: str) -> str:
    """The text of a file, or of standard input for `-`. Raises `UsageError`."""
    return decoded(standard_input(), "standard input") if file == "-" else read_text(Path(file))


def standard_input(most: int = -1) -> bytes:
    """What comes in, to its end or so many bytes of it. Raises `UsageError` if it is closed or cannot be read."""
    if sys.stdin is None:  # the caller closed it
        raise UsageError("standard input is closed")
    try:
        return sys.stdin.buffer.read(most)
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror or error}") from error
