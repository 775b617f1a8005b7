"""Plays the stories of a file and writes what came into them, as what is expected from now on.

A file stays what it was: JSON or YAML, one story or a list. What YAML has besides values (comments, anchors, the way a
text is quoted) is lost.
"""

from __future__ import annotations

import contextlib
import copy
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
from kubelet_sim.scenario.checking import Outcome, check
from kubelet_sim.scenario.model import Story, read_stories

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


async def record(text: str, source: str, *, at_once: int = 8) -> tuple[str, tuple[Story, ...]]:
    """The file's text with what came, and the stories that it holds now.

    An expectation that fits stays as it is written: it may say `...` where a text depends on the machine.

    Raises:
        UsageError: the file holds no stories.
        NotRecorded: a step could not be played.
        TransportError: what would be written could not be read again.
    """
    stories = read_stories(text, source)
    file = StoryFile.read(text, source)
    outcomes = [outcome async for outcome in check(stories, at_once=at_once, to_the_end=True)]
    written = file.recorded(outcomes)
    again = written.text()
    if StoryFile.read(again, source).documents != written.documents:
        raise TransportError(f"{source}: what came could not be written such that it reads the same")
    return again, read_stories(again, source)


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
    if outcome.played is None:
        raise NotRecorded(outcome.problem)
    for step, played in zip(story.get("steps") or (), outcome.played.steps, strict=True):
        if played.failure:
            where = f"{outcome.story.name}, step {played.step.number} ({played.step.do})"
            raise NotRecorded(f"{where} could not be played: {played.failure}")
        if "expect" not in step or not played.is_right:
            step["expect"] = json.loads(json.dumps(played.came))


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
