"""The command `explain`: what a check or a rule is about."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.options import debug, output_option

if TYPE_CHECKING:
    from kubelet_sim.conformance import Check
    from kubelet_sim.rules.rule import Rule

_WIDTH = 100


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@output_option("text", "json")
@debug
def explain(ids: tuple[str, ...], output: str) -> None:
    """Tell what a conformance check or a rule of the kubelet is about.

    ID is that of a check, such as law-unique-ids, or of a rule, such as DM-90.

    \b
    Example: kubelet-sim explain law-unique-ids DM-53
    """  # noqa: D301
    from kubelet_sim.conformance.check import Check
    from kubelet_sim.conformance.reports.json import check_value

    found = [_found(each) for each in ids]
    if output == "json":
        click.echo(json.dumps([check_value(e) if isinstance(e, Check) else _rule_object(e) for e in found], indent=2))
        return
    for number, each in enumerate(found):
        if number:
            click.echo()
        for line in _check_lines(each) if isinstance(each, Check) else _rule_lines(each):
            click.echo(line)


def _found(id_: str) -> Check | Rule:
    """Raises `UsageError` for an id that there is not."""
    from difflib import get_close_matches

    import kubelet_sim.conformance  # noqa: F401 - brings the checks
    from kubelet_sim.conformance.check import CHECKS
    from kubelet_sim.errors import UsageError
    from kubelet_sim.rules import RULES

    found = CHECKS.get(id_.lower()) or RULES.get(id_.upper())
    if found is None:
        near = get_close_matches(id_, [*CHECKS, *RULES], n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; kubelet-sim conform --list shows all checks"
        raise UsageError(f"there is no check and no rule {id_!r}{hint}")
    return found


def _check_lines(check: Check) -> Iterator[str]:
    from kubelet_sim.conformance.check_texts import facts, sections
    from kubelet_sim.rules import RULES

    yield f"{check.id}: {check.title}"
    for name, text in facts(check):
        yield from _paragraph(name, text)
    for head, text in sections(check):
        yield from ("", head)
        yield from textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    if check.rules:
        yield from ("", "Rules of the kubelet")
    for rule in check.rules:
        yield from _paragraph(rule, RULES[rule].sentence)


def _rule_lines(rule: Rule) -> Iterator[str]:
    yield rule.id
    yield from _paragraph("rule", rule.sentence)
    yield from _paragraph("source", rule.source)
    yield from _paragraph("seen", f"{rule.mark.value}{f' ({rule.mark_note})' if rule.mark_note else ''}")
    yield from _paragraph("here", f"{rule.status.value}{f': {rule.reason}' if rule.reason else ''}")


def _paragraph(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"  {name + ':':9} ", subsequent_indent=" " * 12)


def _rule_object(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "sentence": rule.sentence,
        "source": rule.source,
        "mark": rule.mark.value,
        "status": rule.status.value,
        "reason": rule.reason,
        "restates": list(rule.restates),
    }
