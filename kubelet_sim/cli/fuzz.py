"""The command `fuzz`: look for what breaks a plugin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim import exit_codes
from kubelet_sim.cli.helpers.options import choice_option, debug, duration_option, env_option, file_option
from kubelet_sim.foreign import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubelet_sim.fuzz import FoundFailure, SearchResult


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] CMD...")
@duration_option("--time", "time_s", text="For how long.", default="2m")
@duration_option(
    "--shrink-time",
    "shrink_s",
    text="For how long what was found is made short after that, at most; 0: not at all.",
    default="2m",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--steps",
    "longest_plan",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    help="How many things happen in one run, at most.",
)
@duration_option(
    "--patience",
    "patience_s",
    text="How long the plugin may take to be back after anything, and a pod to run, in real time.",
    default="20s",
)
@click.option(
    "--resource", "resources", multiple=True, metavar="NAME", help="A resource that it registers; may be repeated."
)
@env_option(text="A variable for the plugin.")
@choice_option(
    "--isolate",
    of=("auto", "namespace", "none"),
    default="auto",
    text="Whether it finds the node at /var/lib/kubelet, in a mount namespace of its own.",
)
@file_option(
    "-o",
    "--output",
    text="Where the story goes that reproduces what was found.  [default: fuzz-SEED.yaml]",
)
@click.option("-v", "--verbose", is_flag=True, help="A line for each run.")
@debug
@click.pass_context
def fuzz(ctx: click.Context, /, *, output: Path | None, verbose: bool, **choices: Any) -> None:
    """Look for what breaks a device plugin.

    Pods come and go, the kubelet restarts, connections are cut, the plugin is killed, time passes: first each thing alone,
    then what Hypothesis draws. After each the plugin has to be back with all of its devices, pods for which there are
    devices have to get them, and nothing may have come from the plugin that comes from no good one. What goes wrong is made
    as short as possible, and written as a story that `kubelet-sim scenario check` plays.

    `{dir}` in CMD is the device-plugin directory and `{socket}` the kubelet's socket; a plugin that has /var/lib/kubelet
    compiled in needs neither.

    Ctrl-C or SIGTERM ends it with what was found so far, as short as it is by then.

    Exit codes: 0 nothing was found, 1 something was, 2 misuse, 3 the plugin does not register at all, 130 it was interrupted
    before anything was found.

    \b
    Example: kubelet-sim fuzz --time 5m -- ./my-plugin --socket-dir {dir}
    """  # noqa: D301
    try:
        from kubelet_sim.fuzz import FuzzConfig, search
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        from kubelet_sim.errors import UsageError

        raise UsageError("fuzzing needs Hypothesis: pip install 'kubelet-sim[fuzz]'") from error
    config = FuzzConfig(**choices)
    path = output or Path(f"fuzz-{config.seed}.yaml")
    _check(path, config.time_s)
    click.echo(f"seed {config.seed}; looking for {config.time_s:g} s", err=True)
    searched = search(config, _say if verbose else _say_nothing, _say)
    _tell(searched)
    if searched.found is None:
        if searched.was_interrupted:
            ctx.exit(exit_codes.INTERRUPTED)
        return
    from kubelet_sim.fuzz.story_file import story_text
    from kubelet_sim.text_files import write_text

    write_text(path, story_text(searched))
    click.echo(
        escape_terminal(
            f"{path}: the story, {len(searched.found.steps)} steps; play it: kubelet-sim scenario check {path}"
        )
    )
    ctx.exit(exit_codes.FINDINGS)


def _check(path: Path, time_s: float) -> None:
    """Raises `UsageError` for what would make the search worth nothing."""
    from kubelet_sim.errors import UsageError
    from kubelet_sim.text_files import check_writable

    if not time_s:
        raise UsageError("--time: expected more than 0: nothing would be looked at")
    check_writable(path)


def _say(text: str) -> None:
    for line in text.splitlines():
        click.echo(escape_terminal(line), err=True)


def _say_nothing(_: str) -> None:
    return


def _tell(searched: SearchResult) -> None:
    runs = f"{searched.runs} run{'' if searched.runs == 1 else 's'}"
    done = f"{runs}, {searched.actions} things that happened, {searched.seconds:.0f} s"
    for failure in searched.fleeting:
        click.echo(escape_terminal(f"went wrong once, and not again: {failure.do}: {failure.problem}"))
    if searched.found is None:
        click.echo(f"{'interrupted, ' if searched.was_interrupted else ''}nothing found: {done}")
        for line in _doubts(searched):
            click.echo(line)
        return
    found = searched.found
    click.echo(escape_terminal(f"FOUND  {found.failure.do}: {found.failure.problem}"))
    for step in found.steps:
        keys = ", ".join(f"{key}: {step[key]}" for key in step if key not in {"do", "expect"})
        click.echo(escape_terminal(f"  {step['do']}{f' ({keys})' if keys else ''}"[:200]))
    for line in found.failure.output[-10:]:
        click.echo(f"  | {escape_terminal(line)}")
    click.echo(f"found after {found.found_after_s:.0f} s, {_shrunk(searched, found)}: {done}")


def _doubts(searched: SearchResult) -> Iterator[str]:
    """Why that nothing was found says little."""
    from kubelet_sim.fuzz.search import SIMPLE_RUNS

    if searched.was_cut:
        yield "The time was over during one more run, which was ended and is not counted."
    if searched.is_hardly_begun and not searched.was_interrupted:
        yield (
            f"That says little: {SIMPLE_RUNS} runs try each thing alone before anything is drawn. Give it more --time; a lower "
            f"--patience ({searched.config.patience_s:g} s now) makes a run shorter in which something does not come back."
        )


def _shrunk(searched: SearchResult, found: FoundFailure) -> str:
    if not found.is_certain:
        return "interrupted before it was played again"
    if found.is_shortest:
        return f"made short in {found.shrunk_in_s:.0f} s"
    if not searched.config.shrink_s:
        return "not made short"
    return f"{'interrupted' if searched.was_interrupted else 'out of time'} while it was made short"
