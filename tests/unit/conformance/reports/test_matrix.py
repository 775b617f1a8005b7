from __future__ import annotations

from attrs import evolve

from kubelet_sim.conformance.reports.matrix import html, markdown, rows, terminal
from kubelet_sim.conformance.verdict import Status
from tests.unit.conformance.reports.samples import ALL, EVERYTHING, FAILED, GOOD, PASSED, WARNED, report

OLD = report(evolve(PASSED, status=Status.FAILED), WARNED, version="v1.24.17")


def test_each_check_of_any_run_has_a_row() -> None:
    """Each check of any run has one, empty where a run did not have it; rows that differ are known."""
    table = rows([EVERYTHING, OLD])
    assert [row.check.id for row in table] == [each.check.id for each in ALL]
    assert next(row.check.id for row in table if row.differs) == "reg-passes"
    assert table[1].marks[1] is None


def test_on_a_terminal_signs_stand_below_the_kubelets() -> None:
    """Signs stand below the kubelets, in columns."""
    lines = terminal([report(PASSED, WARNED), OLD]).splitlines()
    assert lines[:3] == [
        "check       1.36.2  1.24.17",
        "reg-passes    ✓        ✗",
        "law-warns     !        !",
    ]
    assert lines[-1].startswith("✓ pass")


def test_markdown_has_a_table_and_counts_failures() -> None:
    """A table, with how many failures there were."""
    assert markdown([report(PASSED, FAILED), OLD]).splitlines()[:5] == [
        "| check | 1.36.2 | 1.24.17 |",
        "|---|:-:|:-:|",
        "| `reg-passes` | ✓ | ✗ |",
        "| `reg-fails` | ✗ |   |",
        "| `law-warns` |   | ! |",
    ]


def test_html_cells_have_the_class_of_their_mark() -> None:
    """A cell of the HTML table has the class of its mark."""
    text = html([GOOD, OLD])
    assert '<tr class="differs"><th scope="row" title="reg-passes holds">reg-passes</th>' in text
    assert '<td class="fail" title="fail">✗</td>' in text


def test_no_run_makes_no_row() -> None:
    """No run makes no row."""
    assert rows([]) == ()
    assert terminal([]).startswith("check")
