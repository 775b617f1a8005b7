"""Write docs/reference/versions.md: the kubelet releases, how they differ, and their feature gates.

    python tools/generate_versions_page.py            write the page
    python tools/generate_versions_page.py --check    say whether it is what would be written

All of it is taken from `kubelet_sim.profiles`; `kubelet-sim versions` prints the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.profiles import RELEASES  # noqa: E402 - found by the line above, installed or not
from kubelet_sim.profiles.gates import GATES, gates_of  # noqa: E402
from kubelet_sim.profiles.switch_texts import SWITCHES, moved, value_text  # noqa: E402
from tools import generated  # noqa: E402 (likewise)

PAGE = ROOT / "docs" / "reference" / "versions.md"


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Kubelet releases"
    yield ""
    yield "<!-- Made by tools/generate_versions_page.py; do not edit. -->"
    yield ""
    yield "`kubelet-sim run --kubelet-version VERSION` behaves like one of these. Each stands for one patch release (`x`: nobody"
    yield "wrote down which) with its feature gates at their defaults. A patch release that is not listed gets the profile that is"
    yield "nearest to it. `kubelet-sim versions diff 1.24 1.25` says what lies between any two."
    yield ""
    yield "| version | stands for | sources read |"
    yield "|---|---|---|"
    for profile in RELEASES.values():
        yield f"| `{profile.version}` | {profile.stands_for} | {'yes' if profile.was_read else 'no'} |"
    yield ""
    yield "## From one to the next"
    for before, after in pairwise(RELEASES.values()):
        yield ""
        yield f"### {before.version} → {after.version}"
        yield ""
        found = moved(before, after)
        for each in found:
            yield f"- {each.text} ({_links(each.switch.rules)})"
        if not found:
            yield "Nothing that kubelet-sim follows, with feature gates at their defaults."
    yield ""
    yield "## Switches"
    yield ""
    yield "Each with its values from the oldest release to the latest."
    yield ""
    yield "| switch | values | rules |"
    yield "|---|---|---|"
    for switch in SWITCHES.values():
        yield f"| {switch.title} | {_values(switch.name)} | {_links(switch.rules)} |"
    yield ""
    yield "## Feature gates"
    yield ""
    yield "Those that concern devices; `--feature-gates NAME=true` of `kubelet-sim run` turns them, as `featureGates` of its"
    yield "`--config` does. One that is locked cannot be turned. Where nothing is said to follow, turning it changes nothing here."
    yield ""
    yield "| gate | stages | what follows it | rules |"
    yield "|---|---|---|---|"
    for gate in GATES.values():
        follows = "nothing" if gate.moves is None else ", ".join(f"`{name}`" for name in gate.moves(36, True))
        yield f"| `{gate.name}` | {_stages(gate.name)} | {follows} | {_links(gate.rules)} |"


def _values(name: str) -> str:
    runs = groupby(RELEASES.values(), key=lambda profile: value_text(getattr(profile, name)))
    first, *later = [(value, next(iter(profiles)).version) for value, profiles in runs]
    return "; ".join([first[0], *(f"{value} since {version}" for value, version in later)])


def _stages(name: str) -> str:
    runs = groupby(RELEASES.values(), key=lambda profile: gates_of(profile).get(name))
    parts = []
    for stage, profiles in runs:
        version = next(iter(profiles)).version
        if stage is not None:
            parts.append(f"{stage.text} since {version}")
        elif parts:
            parts.append(f"gone since {version}")
    return "; ".join(parts)


def _links(rules: Sequence[str]) -> str:
    return ", ".join(f"[{rule}](rules.md#{rule.lower()})" for rule in rules)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""
    return generated.run("generate_versions_page.py", __doc__, lambda: {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main())
