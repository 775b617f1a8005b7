"""Text of others, on a terminal and in reports: shown, never obeyed.

Ids, error texts and plugin output may hold anything, escape sequences and bidirectional marks included. The markup of a
medium (rich, HTML, XML, Markdown) is another matter: whoever writes for it escapes that as well.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable

NO_UTF8 = "it is no UTF-8 text"
"""What there is to say of a file that was to be text."""

_LAST_LINES = 3
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

# Controls (C0, DEL, C1), marks that reorder or hide what stands beside them, line separators, halves of characters. The
# joiners U+200C and U+200D stay: scripts and emoji need them, and they do no harm.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_NO_XML = re.compile("[\ufffe\uffff]|[\U0001fffe-\U0001ffff]")


def escape_terminal(text: str) -> str:
    r"""The text on one line, with everything that a terminal would act on written as `\x1b`, `\u202e`, `\n`.

    A backslash of the text stays as it is: the result is for eyes, it cannot be read back.
    """
    return _UNSAFE.sub(_escape, text)


def escape_lines(text: str) -> str:
    """The text as `escape_terminal` shows it, but on as many lines as it has, its tabs kept."""
    return "\n".join("\t".join(map(escape_terminal, line.split("\t"))) for line in text.split("\n"))


def xml_text(text: str) -> str:
    """The text as `escape_lines` shows it, without the few characters more that XML 1.0 cannot hold."""
    return _NO_XML.sub(_escape, escape_lines(text))


def cut(text: str, length: int = 2000) -> str:
    """The text, or its beginning and how long it is: a name of a million characters is worth less than the next line."""
    return text if len(text) <= length else f"{text[:length]}… ({len(text)} characters)"


def ending(exit_code: int | None) -> str:
    """What became of a process that is gone: `ended with exit code 3`, `was killed by SIGKILL`."""
    if exit_code is None:
        return "ended"
    if exit_code < 0:
        try:
            return f"was killed by {signal.Signals(-exit_code).name}"
        except ValueError:
            return f"was killed by signal {-exit_code}"
    return f"ended with exit code {exit_code}"


def gist(lines: Iterable[str]) -> str:
    """Of a process's output what tells most, on one line: its first line and the last ones; empty if it said nothing.

    A program that does not know an option says so first, and how it wants to be used after that, in many lines. Tabs are
    spaces; what else is not printable is left to whoever shows it.
    """
    told = [text for line in lines if (text := " ".join(line.split()))]
    if len(told) > 1 + _LAST_LINES:
        told = [told[0], "…", *told[-_LAST_LINES:]]
    return " / ".join(told)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code <= 0xFF:  # noqa: PLR2004 - two digits are enough
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - likewise four
