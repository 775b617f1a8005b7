"""The CDI file: what a runtime reads to know the devices that this plugin names.

Runtimes watch the directory and may read a file at any moment, so it appears complete or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The oldest that knows everything used here: `hostPath` and names that begin with a digit came with 0.5.0.
CDI_VERSION = "0.6.0"
FILE_MODE = 0o644


def specification(kind: str, devices: Sequence[str], host_node: str) -> Mapping[str, Any]:
    """The document for devices of a kind, `vendor/class`: each is a device node, and a variable of its own."""
    return {"cdiVersion": CDI_VERSION, "kind": kind, "devices": [_device(kind, each, host_node) for each in devices]}


def _device(kind: str, name: str, host_node: str) -> Mapping[str, Any]:
    path = f"/dev/{kind.partition('/')[2]}/{name}"
    node = {"path": path, "hostPath": host_node, "type": "c", "permissions": "rw"}
    # A variable of its own: if all used the same, the runtime would keep that of the last device only.
    variable = f"{kind.partition('/')[2]}_{name}".upper().replace("-", "_")
    return {"name": name, "containerEdits": {"env": [f"{variable}={path}"], "deviceNodes": [node]}}


def qualified(kind: str, name: str) -> str:
    """A device's full name, as Allocate gives it."""
    return f"{kind}={name}"


class SpecFile:
    """One file in a CDI directory, ours from `write` to `remove`."""

    def __init__(self, directory: Path, kind: str) -> None:
        self.path = directory / f"{kind.replace('/', '-')}.json"
        self._written: tuple[int, int, int] | None = None

    def write(self, document: Mapping[str, Any]) -> None:
        """Write it whole, in place of an older one. Raises `OSError`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Runtimes read *.json and *.yaml only.
        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.stem}-", suffix=".tmp", dir=self.path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=2)
                file.write("\n")
                file.flush()
                os.fchmod(descriptor, FILE_MODE)
                os.fsync(descriptor)
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._written = self._identity()

    def remove(self) -> None:
        """Remove it, unless it is another one by now: during an update the new plugin has written before the old ends."""
        if self._written is not None and self._identity() == self._written:
            self.path.unlink(missing_ok=True)
        self._written = None

    def _identity(self) -> tuple[int, int, int] | None:
        with contextlib.suppress(OSError):
            status = self.path.stat()
            return status.st_dev, status.st_ino, status.st_ctime_ns
        return None
