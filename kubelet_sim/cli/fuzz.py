"""The command `fuzz`: look for what breaks a plugin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim import exit_codes
from kubelet_sim.cli.helpers.options import debug, to_seconds
from kubelet_sim.foreign import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubelet_sim.fuzz import FoundFailure, FuzzConfig, SearchResult


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] CMD...")
@click.option(
    "--time", "time_s", default="2m", show_default=True, callback=to_seconds, metavar="DURATION", help="For how long."
)
@click.option(
    "--shrink-time",
    default="2m",
    show_default=True,
    callback=to_seconds,
    metavar="DURATION",
    help="For how long what was found is made short after that, at most; 0: not at all.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--steps",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    help="How many things happen in one run, at most.",
)
@click.option(
    "--patience",
    default="20s",
    show_default=True,
    callback=to_seconds,
    metavar="DURATION",
    help="How long the plugin may take to be back after anything, and a pod to run, in real time.",
)
@click.option(
    "--resource", "resources", multiple=True, metavar="NAME", help="A resource that it registers; may be repeated."
)
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for the plugin.")
@click.option(
    "--isolate",
    type=click.Choice(["auto", "namespace", "none"]),
    default="auto",
    show_default=True,
    help="Whether it finds the node at /var/lib/kubelet, in a mount namespace of its own.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the story goes that reproduces what was found.  [default: fuzz-SEED.yaml]",
)
@click.option("-v", "--verbose", is_flag=True, help="A line for each run.")
@debug
@click.pass_context
def fuzz(  # noqa: PLR0913, PLR0917 - one for each option
    ctx: click.Context,
    command: tuple[str, ...],
    time_s: float,
    shrink_time: float,
    seed: int,
    steps: int,
    patience: float,
    resources: tuple[str, ...],
    env: tuple[str, ...],
    isolate: str,
    output: Path | None,
    *,
    verbose: bool,
) -> None:
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
    config, search = _prepared(command, time_s, shrink_time, seed, steps, patience, resources, env, isolate)
    path = output or Path(f"fuzz-{seed}.yaml")
    _check(path, time_s)
    click.echo(f"seed {seed}; looking for {time_s:g} s", err=True)
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


def _prepared(  # noqa: PLR0913, PLR0917 - the options
    command: tuple[str, ...],
    time_s: float,
    shrink_s: float,
    seed: int,
    steps: int,
    patience_s: float,
    resources: tuple[str, ...],
    env: tuple[str, ...],
    isolate: str,
) -> tuple[FuzzConfig, Callable[..., SearchResult]]:
    """The configuration, and what searches. Raises `UsageError` without Hypothesis."""
    from kubelet_sim.errors import UsageError

    try:
        from kubelet_sim.fuzz import FuzzConfig, search
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UsageError("fuzzing needs Hypothesis: pip install 'kubelet-sim[fuzz]'") from error
    variables = {}
    for pair in env:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"--env: expected NAME=VALUE, not {pair!r}")
        variables[name] = value
    config = FuzzConfig(
        command=command,
        env=variables,
        isolate=isolate,
        resources=resources,
        time_s=time_s,
        shrink_s=shrink_s,
        seed=seed,
        longest_plan=steps,
        patience_s=patience_s,
    )
    return config, search


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
