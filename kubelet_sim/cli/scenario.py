"""The commands `scenario check`, `scenario show`, `scenario record`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.options import debug, directory_option, file_option
from kubelet_sim.foreign import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubelet_sim.scenario.play.parallel_play import StoryOutcome
    from kubelet_sim.scenario.story.story import Story

_jobs = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="How many stories are played at once.",
)
_outside = click.option(
    "--allow-outside", is_flag=True, help="Let stories include and apply files from outside of their own folder."
)
_files = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())


@click.group()
def scenario() -> None:
    """Check, show or record stories: plugins, pods, and what a kubelet answers.

    A story is a YAML or JSON file: a node, plugins (with a script, or real commands), steps, and what is expected of each.
    A file may hold one story or a list of them. Every story is played on a fresh node of its own, over real sockets, in virtual time.

    \b
    Example: kubelet-sim scenario check stories/*.yaml
    """  # noqa: D301


@scenario.command()
@_files
@_jobs
@click.option("-q", "--quiet", is_flag=True, help="Only what is wrong, and the last line.")
@click.option("--skip-unplayable", is_flag=True, help="Do not count stories whose node cannot be.")
@click.option(
    "--keep-going", is_flag=True, help="Play a story to its end after a wrong step, and show all that are wrong."
)
@file_option("--junit", text="Write the outcome there, as JUnit XML.")
@directory_option(
    "--transcript",
    "transcripts",
    text="Write the transcript of each story to a file there; kubelet-sim replay and trace read it.",
)
@_outside
@debug
@click.pass_context
def check(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    files: tuple[str, ...],
    jobs: int,
    junit: Path | None,
    transcripts: Path | None,
    *,
    quiet: bool,
    skip_unplayable: bool,
    keep_going: bool,
    allow_outside: bool,
) -> None:
    """Play stories and say whether a node does what they expect.

    A wrong step shows its file and line, what was expected, what came, what happened on the node since the step before,
    and what plugins that are commands have said last. The last line is `N passed, N failed`; the exit code is 1 if any
    failed, 2 if a file cannot be read.

    \b
    Example: kubelet-sim scenario check stories.yaml -j 4
    """  # noqa: D301
    from kubelet_sim import exit_codes
    from kubelet_sim.node.interruptible import run_interruptible
    from kubelet_sim.scenario.play.parallel_play import check as play_all
    from kubelet_sim.text_files import check_writable, write_text

    stories = _stories(files, allows_outside=allow_outside)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    outcomes = []
    if transcripts is not None:
        _make_folder(transcripts)
    if junit is not None:
        check_writable(junit)

    async def play() -> None:
        async for outcome in play_all(stories, at_once=jobs, to_the_end=keep_going, transcripts=transcripts):
            outcomes.append(outcome)
            word = _word(outcome, skip_unplayable=skip_unplayable)
            counts[word] += 1
            _tell(outcome, word, quiet=quiet)

    run_interruptible(play())
    if junit is not None:
        from kubelet_sim.present.junit import stories_junit

        write_text(junit, stories_junit(outcomes))
    if counts["skipped"]:
        click.echo(f"{counts['skipped']} skipped: not playable")
    click.echo(f"{counts['passed']} passed, {counts['failed']} failed")
    if counts["failed"]:
        ctx.exit(exit_codes.FINDINGS)


def _make_folder(path: Path) -> None:
    from kubelet_sim.errors import UsageError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {path}: {error.strerror or error}") from error


def _word(outcome: StoryOutcome, *, skip_unplayable: bool) -> str:
    if outcome.is_passed:
        return "passed"
    return "skipped" if skip_unplayable and not outcome.is_playable else "failed"


def _tell(outcome: StoryOutcome, word: str, *, quiet: bool) -> None:
    if quiet and word != "failed":
        return
    click.echo(escape_terminal(f"{word.upper() if word == 'failed' else word}  {outcome.story.name}"))
    text = outcome.text() if outcome.is_playable else f"not playable: {outcome.text()}"
    for line in text.splitlines():
        click.echo(f"  {escape_terminal(line)}")


@scenario.command()
@_files
@_outside
@debug
def show(files: tuple[str, ...], *, allow_outside: bool) -> None:
    """Tell stories in words: what each step does, and what is expected.

    \b
    Example: kubelet-sim scenario show stories.yaml
    """  # noqa: D301
    from kubelet_sim.scenario.story.story_text import stories_text

    for line in stories_text(_stories(files, allows_outside=allow_outside)).splitlines():
        click.echo(escape_terminal(line))


@scenario.command()
@click.argument("file", type=click.Path())
@_jobs
@file_option("--output", text="Where to write the stories, - for standard output. Else they replace FILE.")
@click.option(
    "--check", "only_diff", is_flag=True, help="Write nothing: show the difference; exit code 1 if there is one."
)
@_outside
@debug
@click.pass_context
def record(
    ctx: click.Context, file: str, jobs: int, output: Path | None, *, only_diff: bool, allow_outside: bool
) -> None:
    """Play the stories of a file and write what came as what is expected.

    What fits already stays as it is written, a matcher too; so does everything of a YAML file that is not an expectation,
    with comments and all, unless anchors make that impossible. If a step cannot be played, nothing is written.

    A story with plugins that are commands, or with pods that run, is played twice, waits until all is quiet before it looks, and
    is checked when it is recorded: one whose answers depend on time is not written.

    \b
    Example: kubelet-sim scenario record stories.yaml
    """  # noqa: D301
    from kubelet_sim.cli.helpers.given_files import read_given
    from kubelet_sim.node.interruptible import run_interruptible
    from kubelet_sim.scenario.record import recorder
    from kubelet_sim.text_files import check_writable, write_text

    before = read_given(file)
    target = output or Path(file)
    if not only_diff and str(target) != "-":
        check_writable(target)
    text, stories = run_interruptible(recorder.record(before, file, at_once=jobs, allows_outside=allow_outside))
    if only_diff:
        for line in recorder.difference(before, text, file):
            click.echo(escape_terminal(line))
        if text != before:
            from kubelet_sim import exit_codes

            ctx.exit(exit_codes.FINDINGS)
        return
    if str(target) == "-":
        click.echo(text, nl=False)
        return
    write_text(target, text)
    steps = sum(len(story.steps) for story in stories)
    click.echo(escape_terminal(f"{target}: recorded, stories: {len(stories)}, steps: {steps}"))


def _stories(files: Sequence[str], *, allows_outside: bool = False) -> list[Story]:
    """All stories of all files. Raises `UsageError` if one cannot be read, or there is none at all."""
    from kubelet_sim.cli.helpers.given_files import read_given
    from kubelet_sim.errors import UsageError
    from kubelet_sim.scenario.story.story_reader import read_stories

    stories = [story for file in files for story in read_stories(read_given(file), file, allows_outside=allows_outside)]
    if not stories:
        raise UsageError(f"there is no story in {', '.join(files)}")
    return stories
