"""Generate the page of all steps and matchers, `docs/reference/scenario.md`, and the schema beside it; with `--check`, only look."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from kubelet_sim.scenario.steps.registry import STEPS  # noqa: E402 - likewise
from kubelet_sim.scenario.steps.step_kind import StepKind  # noqa: E402 - likewise
from kubelet_sim.scenario.story.expectations import MATCHERS  # noqa: E402 - found only now
from tools import generate_scenario_schema, generated  # noqa: E402 - likewise

PAGE = ROOT / "docs" / "reference" / "scenario.md"
HEAD = """# Steps of a story

Every step that a [story](../how-to/scenarios.md) may have, and every word with which it may say what it expects. This page and
[the JSON Schema](scenario.schema.json) are made from the code by `tools/generate_scenario_page.py`.

Beside the keys below, each step may have `expect`, `save` (the name of a variable that what comes is kept in) and `choices`.
Steps marked *look* change nothing: what they expect may have a `within`.

## Steps

| `do` | keys | what happens | what comes |
|---|---|---|---|
"""
MIDDLE = """
## Matchers

A mapping of these words, and of nothing else, is a matcher. With several words, all have to hold.

| word | what fits |
|---|---|
"""


def lines() -> Iterator[str]:
    """Yields the page piece by piece: its texts, and the rows of both tables."""
    yield HEAD
    for name, kind in STEPS.items():
        yield f"| `{name}` | {_keys(kind)} | {_about(kind)} | {kind.comes} |\n"
    yield MIDDLE
    for word, matcher in MATCHERS.items():
        yield f"| `{word}` | {matcher.about} |\n"


def _keys(kind: StepKind) -> str:
    return ", ".join(f"`{key}`" if key in kind.needs else f"[`{key}`]" for key in kind.keys)


def _about(kind: StepKind) -> str:
    notes = filter(None, (kind.nodes.value, "*look*" if kind.is_look else ""))
    return kind.about + (f" ({told})" if (told := "; ".join(notes)) else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""

    def files() -> dict[Path, str]:
        return {PAGE: "".join(lines()), generate_scenario_schema.PAGE: generate_scenario_schema.text()}

    return generated.run("generate_scenario_page.py", __doc__, files, arguments)


if __name__ == "__main__":
    sys.exit(main())
