"""Texts as the kubelet's language prints them, where a text is part of the contract."""

from __future__ import annotations

_SHORT = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_LAST_BYTE = 0x7F
_LAST_OF_FOUR_DIGITS = 0xFFFF


def quoted(text: str) -> str:
    """The text in double quotes, escaped as the verb `%q` does. Rules: DM-22, DM-23"""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _LAST_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}"
