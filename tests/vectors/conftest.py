"""Cases from the vector files: a test module names its files in `VECTOR_FILES`, by the argument that takes a case.

The files lie beside this one, or in the folder that `$KUBELET_SIM_VECTORS` names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def vectors_dir() -> Path:
    """The folder of the vector files."""
    return Path(os.environ.get("KUBELET_SIM_VECTORS") or Path(__file__).parent)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case of each file that the module names."""
    files: dict[str, str] = getattr(metafunc.module, "VECTOR_FILES", {})
    for argument, name in files.items():
        if argument in metafunc.fixturenames:
            cases = json.loads((vectors_dir() / name).read_text(encoding="utf-8"))
            metafunc.parametrize(argument, cases, ids=[case["name"] for case in cases])
