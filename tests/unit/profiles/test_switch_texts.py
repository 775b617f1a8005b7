from __future__ import annotations

import re
from itertools import pairwise

import pytest
from attrs import fields

from kubelet_sim.profiles import RELEASES, Profile
from kubelet_sim.profiles.gates import GATES, gates_of
from kubelet_sim.profiles.releases import minor_of
from kubelet_sim.profiles.switch_texts import NOT_SWITCHES, SWITCHES, moved, value_text
from kubelet_sim.rules import RULES


def _values(name: str) -> set[object]:
    """Every value that a switch has in any release, with any of its gates turned."""
    found = {getattr(profile, name) for profile in RELEASES.values()}
    for profile in RELEASES.values():
        for gate in gates_of(profile):
            moves = GATES[gate].moves
            if moves is not None:
                found |= {v for on in (True, False) for s, v in moves(minor_of(profile), on).items() if s == name}
    return found


def test_no_switch_lacks_words() -> None:
    """Every field of a profile that is a switch is told, in the profile's order."""
    assert list(SWITCHES) == [each.name for each in fields(Profile) if each.name not in NOT_SWITCHES]


@pytest.mark.parametrize("name", SWITCHES)
def test_every_value_has_a_sentence(name: str) -> None:
    """Whatever a release or a gate makes of a switch, somebody can read what it means."""
    switch = SWITCHES[name]
    assert _values(name) <= switch.words.keys()
    assert all(re.fullmatch(r"[A-Z`].*\.", text) for text in switch.words.values())
    assert len(set(switch.words.values())) == len(switch.words)


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_names_its_rules(name: str) -> None:
    """Nothing differs without a rule that says so."""
    assert SWITCHES[name].rules
    assert set(SWITCHES[name].rules) <= RULES.keys()


def test_moved_tells_what_holds_afterwards() -> None:
    """Both ways, each with the sentence of the value that is reached; nothing moves between a release and itself."""
    older, newer = RELEASES["1.24"], RELEASES["1.25"]
    there = {each.switch.name: each for each in moved(older, newer)}
    back = {each.switch.name: each for each in moved(newer, older)}
    assert there.keys() == back.keys()
    assert there["register_waits_for_plugin"].text == SWITCHES["register_waits_for_plugin"].words[True]
    assert back["register_waits_for_plugin"].text == SWITCHES["register_waits_for_plugin"].words[False]
    assert moved(older, older) == ()


def test_values_are_shown_for_people() -> None:
    """A table has words for truths and for the members of an enum, and marks where a text ends."""
    shown = {value_text(getattr(profile, name)) for profile in RELEASES.values() for name in SWITCHES}
    assert {"yes", "no", "sockets", "`Pod `", "-1", "0.04"} <= shown
    assert all(before != after for before, after in pairwise(sorted(shown)))
