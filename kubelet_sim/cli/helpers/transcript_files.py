"""Transcript files that a user names: opened, and read whole or while they grow."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from kubelet_sim.errors import UsageError
from kubelet_sim.foreign import NO_UTF8
from kubelet_sim.node.recording.reader import Line, read_header, read_line, read_lines

_LOOK_EVERY_S = 0.2


@contextmanager
def opened_transcript(path: Path) -> Iterator[IO[str]]:
    """Opens a file, or standard input for `-`; what is wrong with its text is told with its name. Raises `UsageError`."""
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as lines:
            yield lines
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no transcript: {NO_UTF8}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def lines_of_file(path: Path, *, follow: bool = False) -> Iterator[Line]:
    """The records of a file; with `follow`, those that come, too, until nobody asks any more.

    Raises:
        UsageError: it is no transcript; the text names file and line.
    """
    with opened_transcript(path) as file:
        text = _growing(file) if follow else iter(file)
        read_header(text)
        if follow:  # a line that is whole is not held back until the next one shows that
            yield from (read_line(number, each) for number, each in enumerate(text, start=2))
        else:
            yield from read_lines(text)


def _growing(file: Iterable[str]) -> Iterator[str]:
    """The whole lines of a file that grows, each as soon as it is complete."""
    part = ""
    while True:
        for text in file:
            part += text
            if part.endswith("\n"):
                yield part
                part = ""
        time.sleep(_LOOK_EVERY_S)
