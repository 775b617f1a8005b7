"""Paths as a runtime written in Go compares them."""

from __future__ import annotations

import posixpath


def cleaned(path: str) -> str:
    """The shortest path that means the same; `.` for an empty one. Two slashes at the start are one, unlike in POSIX."""
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def depth(path: str) -> int:
    """How deep it lies, by which mounts are sorted: outer ones come first."""
    return cleaned(path).count("/")


def from_root(path: str) -> str:
    """Where a path on the host leads that is relative: containerd stands in the root directory. An empty one stays so."""
    return path if path.startswith("/") or not path else f"/{path}"
