"""What no hostile plugin may bring about: a word on stderr, a complaint of asyncio, a socket left open."""

from __future__ import annotations

import gc
import logging
import re
from collections.abc import Iterator

import pytest

_LOG_OF_GRPC = re.compile(r"[IWE]\d{4} ")
"""Where somebody imported the library before us, it talks; `test_stderr` looks at a process where we were first."""


@pytest.fixture(autouse=True)
def nothing_is_said(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test that made the node, gRPC or asyncio write to stderr or to a log."""
    yield
    gc.collect()  # a task's exception that nobody looked at is told of when the task goes
    said = [line for line in capfd.readouterr().err.splitlines() if not _LOG_OF_GRPC.match(line)]
    # gRPC's own logger tells of the plugins, which are in our process here; it is silent unless somebody asks for it.
    logged = [record for phase in ("setup", "call") for record in caplog.get_records(phase)]
    said += [record.getMessage() for record in logged if record.levelno >= logging.WARNING and record.name == "asyncio"]
    assert not said
