"""Holds that a unit test touches nothing but memory: what does I/O has its place in `tests/integration`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator

import pytest

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_REFUSED = frozenset(
    {
        "os.chmod",
        "os.fork",
        "os.link",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.system",
        "shutil.rmtree",
        "socket.bind",
        "socket.connect",
        "subprocess.Popen",
    }
)
_OF_TOOLS = ("__pycache__", ".hypothesis", os.devnull)
"""Parts of paths that Python and Hypothesis write on their own."""
_others: frozenset[int] | None = None
"""The threads that were there before a unit test, which have nothing to do with it; none while there is no such test."""


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: sees what a test asks of the system, whatever library it goes through."""
    if _others is None or threading.get_ident() in _others:
        return
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & _WRITES:
            return
    elif event in _REFUSED:
        path = arguments[0] if arguments else ""
    else:
        return
    if isinstance(path, int) or any(part in str(path) for part in _OF_TOOLS):
        return
    pytest.fail(f"a unit test does I/O ({event} {path!r}): it belongs to tests/integration")


sys.addaudithook(_refuse)  # for good: Python takes none back


def _touching_nothing() -> Generator[None, object, object]:
    """Fail a test that writes a file, makes a connection or starts a process; to read what lies in the tree is fine."""
    global _others  # noqa: PLW0603 - an audit hook cannot be given anything
    _others = frozenset(thread.ident for thread in threading.enumerate() if thread.ident) - {threading.get_ident()}
    try:
        return (yield)
    finally:
        _others = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Hold it of fixtures, too, those of a whole module among them."""
    return (yield from _touching_nothing())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Hold it of the test itself."""
    return (yield from _touching_nothing())
