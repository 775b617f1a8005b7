"""What every test of the project has at hand: the fixtures that users get, and a watch on what a test leaves behind."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.leftovers import no_thread_is_left

# A shell has its background jobs ignore the one, `nohup` the other, and what they start inherits that: here both are sent and
# have to arrive.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example or its making takes says how busy the machine is, and nothing of the code.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

pytest_plugins = ["kubelet_sim.pytest_plugin"]


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Fail a test that leaves a thread of ours behind."""
    with no_thread_is_left():
        yield


@pytest.fixture
def short_root() -> Iterator[Path]:
    """A new folder whose path leaves room for a socket's name: it ends at 107 bytes."""
    path = tempfile.mkdtemp(prefix="ks-", dir="/tmp")
    yield Path(path)
    shutil.rmtree(path, ignore_errors=True)
