"""The command `explain`: what a check or a rule is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.options import debug, output_option, show_as

if TYPE_CHECKING:
    from kubelet_sim.conformance import Check
    from kubelet_sim.rules.rule import Rule


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
    from kubelet_sim.conformance.check_texts import check_text
    from kubelet_sim.conformance.reports.json import check_value
    from kubelet_sim.present.rule_text import rule_document, rule_text

    found = [_found(each) for each in ids]
    documents = [check_value(each) if isinstance(each, Check) else rule_document(each) for each in found]
    texts = (check_text(each) if isinstance(each, Check) else rule_text(each) for each in found)
    show_as(output, documents, lambda: "\n\n".join(texts))


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
