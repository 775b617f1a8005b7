from __future__ import annotations

import re
from typing import Any

import pytest

from kubelet_sim.conformance import CHECKS, Group, Level, Need, Stage, check
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.rules import RULES

TEXTS: Any = {"what": "w", "why": "y", "fix": "f", "source": "s"}


async def nothing(ctx: CheckContext) -> None:
    """A check that finds nothing."""


def test_an_id_that_is_taken_fails_at_import() -> None:
    """Two checks of one id cannot be, and the first one stays."""
    first = CHECKS["law-unique-ids"]
    with pytest.raises(ValueError, match="two checks of the id law-unique-ids"):
        check("law-unique-ids", Group.LISTING, "t", level=Level.ERROR, **TEXTS)(nothing)
    assert CHECKS["law-unique-ids"] is first


def test_an_unknown_rule_fails_at_import() -> None:
    """A check names rules that there are."""
    with pytest.raises(ValueError, match="no rule XX-1"):
        check("x-new", Group.LISTING, "t", level=Level.ERROR, rules="XX-1", **TEXTS)(nothing)
    assert "x-new" not in CHECKS


@pytest.mark.parametrize("level, stage", [(Level.ERROR, Stage.OWN), (Level.WARNING, Stage.SHARED)])
def test_what_is_beyond_the_kubelet_is_a_warning_on_its_own_instance(level: Level, stage: Stage) -> None:
    """Neither an error nor on a plugin that others use."""
    with pytest.raises(ValueError, match="never worse than a warning"):
        check("x-beyond", Group.LISTING, "t", level=level, stage=stage, is_beyond=True, **TEXTS)(nothing)


@pytest.mark.parametrize("check_id", CHECKS)
def test_every_check_says_all_there_is_to_say(check_id: str) -> None:
    """Texts are sentences, titles are none, rules exist, what is optional is a need, and the quick ones are errors."""
    each = CHECKS[check_id]
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", each.id)
    assert not each.title.endswith(".")
    assert all(text.endswith((".", "?")) for text in (each.what, each.why, each.fix))
    assert all(rule in RULES for rule in each.rules)
    assert each.optional <= each.needs
    assert not each.hooks or Need.HOOK in each.needs
    assert not each.is_quick or each.level is Level.ERROR
