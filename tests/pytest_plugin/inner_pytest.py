"""A pytest run of a user's inside a test, in the same process: one of its own would be nine tenths imports."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import kubelet_sim

ROOT = Path(__file__).parents[2]
BY_MODULE = ("-p", "no:kubelet_sim", "-p", "kubelet_sim.pytest_plugin")
"""The plugin is there once, whether or not it is installed."""

# All of the package, before `pytester` is there: what comes into `sys.modules` after that is forgotten, and then there twice.
for _found in pkgutil.walk_packages(kubelet_sim.__path__, "kubelet_sim."):
    if not _found.name.endswith("__main__"):
        importlib.import_module(_found.name)


def run_inner_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *options: str) -> pytest.RunResult:
    """The result of pytest, with our plugin and these options, on the files that were made with `pytester`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for workers of pytest-xdist
    return pytester.runpytest_inprocess(*BY_MODULE, "-W", "default", *options)  # ours makes errors of warnings
