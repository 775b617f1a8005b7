"""The list of rules is complete, and every rule that is followed is named where it is followed and where it is shown."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kubelet_sim.rules import PATHS, RULES, Mark, RuleStatus, collected, rule
from kubelet_sim.rules.coverage import statuses
from kubelet_sim.rules.rule import pitfall, read, run

ROOT = Path(__file__).resolve().parents[2]
COUNTS = {"DM": 221, "CP": 19, "TM": 68, "PR": 32}
"""How many rules each file of the specification has."""
FIRST_PITFALL, LAST_PITFALL = 182, 221


def load_tool() -> ModuleType:
    """The page's generator, which is a script and no module of a package."""
    spec = importlib.util.spec_from_file_location("generate_rules_page", ROOT / "tools" / "generate_rules_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = load_tool()


def test_ids_are_complete() -> None:
    """Each file of the specification is there from its first rule to its last, in order and without a gap."""
    expected = [f"{family}-{number}" for family, count in COUNTS.items() for number in range(1, count + 1)]
    assert list(RULES) == expected


def test_a_rule_is_one_plain_sentence_with_a_source() -> None:
    """A rule says something in one line that fits a table cell, and names where it comes from."""
    for each in RULES.values():
        assert re.fullmatch(r"\S.*[^.]\.", each.sentence), each.id
        assert len(each.sentence) <= 200, each.id
        assert each.sentence.count("`") % 2 == 0, each.id
        assert each.source, each.id


def test_sources_are_files_rules_or_threads() -> None:
    """Each part of a source is a path, perhaps shortened, with functions; a rule that exists; or a thread's number."""
    path = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._*-]+)*/?(#[A-Za-z0-9]+(,[A-Za-z0-9]+)*)?")
    for each in RULES.values():
        for part in each.source.split("; "):
            known = part in RULES or re.fullmatch(r"#\d+", part)
            assert known or path.fullmatch(part), (each.id, part)
            if not known and re.match(r"[A-Z0-9]+/", part):
                assert part.startswith((*PATHS, "CHANGELOG/")), (each.id, part)


def test_what_is_not_done_has_a_reason() -> None:
    """A reason is there exactly when a rule is not done, and it does not send the reader to an issue."""
    for each in RULES.values():
        assert bool(each.reason) == (each.status is not RuleStatus.DONE), each.id
        assert not re.search(r"\bissue\b", each.reason), each.id


def test_pitfalls_follow_the_rules_they_restate() -> None:
    """A pitfall points at rules that stand for themselves, and is avoided as far as all of them are followed."""
    pitfalls = [each for each in RULES.values() if each.restates]
    assert [each.id for each in pitfalls] == [f"DM-{number}" for number in range(FIRST_PITFALL, LAST_PITFALL + 1)]
    for each in pitfalls:
        restated = [rule(rule_id) for rule_id in each.restates]
        assert not any(other.restates for other in restated)
        assert (each.status is RuleStatus.DONE) == all(other.status is RuleStatus.DONE for other in restated)
        assert (each.status is RuleStatus.LEFT_OUT) == all(other.status is RuleStatus.LEFT_OUT for other in restated)


def test_a_rule_is_found_by_its_id() -> None:
    """A known id gives its rule; an unknown one is an error that quotes it."""
    assert rule("DM-90").mark is Mark.RUN
    with pytest.raises(KeyError, match="DM-999"):
        rule("DM-999")


def test_an_id_listed_twice_is_refused() -> None:
    """Two entries of one id end the import."""
    entry = read("DM-1", "One.", "DM/manager.go")
    with pytest.raises(ValueError, match="DM-1 is listed twice"):
        collected([entry, entry], {"DM-1": (RuleStatus.DONE, "")})


def test_a_rule_needs_a_status() -> None:
    """A rule in no row of the coverage table ends the import, and so does a row without its rule."""
    entry = run("DM-1", "One.", "DM/manager.go")
    with pytest.raises(ValueError, match="DM-1 has no status"):
        collected([entry], {})
    with pytest.raises(ValueError, match="DM-2"):
        collected([entry], {"DM-1": (RuleStatus.DONE, ""), "DM-2": (RuleStatus.DONE, "")})


def test_a_pitfall_needs_its_rules() -> None:
    """A pitfall that restates an unknown rule ends the import."""
    with pytest.raises(ValueError, match=r"DM-2 restates .* DM-1"):
        collected([pitfall("DM-2", "Two.", "DM-1")], {})


@pytest.mark.parametrize(
    "ids,status,reason",
    [
        ("DM-1 DM-1", RuleStatus.DONE, ""),
        ("DM-3…DM-1", RuleStatus.DONE, ""),
        ("DM-1…CP-3", RuleStatus.DONE, ""),
        ("DM-1", RuleStatus.DONE, "a reason too much"),
        ("DM-1", RuleStatus.LEFT_OUT, ""),
    ],
)
def test_a_bad_row_of_the_coverage_table_is_refused(ids: str, status: RuleStatus, reason: str) -> None:
    """An id in two rows, a run that is none, and a reason that is missing or too much end the import."""
    with pytest.raises(ValueError, match="DM-1"):
        statuses([(ids, status, reason)])


def test_rules_import_nothing_of_ours() -> None:
    """The list is the lowest layer: it knows only itself."""
    for path in sorted((ROOT / "kubelet_sim" / "rules").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kubelet_sim"):
                assert (node.module or "").startswith("kubelet_sim.rules"), path.name


@pytest.mark.parametrize(
    "text,named",
    [
        ("Returns it.\n\n    Rules: DM-12, DM-14\n    ", {"DM-12", "DM-14"}),
        ("Rules: DM-1,\n    DM-2", {"DM-1", "DM-2"}),
        ("# Rules: DM-1,\n# DM-2", {"DM-1", "DM-2"}),
        ("Rules: CP-1…CP-3 and DM-5", {"CP-1", "CP-2", "CP-3"}),
        ("Rules: DM-90(4), TM-61", {"DM-90", "TM-61"}),
        ('fail(rule="DM-90")', {"DM-90"}),
        ('note("text", rules=("DM-90", "PR-2"))', {"DM-90", "PR-2"}),
        ('"rules": ["DM-22", "DM-24"]', {"DM-22", "DM-24"}),
        ("rules: [DM-22, DM-24]", {"DM-22", "DM-24"}),
        ("rules:\n  - DM-22\n  - DM-24\nsteps:\n", {"DM-22", "DM-24"}),
        ("as DM-22 has it, and [DM-24]", set()),
    ],
)
def test_how_a_file_names_rules(text: str, named: set[str]) -> None:
    """`Rules:` lines, quoted ids and the `rules` of a story name rules; prose does not."""
    assert tool.ids_named(text) == named


def test_only_rules_that_exist_are_named() -> None:
    """No module and no test names a rule that is not in the list."""
    where = tool.naming()
    assert tool.unknown(where.code) == {}
    assert tool.unknown(where.tests) == {}


def test_followed_rules_are_named_in_code() -> None:
    """Each rule that is done, wholly or in part, is named by a module that does it."""
    assert tool.unnamed(tool.naming().code) == []


def test_followed_rules_are_named_in_tests() -> None:
    """Each rule that is done, wholly or in part, is named by a test that shows it."""
    assert tool.unnamed(tool.naming().tests) == []


def test_the_page_has_a_sound_table() -> None:
    """Every row of the page has as many cells as its head, whatever the texts contain, and every rule has a row."""
    cells = 0
    rows = 0
    for line in tool.page(tool.naming()).splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        found = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or found
        assert found == cells, line
        rows += '<a id="' in line
    assert rows == len(RULES)


def test_prose_is_escaped_for_a_table_cell() -> None:
    """Bars, tags and emphasis are taken for text, also a bar in a code span."""
    assert tool.text("a|b <i> *c* _d_ `e|f*`") == r"a\|b &lt;i&gt; \*c\* \_d\_ `e\|f*`"
