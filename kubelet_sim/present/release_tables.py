"""Kubelet releases, and how two of them differ: for eyes and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.present.tables import table_text
from kubelet_sim.profiles import Profile
from kubelet_sim.profiles.gates import gates_moved, gates_of
from kubelet_sim.profiles.switch_texts import SWITCHES, moved, value_text


def releases_table(releases: Sequence[Profile]) -> str:
    """A line for each release, with the switches that differ from the one before it."""
    rows = []
    for before, profile in zip([None, *releases], releases, strict=False):
        found = () if before is None else moved(before, profile)
        changed = ", ".join(f"{each.switch.name}: {value_text(each.after)}" for each in found)
        rows.append((profile.version, profile.stands_for, "yes" if profile.was_read else "no", changed))
    return table_text(("VERSION", "STANDS FOR", "READ", "DIFFERS FROM THE ONE BEFORE"), rows)


def release_document(profile: Profile) -> Mapping[str, Any]:
    """A release with every switch, and its feature gates at their defaults."""
    return {
        "version": profile.version,
        "stands_for": profile.stands_for,
        "was_read": profile.was_read,
        "switches": {name: getattr(profile, name) for name in SWITCHES},
        "feature_gates": {
            name: {"stage": stage.word, "default": stage.default, "locked": stage.is_locked}
            for name, stage in gates_of(profile).items()
        },
    }


def difference_text(older: Profile, newer: Profile) -> str:
    """A line for each switch that moves, then one for each feature gate in another stage."""
    told = [(each.text, each.switch.rules) for each in moved(older, newer)]
    told += [(each.text, each.gate.rules) for each in gates_moved(older, newer)]
    nothing = f"{older.version} and {newer.version} do not differ in anything that kubelet-sim follows."
    return "\n".join(f"{text} [{' '.join(rules)}]" for text, rules in told) or nothing


def difference_documents(older: Profile, newer: Profile) -> list[Mapping[str, Any]]:
    """What differs between two releases, as plain values for programs."""
    switches: list[Mapping[str, Any]] = [
        {
            "switch": each.switch.name,
            "before": each.before,
            "after": each.after,
            "text": each.text,
            "rules": each.switch.rules,
        }
        for each in moved(older, newer)
    ]
    gates: list[Mapping[str, Any]] = [
        {
            "feature_gate": each.gate.name,
            "before": each.before and each.before.text,
            "after": each.after and each.after.text,
            "text": each.text,
            "rules": each.gate.rules,
        }
        for each in gates_moved(older, newer)
    ]
    return [*switches, *gates]
