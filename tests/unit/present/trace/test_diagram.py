from __future__ import annotations

import pytest

from kubelet_sim.present.trace.diagram import escape_mermaid


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a;b#1", "a#59;b#35;1"),
        ("<b>", "#60;b#62;"),
        ('say "hi"\n%%x', "say #34;hi#34;#92;n#37;#37;x"),
        ("the end", "the #101;nd"),
        ("", "#32;"),
        ("ä: b", "#228;#58; b"),
    ],
)
def test_what_mermaid_takes_for_its_own_is_a_number(text: str, shown: str) -> None:
    """The escapes are those of its manual, by decimal code."""
    assert escape_mermaid(text) == shown
