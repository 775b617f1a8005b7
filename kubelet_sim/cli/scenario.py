"""The commands `scenario check`, `scenario show`, `scenario record`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.options import debug
from kubelet_sim.cli.text import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubelet_sim.scenario.checking import Outcome
    from kubelet_sim.scenario.model import Story

_jobs = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="How many stories are played at once.",
)
_files = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())


@click.group()
def scenario() -> None:
    """Check, show or record stories: plugins, pods, and what a kubelet answers.

    A story is a YAML or JSON file: a node, plugins with a script, steps, and what is expected of each. A file may hold one
    story or a list of them. Every story is played on a fresh node of its own, over real sockets, in virtual time.

    \b
    Example: kubelet-sim scenario check stories/*.yaml
    """  # noqa: D301


@scenario.command()
@_files
@_jobs
@click.option("-q", "--quiet", is_flag=True, help="Only what is wrong, and the last line.")
@click.option("--skip-unplayable", is_flag=True, help="Do not count stories that need what is not built yet.")
@debug
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[str, ...],
    jobs: int,
    *,
    quiet: bool,
    skip_unplayable: bool,
) -> None:
    """Play stories and say whether a node does what they expect.

    A wrong step shows its file and number, what was expected, what came, and what happened on the node since the step
    before. The last line is `N passed, N failed`; the exit code is 1 if any failed.

    \b
    Example: kubelet-sim scenario check stories.yaml -j 4
    """  # noqa: D301
    from kubelet_sim.cli.group import EXIT_FINDINGS
    from kubelet_sim.cli.interruptible import run_interruptible
    from kubelet_sim.scenario.checking import check as play_all

    stories = _stories(files)
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    async def play() -> None:
        async for outcome in play_all(stories, at_once=jobs):
            word = _word(outcome, skip_unplayable=skip_unplayable)
            counts[word] += 1
            _tell(outcome, word, quiet=quiet)

    run_interruptible(play())
    if counts["skipped"]:
        click.echo(f"{counts['skipped']} skipped: not playable")
    click.echo(f"{counts['passed']} passed, {counts['failed']} failed")
    if counts["failed"]:
        ctx.exit(EXIT_FINDINGS)


def _word(outcome: Outcome, *, skip_unplayable: bool) -> str:
    if outcome.is_passed:
        return "passed"
    return "skipped" if skip_unplayable and not outcome.is_playable else "failed"


def _tell(outcome: Outcome, word: str, *, quiet: bool) -> None:
    if quiet and word != "failed":
        return
    click.echo(escape_terminal(f"{word.upper() if word == 'failed' else word}  {outcome.story.name}"))
    text = outcome.text() if outcome.is_playable else f"not playable: {outcome.text()}"
    for line in text.splitlines():
        click.echo(f"  {escape_terminal(line)}")


@scenario.command()
@_files
@debug
def show(files: tuple[str, ...]) -> None:
    """Tell stories in words: what each step does, and what is expected.

    \b
    Example: kubelet-sim scenario show stories.yaml
    """  # noqa: D301
    from kubelet_sim.scenario.telling import stories_text

    for line in stories_text(_stories(files)).splitlines():
        click.echo(escape_terminal(line))


@scenario.command()
@click.argument("file", type=click.Path())
@_jobs
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write the stories, - for standard output. Else they replace FILE.",
)
@debug
def record(file: str, jobs: int, output: Path | None) -> None:
    """Play the stories of a file and write what came as what is expected.

    What fits already stays as it is written. JSON stays JSON and YAML stays YAML, but comments and anchors of YAML are
    lost. If a step cannot be played, nothing is written.

    \b
    Example: kubelet-sim scenario record stories.yaml
    """  # noqa: D301
    from kubelet_sim.cli.interruptible import run_interruptible
    from kubelet_sim.cli.pods import read_text
    from kubelet_sim.scenario import recorder

    text, stories = run_interruptible(recorder.record(read_text(file), file, at_once=jobs))
    target = output or Path(file)
    if str(target) == "-":
        click.echo(text, nl=False)
        return
    recorder.write_atomically(target, text)
    steps = sum(len(story.steps) for story in stories)
    click.echo(escape_terminal(f"{target}: recorded, stories: {len(stories)}, steps: {steps}"))


def _stories(files: Sequence[str]) -> list[Story]:
    """All stories of all files. Raises `UsageError` if one cannot be read, or there is none at all."""
    from kubelet_sim.cli.pods import read_text
    from kubelet_sim.errors import UsageError
    from kubelet_sim.scenario.model import read_stories

    stories = [story for file in files for story in read_stories(read_text(file), file)]
    if not stories:
        raise UsageError(f"there is no story in {', '.join(files)}")
    return stories
