from __future__ import annotations

import pytest

from kubelet_sim.foreign import escape_terminal


@pytest.mark.parametrize(
    "text, shown",
    [
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("nul\x00 del\x7f backspace\x08", r"nul\x00 del\x7f backspace\x08"),
        ("\x9b31m", r"\x9b31m"),
        ("a\tb\r\nc", r"a\tb\r\nc"),
        ("\u202egnp.exe\u202c", r"\u202egnp.exe\u202c"),
        ("\u2066a\u2069\u200e\u200f\u061c", r"\u2066a\u2069\u200e\u200f\u061c"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800\udcff", r"\ud800\udcff"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_shows_what_a_terminal_would_obey(text: str, shown: str) -> None:
    """Controls, bidirectional marks, line separators and halves of characters are shown as escapes."""
    assert escape_terminal(text) == shown


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
def test_no_control_reaches_a_terminal(code: int) -> None:
    """The result is printable ASCII for every control and bidirectional mark there is."""
    shown = escape_terminal(chr(code))
    assert shown.isascii()
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["", "GPU-0::3", "Grüße, 世界, עברית", "👩‍🔬", r"C:\new [bold]", "non\u00a0breaking"])
def test_letters_emoji_and_markup_stay_as_they_are(text: str) -> None:
    """Letters of all scripts, emoji, backslashes and markup stay as they are."""
    assert escape_terminal(text) == text


def test_the_result_can_be_encoded() -> None:
    """No character is left that a UTF-8 terminal cannot be given."""
    assert escape_terminal("".join(map(chr, range(0xD7F0, 0xE010)))).encode()
