"""What is said about a manifest that cannot be read: one line with file, document, path, and what to do."""

from __future__ import annotations

import re
from typing import Any

from kubelet_sim.errors import UsageError

Path = tuple[str | int, ...]
"""Keys and positions from the top of a document to a value in it."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_QUOTE = 80


class ManifestError(UsageError):
    """A manifest that cannot be read; nothing of its file was taken.

    The text is one printable line, whatever the file holds.
    """

    def __init__(
        self,
        problem: str,
        *,
        expected: str = "",
        source: str = "",
        document: int | None = None,
        path: Path = (),
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.problem = problem
        """What was found."""
        self.expected = expected
        """What to write instead; empty where the problem says it."""
        self.source = source
        """The file name, `-` for standard input; empty for a document that came from no file."""
        self.document = document
        """Which document of the file, from 1; `None` where the file does not come apart into documents."""
        self.path = path_text(path)
        """The place in the document, such as `spec.containers[0].name`; empty for the document itself."""
        self.way = path
        """Likewise, as keys and positions."""
        self.line = line
        """From 1; for errors of the syntax only."""
        self.column = column
        super().__init__(self._text())

    def _text(self) -> str:
        where = [{"-": "standard input"}.get(self.source, printable(self.source))] if self.source else []
        if self.document is not None:
            where.append(f"document {self.document}")
        if self.line is not None:
            where.append(f"line {self.line}" + ("" if self.column is None else f", column {self.column}"))
        if self.path:
            where.append(self.path)
        text = f"{', '.join(where)}: {self.problem}" if where else self.problem
        return f"{text}. {self.expected}" if self.expected else text


def path_text(path: Path) -> str:
    """A path as kubectl writes it: `spec.containers[0].resources.limits["example.com/dev"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif len(part) <= _LONGEST_QUOTE and _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{quoted(part)}]"
    return text


def quoted(value: Any) -> str:
    """A value of a document, short and on one line, as one would write it in the file."""
    match value:
        case str():
            return '"' + one_line(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case float():
            return str(value)
        case int():
            # Python refuses to write out very long numbers.
            return str(value) if abs(value) < 10**_LONGEST_QUOTE else "a huge number"
        case dict() | list():
            return "a mapping" if isinstance(value, dict) else "a list"
        case _:
            return f"a value of type {printable(type(value).__name__)}"


def printable(text: str) -> str:
    r"""The text with everything that is no visible character or space written as an escape (`\x1b`, `\u202e`)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def one_line(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """The beginning of the text, printable."""
    return printable(text[:longest]) + ("…" if len(text) > longest else "")
