"""The command `trace` on transcript files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from kubelet_sim.present.trace.diagram import escape_mermaid
from kubelet_sim.present.trace.moves import PLUGIN, Lane
from tests.unit.present.trace.transcripts import DEVICE, EVIL, recorded_story


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transcript with a device whose name is up to no good."""
    return recorded_story(tmp_path_factory.mktemp("trace") / "story.jsonl", device=EVIL)


@pytest.fixture(scope="module")
def page(story: Path) -> Path:
    """Its page."""
    target = story.with_suffix(".html")
    trace(story, "--html", target)
    return target


def trace(*arguments: object) -> str:
    """The command's output; it has to work."""
    done = CliRunner(env={"COLUMNS": "120"}).invoke(cli, ["trace", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def records(*arguments: object) -> list[dict[str, Any]]:
    """The output of `-o json`."""
    return [json.loads(line) for line in trace(*arguments, "-o", "json").splitlines()]


def test_filters_pick_records(story: Path) -> None:
    """By subject with all of its walks, kind, rule, level and time; together they all have to hold."""
    about = records(story, "--about", "default/one")
    assert {record["subject"] for record in about} == {"default/one", DEVICE, "node"}
    assert {record["kind"] for record in records(story, "--kind", "fact", "--kind", "answer")} == {"fact", "answer"}
    assert all("DM-98" in record["rules"] for record in records(story, "--rule", "DM-98"))
    assert {record["level"] for record in records(story, "--warnings")} == {"warning"}
    times = [record["at_s"] for record in records(story)]
    middle = sorted(times)[len(times) // 2]
    assert records(story, "--since", str(middle)) == [r for r in records(story) if r["at_s"] >= middle]
    assert records(story, "--until", "0") == [record for record in records(story) if record["at_s"] == 0]
    assert nothing(story, "--about", "default/one", "--kind", "effect", "--rule", "dm-65") == (
        "nothing to show: none of 42 records fits all that is asked for\n"
    )


def nothing(*arguments: object) -> str:
    """What is said where nothing is shown, and that is no error."""
    done = CliRunner().invoke(cli, ["trace", *map(str, arguments)])
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    return done.stderr


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("--about", "one"), "no record is about one; did you mean default/one?"),
        (("--about", "nobody"), "no record is about nobody; there are: "),
        (("--kind", "fault"), "no record is of kind fault; there are: answer, "),
        (("--rule", f"DM-{148}"), f"no record follows DM-{148}; there are: "),
        (("--since", "1h"), "the records are from 0.000 s to "),
        (("--diagram", "ascii", "--about", "nobody"), "no record is about nobody; "),
    ],
)
def test_why_nothing_is_shown(story: Path, arguments: tuple[str, ...], text: str) -> None:
    """One line on stderr says what there is instead; foreign text in it is escaped."""
    said = nothing(story, *arguments)
    assert said.startswith(f"nothing to show: {text}")
    assert (said.count("\n"), "\u202e" in said) == (1, False)


def test_records_that_only_a_replay_needs_are_shown_when_asked_for(story: Path) -> None:
    """The verdict on a pod and the answer to Register are ends of walks."""
    ends = trace(story, "--kind", "end")
    assert "default/one: admitted" in ends
    assert "default/two: rejected: UnexpectedAdmissionError" in ends
    assert all("took_s" in record for record in records(story, "--kind", "end"))


def test_a_diagram_in_characters(story: Path) -> None:
    """Lanes are named on top; calls are arrows with their answers, decisions are notes with rule ids."""
    drawn = trace(story, "--diagram", "ascii")
    assert re.search(r"pods, API server +runtime +kubelet +example.com/dev", drawn.splitlines()[0])
    assert "Register, socket p.sock" in drawn
    assert re.search(r"\|-+>\|", drawn)
    assert re.search(r"\|<[ -]+\|", drawn)
    assert re.search(r"\* default/one: admitted \[DM-72\]", drawn)
    assert not set("\x1b\u202e") & set(drawn)


def test_a_diagram_for_mermaid(story: Path) -> None:
    """Every line is one statement of the few kinds there are; whatever a plugin said, it cannot end one or begin another."""
    first, *lines = trace(story, "--diagram", "mermaid").splitlines()
    assert first == "sequenceDiagram"
    text = r"(?:[A-Za-z0-9 _.,/()=*'\\-]|#\d+;)+"
    statement = re.compile(rf"    (?:participant L\d as {text}|Note over L\d: {text}|L\d(?:--?>>|--?x)L\d: {text})")
    assert [line for line in lines if not statement.fullmatch(line)] == []
    assert any("-->>" in line for line in lines)
    assert any("-x" in line for line in lines)


def test_a_plugin_that_gave_no_name_has_a_lane_with_one() -> None:
    """Register without a resource is refused, and drawn."""
    assert Lane(PLUGIN).label == "a plugin without a name"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a;b#1", "a#59;b#35;1"),
        ("<b>", "#60;b#62;"),
        ('say "hi"\n%%x', "say #34;hi#34;#92;n#37;#37;x"),
        ("the end", "the #101;nd"),
        ("", "#32;"),
        ("ä: b", "#228;#58; b"),
    ],
)
def test_what_mermaid_takes_for_its_own_is_a_number(text: str, shown: str) -> None:
    """The escapes are those of its manual, by decimal code."""
    assert escape_mermaid(text) == shown


def test_the_page_has_the_tables_at_each_record(page: Path) -> None:
    """Who holds what, and what is healthy, comes with the record that changed it."""
    data = json.loads(page.read_text("utf-8").partition('id="data">')[2].partition("</script>")[0])
    changes = [(row["k"], tuple(key), value) for row in data["rows"] for key, value in row.get("d", [])]
    assert ("answer", ("allocation", "default/one", "main", DEVICE), [EVIL]) in changes
    assert ("fact", ("resource", DEVICE, "healthy"), [EVIL]) in changes
    assert any(key == ("resource", DEVICE, "endpoint") and value == "stopped, client 1" for _, key, value in changes)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-f", "--diagram", "ascii"),
        ("--html", "x", "--diagram", "ascii"),
        ("--html", "x", "-o", "json"),
        ("--since", "soon"),
        ("--since", "2m", "--until", "1m"),
        ("--rule", f"DM-{9999}"),
        ("--kind", "facts"),
    ],
)
def test_what_does_not_go_together_is_a_misuse(story: Path, arguments: tuple[str, ...]) -> None:
    """Exit code 2, and nothing is written."""
    assert CliRunner().invoke(cli, ["trace", str(story), *arguments]).exit_code == 2
