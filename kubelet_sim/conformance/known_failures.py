"""What is remembered beside a run: failures that the user knows of, and what did not pass the last time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from kubelet_sim.conformance.config import SuiteConfig
from kubelet_sim.errors import UsageError
from kubelet_sim.text_files import read_text


def known_failures(path: Path | None, ids: Iterable[str]) -> frozenset[str]:
    """The ids in the file, one a line; `#` begins a comment. None without a file.

    Raises:
        UsageError: it cannot be read, or names a check that there is not.
    """
    if path is None:
        return frozenset()
    known, listed = set(ids), set()
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if id_ := line.partition("#")[0].strip():
            if id_ not in known:
                raise UsageError(
                    f"{path}, line {number}: there is no check {id_!r}; kubelet-sim conform --list shows all"
                )
            listed.add(id_)
    return frozenset(listed)


def state_file(config: SuiteConfig) -> Path | None:
    """Where it is kept what did not pass: one file for each thing tested, in the user's cache directory; `None` for one without."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    except RuntimeError:  # a container is often run as a number that is nobody's
        return None
    tested = json.dumps([config.command, str(config.cwd or Path.cwd()), str(config.attach), config.consumer])
    return Path(cache, "kubelet-sim", "conform", f"{hashlib.sha256(tested.encode()).hexdigest()[:16]}.json")


def read_failed(path: Path | None) -> frozenset[str]:
    """The ids that did not pass when they were made last; none if nothing is remembered, or nothing that can be read."""
    if path is None:
        return frozenset()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def write_failed(path: Path | None, made: Iterable[str], failed: Iterable[str]) -> None:
    """Remember which of the checks made have failed; of others what is remembered already.

    A cache that cannot be written to is no reason to fail.
    """
    if path is None:
        return
    left = (read_failed(path) - set(made)) | set(failed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(sorted(left)), encoding="utf-8")
    except OSError:
        return
