"""Plays the stories of a file and writes what came into them, as what is expected from now on.

A file stays what it was: JSON or YAML, one story or a list. In YAML only the expectations are written anew, see `expectation_edits`;
where that cannot be (anchors), all of it is, and what YAML has besides values is lost.

Where things happen by themselves, a look is recorded when they have settled, and may take its time when it is checked. Such
a story is played twice, and texts that differ are recorded as what they share. What was recorded is then checked once.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import yaml
from attrs import define, evolve

from kubelet_sim.errors import KubeletSimError, TransportError, UsageError
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.scenario.play.parallel_play import StoryOutcome, check
from kubelet_sim.scenario.play.player import PlayedStep
from kubelet_sim.scenario.record.expectation_edits import with_expectations
from kubelet_sim.scenario.record.shared_text import pattern, without_times
from kubelet_sim.scenario.story.expectations import is_matcher
from kubelet_sim.scenario.story.story import NO_EXPECTATION, Story
from kubelet_sim.scenario.story.story_reader import read_stories

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*(?: [A-Za-z0-9_./@-]+)*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
"""Those that YAML does not take for text."""
WITHIN = "30s"
"""How long a look may take, when it is checked, at what is there only after a while."""
_PATIENCE_S = 600.0
"""How long the recording of one story may take."""
_LONGEST_TOLD = 300


class NotRecorded(KubeletSimError):
    """There is nothing that could be expected of a step: it could not be played, or it tells something else each time.

    Nothing was written.
    """


Again = Mapping[str, StoryOutcome]
"""What became of stories that were played a second time, by name."""
_NOT_AGAIN: Again = MappingProxyType({})


@define
class StoryFile:
    """The text of a file of stories as plain values, to be written again."""

    documents: list[Any]
    is_json: bool
    indent: int | None
    """Of JSON; `None`: on one line."""
    is_ascii: bool
    """Whether it had no other characters, and shall have none."""

    @classmethod
    def read(cls, text: str, source: str) -> StoryFile:
        """The file's documents. Raises `UsageError` for text that is neither JSON nor YAML."""
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(text.removeprefix("\ufeff"))
            return cls([document], is_json=True, indent=_indent(text), is_ascii=text.isascii())
        documents = [value for _, value in read_documents(text, source)]
        return cls(documents, is_json=False, indent=None, is_ascii=text.isascii())

    def recorded(self, outcomes: Sequence[StoryOutcome], again: Again = _NOT_AGAIN) -> StoryFile:
        """Returns the same file with what came in each step of its stories, which were played in order.

        Args:
            outcomes: of all stories.
            again: of those that were played once more, by name.

        Raises:
            NotRecorded: a step could not be played, or told something else when it was.
        """
        documents = copy.deepcopy(self.documents)
        stories = [item for each in documents for item in (each if isinstance(each, list) else [each])]
        for story, outcome in zip(stories, outcomes, strict=True):
            _record(story, outcome, again.get(outcome.story.name))
        return evolve(self, documents=documents)

    def text(self) -> str:
        """Returns the stories as the text of a file."""
        if self.is_json:
            (document,) = self.documents
            separators = (",", ":") if self.indent is None else None
            return json.dumps(document, indent=self.indent, ensure_ascii=self.is_ascii, separators=separators) + "\n"
        text: str = yaml.dump_all(
            self.documents, Dumper=_Dumper, sort_keys=False, allow_unicode=not self.is_ascii, width=120
        )
        return text


async def record(
    text: str, source: str, *, at_once: int = 8, allows_outside: bool = False
) -> tuple[str, tuple[Story, ...]]:
    """The file's text with what came, and the stories that it holds now.

    An expectation that fits stays as it is written: it may say `...` where a text depends on the machine.

    Raises:
        UsageError: the file holds no stories.
        NotRecorded: a step could not be played, or what came did not come again.
        TransportError: what would be written could not be read again.
    """
    stories = read_stories(text, source, allows_outside=allows_outside)
    file = StoryFile.read(text, source)
    outcomes = await _played(stories, at_once)
    lively = [story for story in stories if story.lives_by_itself]
    again = {outcome.story.name: outcome for outcome in await _played(lively, at_once)}
    written = file.recorded(outcomes, again)
    edited = None if written.is_json else _edited(text, source, written, outcomes, again)
    text = edited or written.text()
    if StoryFile.read(text, source).documents != written.documents:
        raise TransportError(f"{source}: what came could not be written such that it reads the same")
    stories = read_stories(text, source, allows_outside=allows_outside)
    async for outcome in check((story for story in stories if story.lives_by_itself), at_once=at_once):
        if not outcome.is_passed:
            raise _did_not_come_again(outcome)
    return text, stories


async def _played(stories: Iterable[Story], at_once: int) -> list[StoryOutcome]:
    playing = check(stories, at_once=at_once, to_the_end=True, patience_s=_PATIENCE_S, settles=True)
    return [outcome async for outcome in playing]


def _did_not_come_again(outcome: StoryOutcome) -> NotRecorded:
    """About a story that is recorded, and does not pass."""
    if outcome.played is None or (wrong := outcome.played.wrong) is None:
        return NotRecorded(outcome.problem)
    expected = None if wrong.step.expect is NO_EXPECTATION else wrong.step.expect
    return _differs(outcome.story, wrong, expected, wrong.failure or _as_json(wrong.came))


def _differs(story: Story, played: PlayedStep, first: Any, then: Any) -> NotRecorded:
    return NotRecorded(
        f"{_where(story, played)} told {_short(first)} at first and {_short(then)} when it was played again. Put a step before "
        f"it that waits for what it needs (do: wait, or a look with within), or write by hand what is always the same "
        f"(contains, matches, one-of)"
    )


def difference(before: str, after: str, source: str) -> list[str]:
    """What has changed, as a unified diff without line ends."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), source, f"{source} (recorded)", lineterm="")
    return list(lines)


def _edited(text: str, source: str, written: StoryFile, outcomes: Sequence[StoryOutcome], again: Again) -> str | None:
    """The text with new expectations and nothing else changed; `None` if that does not say what it should."""
    changes = [
        (step.step.place, _expectation(outcome.story, step, again.get(outcome.story.name)))
        for outcome in outcomes
        if outcome.played is not None
        for step in outcome.played.steps
        if step.step.place is not None and _is_to_record(step)
    ]
    edited = with_expectations(text, changes, lambda value: flow_text(value, is_ascii=written.is_ascii))
    try:
        return edited if StoryFile.read(edited, source).documents == written.documents else None
    except UsageError:
        return None


def flow_text(value: Any, *, is_ascii: bool = False) -> str:
    """The value as YAML on one line, in braces."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=True, allow_unicode=not is_ascii, width=float("inf")
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _is_to_record(step: PlayedStep) -> bool:
    return step.step.expect is NO_EXPECTATION or not step.is_right


def _expectation(story: Story, step: PlayedStep, again: StoryOutcome | None) -> Any:
    """What came, as a story says it; a patience that stands there stays."""
    came = _as_json(step.came)
    try:
        second = came if again is None else _as_json(_came_in(again, step))
        told = _told(came, second, is_said=step.step.kind.is_said)
    except _Differ as differ:
        raise _differs(story, step, *differ.args) from None
    waits: Mapping[str, Any] = {}
    if isinstance(step.step.expect, Mapping) and "within" in step.step.expect:
        waits = {key: step.step.expect[key] for key in ("within", "clock") if key in step.step.expect}
    elif step.step.kind.is_look and story.lives_by_itself:
        waits = {"within": WITHIN}
    if not waits:
        return told
    return {**waits, **(told if isinstance(told, dict) and not waits.keys() & told.keys() else {"exactly": came})}


def _came_in(outcome: StoryOutcome, step: PlayedStep) -> Any:
    """What came in that step there. Raises `NotRecorded`."""
    if outcome.played is None:
        raise NotRecorded(outcome.problem)
    other = outcome.played.steps[step.step.number - 1]
    if other.failure:
        raise _differs(outcome.story, step, _as_json(step.came), other.failure)
    return other.came


class _Differ(Exception):
    """Two values have nothing in common that could be expected."""


def _told(came: Any, again: Any, *, is_said: bool) -> Any:
    """What fits both. Raises `_Differ` with the parts that have too little in common.

    Args:
        came: in the first play.
        again: in the second.
        is_said: whether a program wrote it, whose times are those of its clock, even if they are the same in both.
    """
    match came, again:
        case dict(), dict() if came.keys() == again.keys():
            if is_matcher(came):
                return {"exactly": _same(came, again)}
            return {key: _told(value, again[key], is_said=is_said) for key, value in came.items()}
        case list(), list() if len(came) == len(again):
            return [_told(one, other, is_said=is_said) for one, other in zip(came, again, strict=True)]
        case str(), str() if came != again:
            if (shared := pattern(came, again)) is None:
                raise _Differ(came, again)
            return {"matches": shared}
        case str(), str() if is_said and (shared := without_times(came)) is not None:
            return {"matches": shared}
    return _same(came, again)


def _same(came: Any, again: Any) -> Any:
    if came != again:
        raise _Differ(came, again)
    return came


def _where(story: Story, played: PlayedStep) -> str:
    return f"{story.name}, step {played.step.number} ({played.step.do})"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_TOLD else text[:_LONGEST_TOLD] + "…"


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _record(story: dict[str, Any], outcome: StoryOutcome, again: StoryOutcome | None) -> None:
    """Put what came into the story; steps of fragments belong to other files, and have to be right already."""
    if outcome.played is None:
        raise NotRecorded(outcome.problem)
    own = [step for step in story.get("steps") or () if "include" not in step]
    told = [step for step in outcome.played.steps if not _is_included(outcome.story, step)]
    for played in outcome.played.steps:
        where = _where(outcome.story, played)
        if played.failure:
            raise NotRecorded(f"{where} could not be played: {played.failure}")
        if played not in told and not played.is_right:
            raise NotRecorded(f"{where} stands in {played.step.place}, and is wrong: record that by hand")
    for step, played in zip(own, told, strict=True):
        if _is_to_record(played):
            step["expect"] = _expectation(outcome.story, played, again)


def _is_included(story: Story, played: PlayedStep) -> bool:
    place = played.step.place
    return place is not None and place.places.source != story.source


def _indent(text: str) -> int | None:
    """The indentation of JSON text, as far as it has one."""
    found = re.search(r"\n( *)\S", text)
    return max(1, len(found[1])) if found else None


class _Dumper(yaml.SafeDumper):
    """Quotes every text that some reader of YAML might take for something else."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """No anchors: nobody reads them with pleasure."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _represent_text)
