"""Plays many stories at once and says of each what became of it, whatever that is; nothing stops the others."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Iterable
from pathlib import Path

from attrs import evolve, frozen

from kubelet_sim.errors import KubeletSimError
from kubelet_sim.scenario.play.player import NotPlayable, Played, play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.story import Story

PATIENCE_S = 120.0
"""How long one story may take, in real time: its plugins may sleep, but not for ever."""


@frozen
class StoryOutcome:
    """What became of a story: it was played, or it could not be."""

    story: Story
    played: Played | None = None
    """`None` if it was not played to its end, or to a wrong step."""
    problem: str = ""
    """Why not."""
    is_playable: bool = True
    """False: it needs something that this version does not have."""
    duration_s: float = 0.0
    """In real time."""

    @property
    def is_passed(self) -> bool:
        """Whether the story was played, and every step was right."""
        return self.played is not None and self.played.wrong is None

    def text(self) -> str:
        """What was wrong, in several lines; empty for a story that passed."""
        if self.played is not None:
            return "\n".join(wrong_step_text(self.played, step) for step in self.played.all_wrong)
        return self.problem


async def check(
    stories: Iterable[Story],
    *,
    at_once: int = 8,
    to_the_end: bool = False,
    patience_s: float = PATIENCE_S,
    transcripts: Path | None = None,
    settles: bool = False,
) -> AsyncGenerator[StoryOutcome, None]:
    """Play stories, some at a time; yields in their order, each as soon as those before it are over.

    Args:
        stories: what to play.
        at_once: how many nodes there may be at a time.
        to_the_end: whether a story goes on after a wrong step.
        patience_s: how long one may take.
        transcripts: the folder for a transcript of each.
        settles: whether those in which things happen by themselves wait for quiet before they look.
    """
    turn = asyncio.Semaphore(at_once)

    async def one(story: Story) -> StoryOutcome:
        async with turn:
            begun_s = time.monotonic()
            transcript = None if transcripts is None else transcripts / transcript_name(story)
            playing = play(
                story,
                to_the_end=to_the_end,
                transcript=transcript,
                settles=settles and story.lives_by_itself,
            )
            outcome = await _outcome(story, playing, patience_s)
            return evolve(outcome, duration_s=time.monotonic() - begun_s)

    tasks = [asyncio.ensure_future(one(story)) for story in stories]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def transcript_name(story: Story) -> str:
    """The file name for its transcript, of harmless characters whatever its own name is."""
    file = Path(story.source).stem
    return f"{_plain(file)}.{_plain(story.name)}.jsonl"


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:60] or "-"


async def _outcome(story: Story, playing: Awaitable[Played], patience_s: float) -> StoryOutcome:
    try:
        async with asyncio.timeout(patience_s):
            return StoryOutcome(story, await playing)
    except NotPlayable as reason:
        return StoryOutcome(story, problem=str(reason), is_playable=False)
    except TimeoutError:
        return StoryOutcome(story, problem=f"{story.name} did not come to its end within {patience_s:g} s")
    except KubeletSimError as error:
        return StoryOutcome(story, problem=f"{story.name}: {error}")
    except Exception as error:  # noqa: BLE001 - a bug of ours in one story is no reason to hide the others
        return StoryOutcome(
            story, problem=f"{story.name}: this should not have happened: {type(error).__name__}: {error}"
        )
