"""The command `trace`: what has happened, on a running node or in a transcript file."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.options import (
    choice_option,
    common,
    connected,
    duration_option,
    file_option,
    output_option,
)
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.present.record_lines import record_line

if TYPE_CHECKING:
    from kubelet_sim.node.recording.reader import Line
    from kubelet_sim.present.trace.criteria import Picker
    from kubelet_sim.present.trace.moves import Move

MERMAID_DRAWS = 50_000
"""Its default, which a page such as an issue on GitHub does not change."""
_KINDS = ("fact", "effect", "answer", "decision", "rpc", "fault", "node", "process", "applied", "walk", "end", "pick")
_COLOURS = {"decision": "cyan", "fact": "green", "effect": "blue", "answer": "magenta", "rpc": "blue", "fault": "red"}


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens: until the node ends, or Ctrl-C with FILE.")
@click.option(
    "--about", default="", metavar="SUBJECT", help="A resource, NAMESPACE/NAME of a pod, …: all it takes part in."
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only this kind; may be repeated.")
@click.option("--rule", default="", metavar="ID", help="Only what follows this rule of the kubelet, such as DM-90.")
@click.option("--warnings", is_flag=True, help="Only warnings.")
@duration_option("--since", text="Not before this time on the node's clock, as 10s, 5m.", metavar="TIME")
@duration_option("--until", text="Not after this time on the node's clock.", metavar="TIME")
@choice_option("--diagram", of=("mermaid", "ascii"), text="Draw a sequence diagram.")
@file_option("--html", text="Write a page for a browser: one file that needs no network.", metavar="OUT")
@output_option("table", "json")
@common
def trace(
    *,
    file: Path | None,
    follow: bool,
    diagram: str | None,
    html: Path | None,
    output: str,
    root: Path | None,
    **criteria: Any,
) -> None:
    """Show what has happened on the node, or in the transcript FILE, oldest first.

    A line has the time on the node's clock, what kind of thing it is (fact, effect, answer, decision, rpc, fault, node), what it
    is about, what happened, and the rules of the kubelet it follows. With `-o json`, every line is one JSON object.

    If nothing is shown, a line on stderr says what there is instead.

    A diagram and a page say most of a FILE, where the values behind the records are: requests and answers, and what the
    device manager's tables held before and after each record.

    \b
    Examples: kubelet-sim trace -f
              kubelet-sim trace transcript.jsonl --about default/training
              kubelet-sim trace transcript.jsonl --html transcript.html
    """  # noqa: D301
    if sum((diagram is not None, html is not None, follow)) > 1:
        raise click.UsageError("one of --follow, --diagram and --html")
    if output == "json" and (diagram or html):
        raise click.UsageError("-o json is for lines, not for --diagram or --html")
    picker = _picker(criteria, takes_all=diagram is not None or html is not None)
    if html is not None:
        _write_page(html, file, root, picker)
    else:
        _show(file, root, picker, follow=follow, diagram=diagram, output=output)
    if not picker.has_picked:
        click.echo(f"nothing to show: {escape_terminal(picker.why_none())}", err=True)


def _show(
    file: Path | None, root: Path | None, picker: Picker, *, follow: bool, diagram: str | None, output: str
) -> None:
    from kubelet_sim.cli.helpers.transcript_files import lines_of_file
    from kubelet_sim.node.recording.reader import Line

    with ExitStack() as at_the_end:
        if file is not None:
            lines = lines_of_file(file, follow=follow)
        else:
            node = at_the_end.enter_context(connected(root))
            lines = (Line(0, record) for record in node.trace(follow=follow))
        picked = _picked(lines, picker, at_once=follow)
        if diagram is not None:
            if moves := [move for _, move in picked if move is not None]:
                click.echo(drawn := _diagram(moves, diagram))
                if diagram == "mermaid" and len(drawn) > MERMAID_DRAWS:
                    click.echo(_too_long(len(drawn)), err=True)
            return
        for line, move in picked:
            click.echo(_as_json(line) if output == "json" else _as_text(line, move))


def _picker(given: dict[str, Any], *, takes_all: bool) -> Picker:
    from kubelet_sim.errors import UsageError
    from kubelet_sim.present.trace.criteria import Criteria, Picker
    from kubelet_sim.rules import RULES

    rule, since, until = given["rule"].upper(), given["since"], given["until"]
    if rule and rule not in RULES:
        raise UsageError(
            f"--rule: there is no rule {given['rule']}; those of a record stand behind it in brackets, as [DM-90]"
        )
    if since is not None and until is not None and since > until:
        raise UsageError(f"--since {since:g}s is after --until {until:g}s")
    criteria = Criteria(given["about"], frozenset(given["kinds"]), rule, given["warnings"], since, until)
    return Picker(criteria, takes_all=takes_all)


def _picked(lines: Iterable[Line], picker: Picker, *, at_once: bool) -> Iterator[tuple[Line, Move | None]]:
    """A walk is about a subject from its beginning, unless the lines are wanted as they come."""
    from kubelet_sim.present.trace.moves import Moves

    if not at_once and picker.criteria.about:
        lines = list(lines)
        for line in lines:
            picker.learn(line.record)
    made = Moves()
    moved = ((line, made.of(line)) for line in lines)
    return ((line, move) for line, move in moved if picker.takes(line.record))


def _diagram(moves: list[Move], form: str) -> str:
    from kubelet_sim.present.trace.diagram import ascii_diagram, mermaid

    return mermaid(moves) if form == "mermaid" else ascii_diagram(moves, shutil.get_terminal_size((100, 24)).columns)


def _too_long(length: int) -> str:
    return (
        f"warning: Mermaid draws {MERMAID_DRAWS} characters at most unless its maxTextSize says otherwise, and these are"
        f" {length}: show less, with --about, --kind, --rule, --since or --until"
    )


def _as_text(line: Line, move: Move | None) -> str:
    from attrs import evolve

    from kubelet_sim.transcript import RecordLevel

    record = line.record
    if not record.number:  # asked for by its kind: it has no words of its own
        record = move.record if move is not None else evolve(record, text=json.dumps(line.value))
    text = record_line(record) + (f"  ({line.took_s:g} s)" if line.took_s else "")
    if not sys.stdout.isatty():
        return text
    if record.level is RecordLevel.WARNING:
        return click.style(text, fg="yellow")
    return click.style(text[:10], dim=True) + click.style(text[10:22], fg=_COLOURS.get(record.kind)) + text[22:]


def _as_json(line: Line) -> str:
    from kubelet_sim.present.documents import json_line

    more: dict[str, Any] = {"value": line.value} if line.has_value else {}
    more |= {"took_s": line.took_s} if line.took_s is not None else {}
    more |= {"status": line.status} if line.status else {}
    return json_line(line.record, **more)


def _write_page(target: Path, file: Path | None, root: Path | None, picker: Picker) -> None:
    """A file of its own, written as a whole or not at all."""
    from kubelet_sim.cli.helpers.transcript_files import opened_transcript
    from kubelet_sim.present.trace.page import page_of_node, page_of_transcript
    from kubelet_sim.text_files import write_text

    if file is not None:
        with opened_transcript(file) as lines:
            text = page_of_transcript(file.name, lines, picker)
    else:
        with connected(root) as node:
            text = page_of_node(node.trace(follow=False), picker)
    write_text(target, text)
    click.echo(f"{escape_terminal(str(target))}: written, for a browser")
