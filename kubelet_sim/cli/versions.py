"""The command `versions`: which kubelet releases there are, and how two of them differ."""

from __future__ import annotations

import click

from kubelet_sim.cli.helpers.options import debug, output_option, show_as


@click.group(invoke_without_command=True)
@output_option("table", "json", "yaml")
@debug
@click.pass_context
def versions(ctx: click.Context, output: str) -> None:
    """Show the kubelet releases that `run --kubelet-version` takes.

    Each stands for one patch release, x where nobody wrote down which; feature gates are at their defaults. The last column
    has the switches that differ from the release before: `versions diff` says what they mean.

    \b
    Example: kubelet-sim versions -o yaml
    """  # noqa: D301
    if ctx.invoked_subcommand is not None:
        return
    from kubelet_sim.present.release_tables import release_document, releases_table
    from kubelet_sim.profiles import RELEASES

    releases = list(RELEASES.values())
    show_as(output, list(map(release_document, releases)), lambda: releases_table(releases))


@versions.command()
@click.argument("before")
@click.argument("after")
@output_option("text", "json", "yaml")
@debug
def diff(before: str, after: str, output: str) -> None:
    """Say what somebody notices who goes from the kubelet BEFORE to the kubelet AFTER.

    One line for each switch that moves, with the rules that it is about, then one for each feature gate in another stage.

    \b
    Example: kubelet-sim versions diff 1.24 1.25
    """  # noqa: D301
    from kubelet_sim.present.release_tables import difference_documents, difference_text
    from kubelet_sim.profiles import profile_of

    older, newer = profile_of(before), profile_of(after)
    show_as(output, difference_documents(older, newer), lambda: difference_text(older, newer))
