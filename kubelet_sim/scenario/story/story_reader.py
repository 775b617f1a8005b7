"""The way from a file of YAML or JSON to stories. What a step needs and takes is said by its entry, see `steps`.

Whatever is wrong with a file is said as `UsageError` that names file, line, story and step, before anything is played.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import copy
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.manifests import ManifestError
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.scenario.plugins.command import CommandScript, read_command
from kubelet_sim.scenario.plugins.script import Script, read_script
from kubelet_sim.scenario.steps.node_looks import rule
from kubelet_sim.scenario.steps.registry import STEPS
from kubelet_sim.scenario.steps.step_kind import StepKind
from kubelet_sim.scenario.story import expectations, values, variables
from kubelet_sim.scenario.story.included_files import Folder
from kubelet_sim.scenario.story.node_spec import NodeSpec, read_node
from kubelet_sim.scenario.story.order import read_choices
from kubelet_sim.scenario.story.places import Place, Places
from kubelet_sim.scenario.story.story import NO_EXPECTATION, NOTHING, Step, Story
from kubelet_sim.scenario.story.values import Keys
from kubelet_sim.scenario.story.variables import Variables


def read_stories(text: str, source: str, *, allows_outside: bool = False) -> tuple[Story, ...]:
    """The stories of a file of YAML or JSON, in order: a list of them, one alone, or one a YAML document.

    Args:
        text: the whole file.
        source: its name; files that a story refers to are looked for beside it.
        allows_outside: whether those may lie outside of its folder.

    Raises `UsageError` that names the file, the line, the story and the step; `ManifestError`, which is one, for a bad file.
    """
    stories: list[Story] = []
    places, folder = Places(text, source), Folder.of(source, allows_outside=allows_outside)
    for index, document in enumerate(_documents(text, source)):
        root = Place(places, (index,))
        items = list(enumerate(document)) if isinstance(document, list) else [(None, document)]
        for at, item in items:
            place = root if at is None else root.below(at)
            stories.append(story_from_mapping(item, source=source, number=len(stories) + 1, place=place, folder=folder))
    names: set[str] = set()
    for story in stories:
        if story.name in names:
            raise UsageError(f"{source}: there are two stories of the name {story.name!r}")
        names.add(story.name)
    return tuple(stories)


def story_from_mapping(
    document: object, *, source: str = "", number: int = 1, place: Place | None = None, folder: Folder | None = None
) -> Story:
    """One story. `number` names it in errors as long as it has no name. Raises `UsageError`."""
    name = ""
    try:
        given = Keys(document, "a story")
        name = f"story {number}"
        name = given.take("name", values.text, name)
        rules = given.take("rules", values.list_of(rule), ())
        known = given.take("vars", _variables, NOTHING)
        reader = _StoryReader(name, source, folder or Folder.of(source), dict(known))
        reader.has_variables = bool(known) or _saves(given.whole.get("steps"))
        included = reader.included(given.take("include", values.text_or_texts, ()))
        node = given.take("node", lambda value: read_node(reader.filled(value)), NodeSpec())
        for each in (reader, *(inner for inner, _ in included)):
            each.node = node
        given.take("plugins", reader.take_plugins, NOTHING)
        items = given.take("steps", values.items, [])
        given.end()
    except UsageError as error:
        there = place and place.below(*values.way_of(error))
        where = f"{there or source or 'story'}: {name}" if name else source or "story"
        raise UsageError(f"{where}: {error}") from error
    steps = [step for inner, (fragment, at) in included for step in inner.steps(fragment, at)]
    steps += reader.steps(items, place and place.below("steps"))
    numbered = tuple(evolve(step, number=at) for at, step in enumerate(steps, start=1))
    if any(step.kind.needs_plugin_watcher for step in numbered):
        node = evolve(node, plugin_watcher=True)
    return Story(name, node, MappingProxyType(reader.plugins), numbered, rules, source, reader.known, folder)


class _StoryReader:
    """Reads the parts of one story, or of a fragment that it includes: what they know of each other is shared."""

    def __init__(self, story: str, source: str, folder: Folder, known: dict[str, Any]) -> None:
        self.story = story
        self.source = source
        self.folder = folder
        self.known = known
        self.has_variables = False
        self.plugins: dict[str, Script | CommandScript] = {}
        self.kept: set[str] = set()
        """The plugins that no fragment may replace."""
        self.saved: list[str] = []
        self.injected: list[str] = []
        self.late: list[str] = []
        self.node = NodeSpec()
        self.is_fragment = False
        """Whether the plugins that it reads may be replaced by others of their names."""
        self.count = 0
        """Steps read so far, for errors; includes count from 1 in their own file."""

    def filled(self, value: Any) -> Any:
        """The value with variables put in, those that are saved later left out."""
        return variables.filled(value, self.known, self.saved) if self.has_variables else value

    def fragments(self, names: tuple[str, ...]) -> Iterator[tuple[_StoryReader, tuple[list[Any], Place]]]:
        """Take what fragments say before any step; their steps are still to be read."""
        for name in names:
            folder, fragment, place = self.folder.fragment(name)
            inner = copy(self)  # what one reader learns of plugins, names and faults, all of them know
            inner.folder, inner.count, inner.is_fragment = folder, 0, True
            try:
                given = Keys(fragment, "a fragment")
                for variable, value in given.take("vars", _variables, NOTHING).items():
                    self.known.setdefault(variable, value)
                items = given.take("steps", values.items, [])
                self.has_variables = self.has_variables or bool(self.known) or _saves(items)
                yield from inner.fragments(given.take("include", values.text_or_texts, ()))
                given.take("plugins", inner.take_plugins, NOTHING)
                given.end()
            except ManifestError:
                raise
            except UsageError as error:
                raise UsageError(f"{place.below(*values.way_of(error))}: {error}") from error
            yield inner, (items, place.below("steps"))

    def included(self, names: tuple[str, ...]) -> list[tuple[_StoryReader, tuple[list[Any], Place]]]:
        """All `fragments` of a story. Raises `UsageError` for one at the place of the `include`."""
        try:
            return list(self.fragments(names))
        except UsageError as error:
            raise values.Misplaced(str(error), ("include",)) from error

    def take_plugins(self, source: object) -> Mapping[str, Any]:
        """Read plugins; one that an included file has, too, is replaced, and one of the story itself stays."""
        for name, script in values.mapping(source).items():
            if name in self.kept:
                continue
            try:
                filled = self.filled(script)
                is_command = isinstance(filled, Mapping) and "command" in filled
                self.plugins[name] = read_command(filled) if is_command else read_script(filled)
            except UsageError as error:
                raise values.inside(error, name, f"{name}: {error}") from error
        if not self.is_fragment:
            self.kept.update(values.mapping(source))
        return self.plugins

    def steps(self, items: list[Any], place: Place | None) -> list[Step]:
        """The steps of a list, those that it includes among them. Raises `UsageError` that says where."""
        steps: list[Step] = []
        for at, item in enumerate(items):
            here = place and place.below(at)
            try:
                if isinstance(item, Mapping) and "include" in item:
                    steps += self._included(item)
                    continue
                self.count += 1
                steps.append(self._step(self.count, item, here))
            except _Told:
                raise
            except UsageError as error:
                there = here and here.below(*values.way_of(error))
                raise _Told(f"{there or self.source or 'story'}: {self.story}, {self._named(item)}: {error}") from error
        return steps

    def _named(self, item: object) -> str:
        if not isinstance(item, Mapping):
            return f"step {self.count}"
        if "include" in item:
            return f"step {self.count + 1} (include)"
        what = item.get("do")
        return f"step {self.count} ({what})" if isinstance(what, str) else f"step {self.count}"

    def _included(self, item: Mapping[str, Any]) -> Iterator[Step]:
        given = Keys(item, "a step that includes others")
        names = given.take("include", values.text_or_texts)
        given.end()
        for inner, (items, place) in list(self.fragments(names)):
            inner.node = self.node
            yield from inner.steps(items, place)

    def _step(self, number: int, source: object, place: Place | None) -> Step:
        given = Keys(source, "a step")
        save = given.take("save", variables.name, None)
        raw = {key: self.filled(value) for key, value in given.whole.items()} if self.has_variables else given.whole
        waits_for = [name for name in variables.references(raw) if name in self.saved] if self.has_variables else []
        if waits_for:
            kind = Keys(raw, "a step").take("do", _step_kind)
            self.late.append(kind.name)
            rest = {key: value for key, value in raw.items() if key not in {"do", "expect", "save", "choices"}}
            late = partial(_late_step, self, number, raw, place)
            expect = raw.get("expect", NO_EXPECTATION)
            step = Step(number, kind, MappingProxyType(rest), expect, None, save, late, place)
        else:
            step = self.read(number, raw, place)
        if save is not None and save not in self.saved:
            self.saved.append(save)
        return step

    def read(self, number: int, source: Mapping[str, Any], place: Place | None) -> Step:
        """A step in which all variables have their values. Raises `UsageError`."""
        given = Keys(source, "a step")
        kind = given.take("do", _step_kind)
        expect = given.take("expect", values.anything, NO_EXPECTATION)
        choices = given.take("choices", read_choices, None)
        save = given.take("save", variables.name, None)
        arguments = {}
        for key, read in kind.keys.items():
            if key in kind.needs:
                arguments[key] = given.take(key, read)
            elif (value := given.take(key, read, _LEFT_OUT)) is not _LEFT_OUT:
                arguments[key] = value
        given.end()
        for name in (arguments.get("plugin"), *arguments.get("plugins", ())):
            if name is not None:
                self._check_plugin(kind, name)
        kind.check_node(arguments, runs_containers=self.node.runs_containers)
        _check_expectation(kind, expect)
        kind.check(self, arguments)
        return Step(number, kind, MappingProxyType(arguments), expect, choices, save, None, place)

    def _check_plugin(self, kind: StepKind, name: str) -> None:
        if name not in self.plugins:
            raise UsageError(f"there is no plugin {name!r}; {there_are(list(self.plugins))}")
        is_command = isinstance(self.plugins[name], CommandScript)
        if is_command and kind.act_of_command is None:
            known = ", ".join(sorted(each.name for each in STEPS.values() if each.act_of_command is not None))
            raise UsageError(f"{name} is a command, with which one can {known}")
        if not is_command and kind.is_for_commands:
            raise UsageError(f"{name} is no command")


class _Told(UsageError):
    """A wrong step that says already where it stands."""


def _late_step(
    reader: _StoryReader, number: int, raw: Mapping[str, Any], place: Place | None, saved: Variables
) -> Step:
    return reader.read(number, variables.filled(raw, saved), place)


def _check_expectation(kind: StepKind, expect: Any) -> None:
    if expect is NO_EXPECTATION:
        return
    try:
        waits, rest = expectations.patience(expect)
        expectations.check(rest)
    except UsageError as error:
        raise values.inside(error, "expect", f"expect: {error}") from error
    if waits is not None and not kind.is_look:
        looks = ", ".join(each.name for each in STEPS.values() if each.is_look)
        raise UsageError(f"expect: within is for steps that only look: {looks}")


def _saves(steps: object) -> bool:
    return isinstance(steps, list) and any(isinstance(step, Mapping) and "save" in step for step in steps)


def _variables(value: object) -> Variables:
    return {variables.name(key): item for key, item in values.mapping(value).items()}


def _documents(text: str, source: str) -> list[Any]:
    """YAML is read much more slowly than JSON, so a list is tried as JSON first."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        try:
            return [json.loads(text.removeprefix("\ufeff"))]
        except (ValueError, RecursionError):
            pass  # A YAML flow list, or the YAML reader says what is wrong and where.
    return [value for _, value in read_documents(text, source)]


def _step_kind(value: object) -> StepKind:
    """The kind of a step by its name. Raises `UsageError` that names similar ones."""
    if (found := values.text(value)) in STEPS:
        return STEPS[found]
    near = get_close_matches(found, STEPS, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(STEPS)}"
    raise UsageError(f"there is no step {found!r}; {hint}")


_LEFT_OUT = object()
