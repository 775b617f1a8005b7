"""What the generators of pages and schemas share: their one option, and what `--check` says and answers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Files = Mapping[Path, str]
"""The files that are generated, with the text that each has to have."""


def run(tool: str, about: str | None, files: Callable[[], Files], arguments: Sequence[str] | None) -> int:
    """Carry out a generator that has no option but `--check`; the exit code: 0 written or fresh, 1 stale.

    Args:
        tool: its file name, for whoever has to run it.
        about: its docstring, of which the first line is shown.
        files: makes the texts.
        arguments: of the command line; those of the process if not given.
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    return settle(tool, files(), is_check=parser.parse_args(arguments).check)


def settle(tool: str, files: Files, *, is_check: bool) -> int:
    """Write the files, or say which of them are not what would be written; the exit code."""
    if not is_check:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        print(f"{shown} is stale: run python tools/{tool}", file=sys.stderr)
    return 1 if stale else 0
