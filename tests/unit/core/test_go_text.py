from __future__ import annotations

import pytest

from kubelet_sim.core.go_text import quoted


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", '""'),
        ("v1beta1 ", '"v1beta1 "'),
        ("a/b'c`", '"a/b\'c`"'),
        ('"\\', r'"\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\x80\x9f\u00a0\u00ad", r'"\u0080\u009f\u00a0\u00ad"'),
        ("\u00e9\u5bb9\U0001f600", '"\u00e9\u5bb9\U0001f600"'),
        ("\u2028\u202e\ufeff\u3000", r'"\u2028\u202e\ufeff\u3000"'),
        ("\U000e0001\U0010ffff", r'"\U000e0001\U0010ffff"'),
        ("\ufffd", '"\ufffd"'),
    ],
)
def test_texts_are_quoted_as_go_quotes_them(text: str, expected: str) -> None:
    """Quotes and backslashes, control characters and whatever has no shape are escaped; the rest stands. Rules: DM-22, DM-23"""
    assert quoted(text) == expected
