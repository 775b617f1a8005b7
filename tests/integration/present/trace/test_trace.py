"""The command `trace` on transcript files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from tests.integration.present.trace.transcripts import DEVICE, EVIL, many, recorded_story
from tests.patience import PATIENCE_S

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
WHY_NO_BROWSER = "no chromium or chrome is found: apt-get install chromium"


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


def test_a_file_is_shown_as_a_node_is(story: Path) -> None:
    """Records that have words, one a line, in order, without colours where there is no terminal, foreign text escaped."""
    lines = trace(story).splitlines()
    assert "Register: version v1beta1, socket p.sock  [DM-21]" in "\n".join(lines)
    assert [record["number"] for record in records(story)] == list(range(1, len(lines) + 1))
    assert not any("\x1b" in line or "\u202e" in line for line in lines)


def test_an_empty_transcript(story: Path, tmp_path: Path) -> None:
    """It says that it is; and that there is no warning where there is none."""
    header, *rest = story.read_text("utf-8").splitlines(keepends=True)
    (empty := tmp_path / "empty.jsonl").write_text(header, "utf-8")
    assert nothing(empty) == "nothing to show: there are no records\n"
    (calm := tmp_path / "calm.jsonl").write_text("".join([header, *(e for e in rest if '"warning"' not in e)]), "utf-8")
    assert nothing(calm, "--warnings").startswith("nothing to show: there is no warning among ")


def test_a_diagram_that_mermaid_would_not_draw_is_told(story: Path, tmp_path: Path) -> None:
    """It shows an error instead of a long diagram, wherever its limit cannot be raised; one that fits says nothing."""
    for count, has_warning in ((10, False), (3000, True)):
        done = CliRunner().invoke(
            cli, ["trace", str(many(tmp_path / "many.jsonl", story, count)), "--diagram", "mermaid"]
        )
        assert done.exit_code == 0
        assert ("50000 characters at most" in done.stderr) is has_warning
        assert (len(done.stdout) > 50_000) is has_warning


def test_the_page_needs_nothing_and_nothing_gets_out_of_its_data(page: Path) -> None:
    """No address in it, and no tag that came from outside: one block of data, one of script."""
    text = page.read_text("utf-8")
    assert not re.search(r"(src|href|url\()\s*=?\s*[\"'(]?\s*https?:", text)
    assert text.count("</script>") == 2
    assert "alert(1)</" not in text
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert [EVIL] in [value for row in data["rows"] for _, value in row.get("d", [])]
    assert [lane["label"] for lane in data["lanes"]] == ["pods, API server", "runtime", "kubelet", DEVICE]
    assert data["rules"]["DM-98"][0]


def browser(page: Path, fragment: str, *options: str) -> str:
    """What the page has become in a browser, as HTML."""
    assert BROWSER is not None
    with_profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", with_profile, *options, f"file://{page}{fragment}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return done.stdout


@pytest.mark.skipif(BROWSER is None, reason=WHY_NO_BROWSER)
def test_the_page_in_a_browser(page: Path) -> None:
    """From a file, it shows rows, rules and tables; foreign text is text."""
    dom = browser(page, f"#text=Allocate&subject={DEVICE}&kind=answer", "--dump-dom", "--window-size=1400,900")
    body = dom.partition("<main>")[2].partition("<script")[0]
    assert 'class="row' in body
    assert "allocated: 1 env" in body or "Allocate" in body
    assert "<b>&amp;amp;</b>" not in body
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in body
    assert "Before</th><th>After" in re.sub(r' class="[^"]*"', "", body)


@pytest.mark.skipif(BROWSER is None, reason=WHY_NO_BROWSER)
def test_ten_thousand_records_in_a_browser(story: Path, tmp_path: Path) -> None:
    """Only the rows in sight are elements of the page; one far down can be gone to."""
    target = tmp_path / "many.html"
    trace(many(tmp_path / "many.jsonl", story, 10_000), "--html", target)
    dom = browser(target, "#text=note+9999", "--dump-dom", "--window-size=1400,900")
    assert "1 of 100" in dom.partition("</header>")[0]
    dom = browser(target, "", "--dump-dom", "--window-size=1400,900").partition("<script")[0]
    assert 10 < dom.count('role="option"') < 100


def test_a_file_that_grows_is_followed(story: Path, tmp_path: Path) -> None:
    """A line is shown when it is whole, not when the next one comes."""
    path, lines = tmp_path / "growing.jsonl", story.read_text("ascii").splitlines(keepends=True)
    told = [number for number, line in enumerate(lines) if '"n":' in line]
    path.write_text("".join(lines[: told[1]]) + lines[told[1]][:20], "ascii")
    command = [sys.executable, "-m", "kubelet_sim", "trace", "-f", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "runtime reports" in process.stdout.readline()
            with path.open("a", encoding="ascii") as file:
                file.write(lines[told[1]][20:])
            assert process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file that is none."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"transcript":99}\n')
    return path


def test_what_is_no_transcript_is_said(broken: Path) -> None:
    """One line with the file's name."""
    done = CliRunner().invoke(cli, ["trace", str(broken)])
    assert (done.exit_code, str(broken) in done.output) == (2, True)
