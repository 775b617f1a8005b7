"""The files that a user gives beside a plugin."""

from __future__ import annotations

from pathlib import Path

from kubelet_sim.errors import UsageError
from kubelet_sim.foreign import why_no_text


def read_text(path: Path) -> str:
    """The text of a file. Raises `UsageError` if it cannot be read, or is none."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: {why_no_text(error)}") from error
