"""What a test leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_thread_is_left() -> Iterator[None]:
    """Fail if threads of ours are there at the end that were not there at the beginning."""
    before = set(threading.enumerate())
    yield
    left = [
        thread.name
        for thread in threading.enumerate()
        if thread not in before and thread.name.startswith("kubelet-sim")
    ]
    assert not left, f"threads left: {left}"
