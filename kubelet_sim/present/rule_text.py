"""A rule of the kubelet, and paragraphs of what there is to say: for eyes and for programs."""

from __future__ import annotations

import textwrap
from typing import Any

from kubelet_sim.rules.rule import Rule

WIDTH = 100
"""Columns of a paragraph."""


def rule_text(rule: Rule) -> str:
    """All that there is to say of a rule."""
    said = (
        ("rule", rule.sentence),
        ("source", rule.source),
        ("seen", f"{rule.mark.value}{f' ({rule.mark_note})' if rule.mark_note else ''}"),
        ("here", f"{rule.status.value}{f': {rule.reason}' if rule.reason else ''}"),
    )
    return "\n".join([rule.id, *(line for name, text in said for line in paragraph(name, text))])


def paragraph(name: str, text: str) -> list[str]:
    """The lines of a text that begins with a name."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {name + ':':9} ", subsequent_indent=" " * 12)


def rule_document(rule: Rule) -> dict[str, Any]:
    """A rule as plain values, for programs."""
    return {
        "id": rule.id,
        "sentence": rule.sentence,
        "source": rule.source,
        "mark": rule.mark.value,
        "status": rule.status.value,
        "reason": rule.reason,
        "restates": list(rule.restates),
    }
