"""Plays the stories of a file and writes what came into them, as what is expected from now on.

A file stays what it was: JSON or YAML, one story or a list. In YAML only the expectations are written anew, see `editing`;
where that cannot be (anchors), all of it is, and what YAML has besides values is lost.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import json
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from attrs import define, evolve

from kubelet_sim.errors import KubeletSimError, TransportError, UsageError
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.scenario import editing
from kubelet_sim.scenario.checking import Outcome, check
from kubelet_sim.scenario.model import NO_EXPECTATION, Story, read_stories
from kubelet_sim.scenario.player import PlayedStep

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*(?: [A-Za-z0-9_./@-]+)*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
"""Those that YAML does not take for text."""


class NotRecorded(KubeletSimError):
    """A step could not be played, so there is nothing that could be expected of it; nothing was written."""


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

    def recorded(self, outcomes: Sequence[Outcome]) -> StoryFile:
        """The same with what came in each step of its stories, which were played in order.

        Raises:
            NotRecorded: a step could not be played.
        """
        documents = copy.deepcopy(self.documents)
        stories = [item for each in documents for item in (each if isinstance(each, list) else [each])]
        for story, outcome in zip(stories, outcomes, strict=True):
            _record(story, outcome)
        return evolve(self, documents=documents)

    def text(self) -> str:
        """As a file."""
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
        NotRecorded: a step could not be played.
        TransportError: what would be written could not be read again.
    """
    stories = read_stories(text, source, allows_outside=allows_outside)
    file = StoryFile.read(text, source)
    outcomes = [outcome async for outcome in check(stories, at_once=at_once, to_the_end=True)]
    written = file.recorded(outcomes)
    again = written.text() if written.is_json else _edited(text, source, written, outcomes) or written.text()
    if StoryFile.read(again, source).documents != written.documents:
        raise TransportError(f"{source}: what came could not be written such that it reads the same")
    return again, read_stories(again, source, allows_outside=allows_outside)


def difference(before: str, after: str, source: str) -> list[str]:
    """What has changed, as a unified diff without line ends."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), source, f"{source} (recorded)", lineterm="")
    return list(lines)


def _edited(text: str, source: str, written: StoryFile, outcomes: Sequence[Outcome]) -> str | None:
    """The text with new expectations and nothing else changed; `None` if that does not say what it should."""
    changes = [
        (step.step.place, _as_json(step.came))
        for outcome in outcomes
        if outcome.played is not None
        for step in outcome.played.steps
        if step.step.place is not None and _is_to_record(step)
    ]
    edited = editing.with_expectations(text, changes, lambda value: flow_text(value, is_ascii=written.is_ascii))
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


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by the text, or make it: it is the old one or the new one at every moment.

    A link stays, and what it leads to is replaced. Raises `UsageError`.
    """
    path = path.resolve()
    try:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
        descriptor, name = tempfile.mkstemp(prefix=".recording-", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(mode)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def _record(story: dict[str, Any], outcome: Outcome) -> None:
    """Put what came into the story; steps of fragments belong to other files, and have to be right already."""
    if outcome.played is None:
        raise NotRecorded(outcome.problem)
    own = [step for step in story.get("steps") or () if "include" not in step]
    told = [step for step in outcome.played.steps if not _is_included(outcome.story, step)]
    for played in outcome.played.steps:
        where = f"{outcome.story.name}, step {played.step.number} ({played.step.do})"
        if played.failure:
            raise NotRecorded(f"{where} could not be played: {played.failure}")
        if played not in told and not played.is_right:
            raise NotRecorded(f"{where} stands in {played.step.place}, and is wrong: record that by hand")
    for step, played in zip(own, told, strict=True):
        if _is_to_record(played):
            step["expect"] = _as_json(played.came)


def _is_included(story: Story, played: PlayedStep) -> bool:
    place = played.step.place
    return place is not None and place.places.source != story.source


def _indent(text: str) -> int | None:
    """The indentation of JSON text, as far as it has one."""
    found = re.search(r"\n( *)\S", text)
    return max(1, len(found[1])) if found else None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class _Dumper(yaml.SafeDumper):
    """Quotes every text that some reader of YAML might take for something else."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """No anchors: nobody reads them with pleasure."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_Dumper.add_representer(str, _represent_text)
