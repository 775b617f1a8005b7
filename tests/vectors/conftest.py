"""Cases from the vector files: a test module names its files in `VECTOR_FILES`, by the argument that takes a case.

The files lie beside this one, or in the folder that `$KUBELET_SIM_VECTORS` names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def vectors_dir() -> Path:
    """The folder of the vector files."""
    return Path(os.environ.get("KUBELET_SIM_VECTORS") or Path(__file__).parent)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case of each file that the module names: `file.json`, or `file.json#member` for a list in it.

    A folder of further vectors need not have every file.
    """
    files: dict[str, str] = getattr(metafunc.module, "VECTOR_FILES", {})
    for argument, name in files.items():
        if argument in metafunc.fixturenames:
            cases = _cases(name)
            metafunc.parametrize(argument, cases, ids=[case.get("name", str(n)) for n, case in enumerate(cases)])


def _cases(name: str) -> list[dict[str, Any]]:
    file, _, member = name.partition("#")
    path = vectors_dir() / file
    if not path.exists() and "KUBELET_SIM_VECTORS" in os.environ:
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = content[member] if member else content
    return cases
