"""The operating system's errors in the words of the kubelet's language: `open /x: no such file or directory`.

What an error means to the caller is decided where it was met.
"""

from __future__ import annotations

import os
from pathlib import Path


def os_error_text(operation: str, path: Path | str, error: OSError) -> str:
    """Operation, path and cause on one line, as Go's `os` package prints them. The path is printed as it is."""
    return f"{operation} {path}: {_cause(error)}"


def _cause(error: OSError) -> str:
    words = error.strerror if error.errno is None else os.strerror(error.errno)
    if not words:
        return str(error)
    # Go's own table of these words begins them with a small letter, but for abbreviations.
    return words if words[:2].isupper() else words[0].lower() + words[1:]
