"""Write docs/reference/faults.md: every fault with its arguments, from the node's own list.

- `tools/generate_faults_page.py` writes the page
- `tools/generate_faults_page.py --check` exits with 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.node.faults import FAMILIES, KINDS, FaultKind  # noqa: E402 (found by the line above)
from kubelet_sim.node.faults.kinds import NOTHING_TO_UNDO  # noqa: E402 (likewise)
from tools import generated  # noqa: E402 (likewise)

PAGE = ROOT / "docs" / "reference" / "faults.md"
INTRODUCTION = """\
# Faults

Made by `tools/generate_faults_page.py` from the faults themselves; `kubelet-sim fault show NAME` says the same.
[Make it fail](../how-to/make-it-fail.md) shows how to use them.

Each is a command (`kubelet-sim fault NAME`), a step of a scenario (`do: fault`) and a value for `Node.inject` (`Fault`). What narrows a
fault down (`resource`, `socket`, `pod`) and the `count` after which it ends by itself stand beside its arguments. A fault that happens
once leaves nothing to undo; all others end with `fault undo`, with their count, or with the node.

*Beyond a kubelet* means that no kubelet does it: a plugin that cannot stand it is not wrong.
"""
FOOTER = """\
## Left out

- An **inotify that is refused**: its limit belongs to the whole machine, and everybody else on it would meet the fault, too.
- A restart **within one millisecond**: a kubelet that starts takes as long as it takes. `restart-same-inode` is the harder case for a
  plugin that compares files.
- A **second instance of a plugin** before the first has ended: plugins are started by you. Start two, and end one, as the story
  `second-instances-before-the-first-has-ended` in `tests/scenarios/faults` does.
- The **wrong directory**: where a plugin looks is up to the plugin; `exec` shows its own directory to it.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for family, heading in FAMILIES.items():
        parts.append(f"## {heading}\n")
        parts += ["\n".join(section(kind)) + "\n" for kind in KINDS.values() if kind.family == family]
    return "\n".join([*parts, FOOTER])


def section(kind: FaultKind) -> Iterator[str]:
    """The lines about one fault."""
    yield from (f"### `{kind.name}`", "", kind.does, "")
    if kind.undo == NOTHING_TO_UNDO:
        yield "Happens once: there is nothing to undo."
    else:
        usual = (
            ""
            if kind.usual_count is None
            else f" Ends by itself after {kind.usual_count}, unless `count` says otherwise."
        )
        yield f"`fault undo` ends it, {kind.undo}.{usual}"
    if kind.is_beyond:
        yield "*Beyond a kubelet.*"
    if kind.rules:
        links = ", ".join(f"{rule}" for rule in kind.rules)
        yield f"Rules: {links}."
    rows = [(f"`{each.name}`", cell(each.type_name), cell(each.default_text), each.help) for each in kind.arguments]
    rows += [(f"`{name}`", "TEXT", "", "Only this one.") for name in kind.filters]
    if kind.counts:
        usual = "" if kind.usual_count is None else str(kind.usual_count)
        rows.append(("`count`", "NUMBER", usual, "After how many times it ends by itself."))
    if rows:
        yield from ("", "| argument | type | default | meaning |", "|---|---|---|---|")
        yield from (f"| {' | '.join(row)} |" for row in rows)


def cell(text: str) -> str:
    """Text that a table can hold."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""
    return generated.run("generate_faults_page.py", __doc__, lambda: {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main())
