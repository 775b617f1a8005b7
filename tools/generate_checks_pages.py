"""Write docs/reference/checks/: a page for each conformance check, and a list of all, group by group.

    python tools/generate_checks_pages.py             write the pages
    python tools/generate_checks_pages.py --check     exit 1 if they are not what would be written
    python tools/generate_checks_pages.py --record    run checks on faulty plugins first, and keep what they found

The texts stand beside the checks. What a check finds on a plugin with its fault, and that it passes a good one, is kept in
`recorded.json` beside the pages: it is recorded for checks that it does not have yet, or for the ids given behind `--record`.
All of it takes eight minutes or more (remove the file for that); `--check` runs no plugin.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.conformance import Check  # noqa: E402 - found by the line above, installed or not
from kubelet_sim.conformance.check import in_order  # noqa: E402
from kubelet_sim.conformance.check_texts import facts, sections  # noqa: E402
from kubelet_sim.rules import RULES  # noqa: E402

FOLDER = ROOT / "docs" / "reference" / "checks"
RECORDED = FOLDER / "recorded.json"
MADE = "<!-- Made by tools/generate_checks_pages.py; do not edit. -->"
FAULTY = "plugins_examples.faulty"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    checks = tuple(in_order())
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.is_file() else {}
    faults = faults_by_check()
    found = {f"{check.id}.md": "\n".join(_page(check, faults, recorded)) + "\n" for check in checks}
    return {"README.md": "\n".join(_index(checks)) + "\n", **found}


def faults_by_check() -> dict[str, tuple[str, str]]:
    """By check the fault of the faulty example plugin that was made for it: its name, and what is wrong with it."""
    try:
        table: Any = importlib.import_module(f"{FAULTY}.faults").FAULTS
    except ModuleNotFoundError:
        return {}
    found: dict[str, tuple[str, str]] = {}
    for fault in table.values():
        for check in fault.checks[:1]:  # those of a life are for `fuzz`, and have none
            found.setdefault(check, (fault.name, fault.text))
    return found


def _index(checks: Sequence[Check]) -> Iterator[str]:
    yield "# Conformance checks"
    yield ""
    yield MADE
    yield ""
    yield f"The {len(checks)} checks of `kubelet-sim conform`, group by group. `kubelet-sim explain ID` tells the same of one, and"
    yield "`--select` and `--skip` take ids, groups and levels. [Reports](../reports.md) says how results count."
    group = None
    for check in checks:
        if check.group is not group:
            group = check.group
            yield from ("", f"## {group.value}", "", "| check | level | what holds |", "|---|---|---|")
        beyond = " (beyond the kubelet)" if check.is_beyond else ""
        yield f"| [`{check.id}`]({check.id}.md) | {check.level.value} | {_cell(check.title)}{beyond} |"


def _page(check: Check, faults: Mapping[str, tuple[str, str]], recorded: Mapping[str, Any]) -> Iterator[str]:
    yield f"# `{check.id}`"
    yield from ("", MADE, "")
    yield f"{check.title}."
    yield from ("", "| | |", "|---|---|")
    yield from (f"| {name} | {_cell(text)} |" for name, text in facts(check))
    for head, text in sections(check):
        yield from ("", f"## {head}", "", text)
    if check.rules:
        yield from ("", "Rules of the kubelet:", "")
        yield from (f"- [{rule}](../rules.md#{rule.lower()}): {RULES[rule].sentence}" for rule in check.rules)
    if check.id in faults:
        yield from _seen(check, *faults[check.id], recorded.get(check.id))


def _seen(check: Check, name: str, text: str, seen: Mapping[str, Any] | None) -> Iterator[str]:
    yield from ("", "## See it fail, and pass", "", f"The faulty example plugin, `--fault {name}`: {text}")
    if check.hooks:
        options = ", ".join(f"`--{hook}`" for hook in check.hooks)
        yield f"Its devices are files of a directory here (`--hardware`), and the commands given to {options} change those."
    command = f"kubelet-sim conform{_options(check)} --select {check.id} -- python3 -m"
    yield from ("", "```console", f"$ {command} {FAULTY} --fault {name}")
    if seen is None or seen["fault"] != name:
        yield from (f"$ {command} {FAULTY}", "```")
        return
    yield from seen["failing"]
    if seen["passing"]:
        yield from ("", f"$ {command} {seen['good']}", *seen["passing"])
    yield from ("```", "", "Measured times are rounded, and names of temporary places replaced.")
    if not seen["passing"]:
        yield "No example plugin does what this check looks at without the fault, so there is no pass to show."


def _options(check: Check) -> str:
    hooks = "".join(f" --{hook} CMD" for hook in check.hooks)
    return f"{' --beyond' if check.is_beyond else ''}{hooks}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def record(ids: Sequence[str]) -> None:
    """Run the checks named, or those of which nothing is recorded, on the plugin with the fault and on good ones."""
    from tools import check_excerpts

    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.is_file() else {}
    faults = faults_by_check()
    known = {check.id for check in in_order()} & set(faults)
    kept = {id_: seen for id_, seen in recorded.items() if id_ in known and seen["fault"] == faults[id_][0]}
    kept |= check_excerpts.record([id_ for id_ in sorted(known) if (id_ in ids if ids else id_ not in kept)])
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    RECORDED.write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/reference/checks/.")
    parser.add_argument("--check", action="store_true", help="only say whether the pages are what would be written")
    parser.add_argument("--record", nargs="*", metavar="ID", help="run checks on faulty plugins first")
    options = parser.parse_args(arguments)
    if options.record is not None:
        record(options.record)
    fresh = pages()
    old = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    if options.check:
        stale = sorted(name for name in {*fresh, *old} if fresh.get(name) != old.get(name))
        for name in stale:
            print(
                f"{FOLDER.relative_to(ROOT)}/{name} is stale: run python tools/generate_checks_pages.py",
                file=sys.stderr,
            )
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in old.keys() - fresh.keys():
        (FOLDER / name).unlink()
    for name, text in fresh.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
