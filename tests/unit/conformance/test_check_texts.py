from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from kubelet_sim.conformance import CHECKS
from kubelet_sim.conformance.check import Need
from kubelet_sim.conformance.check_texts import facts, kubelets, needs, sections
from plugins_examples.faulty.faults import FAULTS
from tests.unit.conformance.reports.samples import check
from tools.check_excerpts import stable

ROOT = Path(__file__).parents[3]


def test_needs_are_said_in_words_and_hooks_as_options() -> None:
    """The sockets go without saying where anything else is needed; hooks are options."""
    assert needs(check("a")) == "nothing but the plugin's sockets"
    hooked = check("a", needs=frozenset({Need.BLACK_BOX, Need.HOOK, Need.PROCESS}), hooks=("break", "mend"))
    assert needs(hooked) == "the plugin's process, --break CMD, --mend CMD"


def test_releases_that_follow_one_another_are_one_run() -> None:
    """Releases that follow one another are a run."""
    assert kubelets(check("a")) == "all"
    assert kubelets(check("a", applies=lambda _: False)) == "none"
    assert (
        kubelets(check("a", applies=lambda profile: profile.version in ("1.20", "1.21", "1.36")))
        == "1.20 to 1.21, 1.36"
    )


def test_explain_says_all_of_it() -> None:
    """The command shows every fact and every section of every check."""
    for each in CHECKS.values():
        text = " ".join(CliRunner().invoke(cli, ["explain", each.id]).output.split())
        for part in (each.title, *(text for _, text in facts(each)), *(text for _, text in sections(each))):
            assert " ".join(part.split()) in text


def test_every_check_with_a_fault_is_seen_to_fail_on_its_page() -> None:
    """What was recorded is of the fault that the page names, and holds nothing that the next recording would change."""
    recorded = json.loads((ROOT / "docs" / "reference" / "checks" / "recorded.json").read_text(encoding="utf-8"))
    made_for: dict[str, str] = {}
    for fault in FAULTS.values():
        for id_ in fault.checks[:1]:
            made_for.setdefault(id_, fault.name)
    assert {id_: seen["fault"] for id_, seen in recorded.items()} == made_for
    volatile = re.compile(r"/tmp/|/proc/\d|\bpid \d|-[0-9a-f]{8}\.sock|\d\.\d+ s\b")
    for id_, seen in recorded.items():
        assert seen["failing"][0].split(" ")[1] == f"{id_}:"
        assert any(line.startswith(("  error: ", "  warning: ", "  info: ")) for line in seen["failing"]), id_
        assert [line for line in seen["failing"] + seen["passing"] if volatile.search(line)] == []
    without = {id_ for id_, seen in recorded.items() if not seen["passing"]}
    assert without <= {"cdi-annotation-key-unique", "sock-stale-file-replaced"}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("the plugin took 12.3 s to end", "the plugin took about 12 s to end"),
        ("ended after 0.4 s, with OK", "ended after less than 1 s, with OK"),
        ("within 30 s of its start", "within 30 s of its start"),
        ("'/tmp/k9ors5qk_/n/device-plugins/faulty-x-0123abcd.sock' is gone", "'DIR/faulty-x-….sock' is gone"),
        ("    refusals=57, output=''", "    refusals=N, output=''"),
        ("'/proc/mounts' is a link to '/proc/31951/mounts'", "'/proc/mounts' is a link to '/proc/PID/mounts'"),
    ],
)
def test_a_recorded_line_keeps_nothing_of_its_run(text: str, expected: str) -> None:
    """Times to the second, no temporary names, no numbers of processes."""
    assert stable(text) == expected
