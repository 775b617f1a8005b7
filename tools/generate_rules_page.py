"""Write docs/reference/rules.md: every rule of the specification, how far it is followed, and where it is named.

    python tools/generate_rules_page.py             write the page
    python tools/generate_rules_page.py --check     exit 1 if the page on disk is not what would be written
    python tools/generate_rules_page.py --missing   exit 1 if a rule that is followed is not named in code or tests

A file names a rule by a `Rules: DM-90, DM-92` line, by a quoted id (`rule="DM-90"`, `rules=("DM-90",)`), or, in a story,
under the key `rules`. Prose that mentions a rule does not name it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.rules import PATHS, RULES, Rule, RuleStatus  # noqa: E402 (found by the line above, in a bare checkout too)
from tools import generated  # noqa: E402 (likewise)

PAGE = ROOT / "docs" / "reference" / "rules.md"
NOT_CODE = ("kubelet_sim/rules/", "kubelet_sim/wire/pb/")
"""The list itself, and generated code."""
NOT_TESTS = ("tests/unit/test_rules.py",)
"""The tests of the list name rules without showing them."""
SUFFIXES = (".py", ".yaml", ".yml", ".json")

_ID = r"(?:DM|CP|TM|PR)-\d+"
_STEP = r"(?:\(\w+\))?"
_ITEM = rf"[\"'`]?{_ID}{_STEP}(?:…{_ID})?[\"'`]?"
_QUOTED = re.compile(rf"[\"']({_ID}){_STEP}[\"']")
# A list may go on in the next line, after a comma or as a YAML list of one id a line.
_LISTED = re.compile(
    rf"\b[Rr]ules[\"']?:[\s\[]*(?:#\s*)?(?:-\s+)?({_ITEM}(?:(?:\s*,\s*(?:#\s*)?|\s*\n\s*-\s+){_ITEM})*)"
)
_RUN = re.compile(rf"({_ID}){_STEP}(?:…({_ID}))?")

FAMILIES = (
    ("DM", "Device manager"),
    ("CP", "Checkpoint"),
    ("TM", "Topology"),
    ("PR", "Pod resources"),
)


@frozen
class Naming:
    """Which files name which rule: sorted paths by rule id."""

    code: Mapping[str, tuple[str, ...]]
    tests: Mapping[str, tuple[str, ...]]


def ids_named(text: str) -> set[str]:
    """The ids of the rules that a file's text names; a run such as `DM-1…DM-3` names each of its rules."""
    named = set(_QUOTED.findall(text))
    for listed in _LISTED.findall(text):
        for first, last in _RUN.findall(listed):
            family, low = first.split("-")
            high = last.split("-")[1] if last else low
            named.update(f"{family}-{number}" for number in range(int(low), int(high) + 1))
    return named


def naming(root: Path = ROOT) -> Naming:
    """What the package and the tests below `root` name."""
    return Naming(code=_named_below(root, "kubelet_sim", NOT_CODE), tests=_named_below(root, "tests", NOT_TESTS))


def _named_below(root: Path, top: str, without: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for path in sorted((root / top).rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix in SUFFIXES and not name.startswith(tuple(without)):
            for rule_id in ids_named(path.read_text(encoding="utf-8")):
                found.setdefault(rule_id, []).append(name)
    return {rule_id: tuple(names) for rule_id, names in found.items()}


def unnamed(named: Mapping[str, tuple[str, ...]], rules: Iterable[Rule] = RULES.values()) -> list[str]:
    """Ids of rules that are followed, wholly or in part, and that nobody in `named` names; in the list's order.

    Pitfalls are shown by the rules they restate, and left out here.
    """
    return [
        rule.id
        for rule in rules
        if rule.status is not RuleStatus.LEFT_OUT and not rule.restates and rule.id not in named
    ]


def unknown(named: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The files that name a rule which does not exist, by that id."""
    return {rule_id: files for rule_id, files in sorted(named.items()) if rule_id not in RULES}


def page(where: Naming) -> str:
    """The whole page."""
    return "\n".join(_lines(where)) + "\n"


def _lines(where: Naming) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "<!-- Written by tools/generate_rules_page.py. Do not edit. -->"
    yield ""
    yield "What kubelet-sim knows about the kubelet of Kubernetes v1.36.2, rule by rule, and how far it follows each."
    yield ""
    yield from _counts()
    yield ""
    yield from _legend()
    for family, title in FAMILIES:
        mine = [rule for rule in RULES.values() if rule.id.startswith(f"{family}-")]
        yield from _section(title, [rule for rule in mine if not rule.restates], where)
        pitfalls = [rule for rule in mine if rule.restates]
        if pitfalls:
            yield from _pitfalls(title, pitfalls)


def _counts() -> Iterator[str]:
    yield "| | rules | done | partial | left out |"
    yield "|---|---:|---:|---:|---:|"
    totals: Counter[RuleStatus] = Counter()
    for family, title in FAMILIES:
        mine = [rule for rule in RULES.values() if rule.id.startswith(f"{family}-")]
        for label, some in (
            (title, [rule for rule in mine if not rule.restates]),
            (f"{title}: pitfalls", [rule for rule in mine if rule.restates]),
        ):
            if some:
                count = Counter(rule.status for rule in some)
                totals += count
                yield _count_row(label, count)
    yield _count_row("**all**", totals)


def _count_row(label: str, count: Counter[RuleStatus]) -> str:
    numbers = [count.total(), *(count[status] for status in RuleStatus)]
    return f"| {label} | " + " | ".join(str(number) for number in numbers) + " |"


def _legend() -> Iterator[str]:
    yield "**Mark**: *run*: seen when that release ran (what it is limited to stands behind it); *read*: read in its source;"
    yield "*derived*: concluded from the source; *thread*: told by an issue or a pull request."
    yield ""
    yield "**Source**: a file of `kubernetes/kubernetes` and, after `#`, its functions; a rule it follows from; or, as `#` and"
    yield "a number, a thread there. Shortened paths:"
    yield ""
    yield "| | |"
    yield "|---|---|"
    for short, full in PATHS.items():
        yield f"| `{short}` | `{full}` |"
    yield ""
    yield "**Where**: the modules of `kubelet_sim` and the files of `tests` that name the rule."


def _section(title: str, rules: Sequence[Rule], where: Naming) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield "| id | rule | source | mark | status | where |"
    yield "|---|---|---|---|---|---|"
    for rule in rules:
        mark = f"{rule.mark.value} ({text(rule.mark_note)})" if rule.mark_note else rule.mark.value
        cells = (
            _anchored(rule.id),
            text(rule.sentence),
            _source(rule.source),
            mark,
            _status(rule),
            _where(rule, where),
        )
        yield f"| {' | '.join(cells)} |"


def _pitfalls(title: str, rules: Sequence[Rule]) -> Iterator[str]:
    yield ""
    yield f"## {title}: pitfalls"
    yield ""
    yield "What is easily done wrong, and the rules that say how it is."
    yield ""
    yield "| id | mistake | see | status |"
    yield "|---|---|---|---|"
    for rule in rules:
        see = ", ".join(_linked(rule_id) for rule_id in rule.restates)
        yield f"| {_anchored(rule.id)} | {text(rule.sentence)} | {see} | {_status(rule)} |"


def _anchored(rule_id: str) -> str:
    return f'<a id="{rule_id.lower()}"></a>{rule_id}'


def _linked(rule_id: str) -> str:
    return f"[{rule_id}](#{rule_id.lower()})"


def _source(source: str) -> str:
    parts = source.split("; ") if source else []
    return ", ".join(_linked(part) if part in RULES else code(part) for part in parts)


def _status(rule: Rule) -> str:
    return f"{rule.status.value}: {text(rule.reason)}" if rule.reason else rule.status.value


def _where(rule: Rule, where: Naming) -> str:
    modules = [_module(path) for path in where.code.get(rule.id, ())]
    tests = [path.removeprefix("tests/") for path in where.tests.get(rule.id, ())]
    return "<br>".join(", ".join(code(name) for name in names) for names in (modules, tests) if names)


def _module(path: str) -> str:
    return path.removeprefix("kubelet_sim/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def text(value: str) -> str:
    """Prose for a table cell: code spans stay, what Markdown or HTML would take for its own is escaped."""
    spans = value.split("`")
    return "".join(code(span) if number % 2 else _escaped(span) for number, span in enumerate(spans))


def code(value: str) -> str:
    """A code span for a table cell."""
    return f"`{value}`".replace("|", r"\|")


def _escaped(value: str) -> str:
    return re.sub(r"([\\*_\[\]|])", r"\\\1", value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def report_missing(where: Naming) -> int:
    """Print what is missing; returns the exit code."""
    gaps = 0
    for label, named in (("code", where.code), ("tests", where.tests)):
        ids = unnamed(named)
        print(f"followed, but not named in {label} ({len(ids)}): {' '.join(ids)}")
        strangers = unknown(named)
        for rule_id, files in strangers.items():
            print(f"no such rule: {rule_id} in {', '.join(files)}")
        gaps += len(ids) + len(strangers)
    early = [rule.id for rule in RULES.values() if rule.status is RuleStatus.LEFT_OUT and rule.id in where.code]
    print(f"left out, but named in code: {' '.join(early) or 'none'} (no gap; is the status still right?)")
    return 1 if gaps else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/reference/rules.md.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="only say whether the page is what would be written")
    mode.add_argument("--missing", action="store_true", help="list rules that are followed but named nowhere")
    options = parser.parse_args(arguments)
    where = naming()
    if options.missing:
        return report_missing(where)
    return generated.settle("generate_rules_page.py", {PAGE: page(where)}, is_check=options.check)


if __name__ == "__main__":
    sys.exit(main())
