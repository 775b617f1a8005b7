"""A story as values, and the way there from a file of YAML or JSON. What a step does is the player's business.

Whatever is wrong with a file is said as `UsageError` that names file, line, story and step, before anything is played.
Words of steps are in `verbs`, files that a story refers to in `including`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.manifests import ManifestError, read_pods
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.node.faults.book import check as check_fault
from kubelet_sim.profiles import V1_36, Profile, profile_of, with_gates
from kubelet_sim.scenario.plugins.command import (
    VERBS_OF_COMMANDS,
    VERBS_OF_COMMANDS_ALONE,
    CommandScript,
    read_command,
)
from kubelet_sim.scenario.plugins.script import Script, read_script
from kubelet_sim.scenario.steps import verbs
from kubelet_sim.scenario.steps.verbs import SIMPLE, VERBS, WHOLE, any_mapping, fault_of
from kubelet_sim.scenario.story import expectations as compare
from kubelet_sim.scenario.story import values, variables
from kubelet_sim.scenario.story.included_files import Folder
from kubelet_sim.scenario.story.order import read_choices
from kubelet_sim.scenario.story.places import Place, Places
from kubelet_sim.scenario.story.story import NO_EXPECTATION, NOTHING, POLICIES, SCOPES, NodeSpec, Step, Story
from kubelet_sim.scenario.story.values import Keys
from kubelet_sim.scenario.story.variables import Variables

MOST_NUMA_NODES = 64
"""As many as a mask of the kubelet has bits."""
_WHOLE_ONLY = frozenset({"socket_after", "runtime_after", "lose_checkpoint", "lose_directory", "same_inode"})
_SIMPLE_ONLY = frozenset({"running", "ready"})
_ANY_NAME = ""
"""The name of a fault that a variable holds whose value is not known yet."""


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
        rules = given.take("rules", _rules, ())
        known = given.take("vars", _variables, NOTHING)
        reader = _StoryReader(name, source, folder or Folder.of(source), dict(known))
        reader.has_variables = bool(known) or _saves(given.whole.get("steps"))
        included = reader.included(given.take("include", values.text_or_texts, ()))
        node = given.take("node", lambda value: _node(reader.filled(value)), NodeSpec())
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
        self.saved: list[str] = []
        self.injected: list[str] = []
        """The names of faults so far."""
        self.node = NodeSpec()
        self.count = 0
        """Steps read so far, for errors; includes count from 1 in their own file."""

    def filled(self, value: Any) -> Any:
        """With the values of variables, those that are saved later left out."""
        return variables.filled(value, self.known, self.saved) if self.has_variables else value

    def fragments(self, names: tuple[str, ...]) -> Iterator[tuple[_StoryReader, tuple[list[Any], Place]]]:
        """Take what fragments say before any step; their steps are still to be read."""
        for name in names:
            folder, fragment, place = self.folder.fragment(name)
            inner = _Fragment(self, folder)
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
        self.kept.update(self._to_keep(values.mapping(source)))
        return self.plugins

    def _to_keep(self, names: Iterable[str]) -> Iterable[str]:
        """The plugins that no fragment may replace."""
        return set(names)

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
            do = Keys(raw, "a step").take("do", verbs.verb)
            if do == "fault":
                self.injected.append(_ANY_NAME)
            rest = {key: value for key, value in raw.items() if key not in {"do", "expect", "save", "choices"}}
            late = partial(_late_step, self, number, raw, place)
            expect = raw.get("expect", NO_EXPECTATION)
            step = Step(number, do, MappingProxyType(rest), expect, None, save, late, place)
        else:
            step = self.read(number, raw, place)
        if save is not None and save not in self.saved:
            self.saved.append(save)
        return step

    def read(self, number: int, source: Mapping[str, Any], place: Place | None) -> Step:
        """A step in which all variables have their values. Raises `UsageError`."""
        given = Keys(source, "a step")
        do = given.take("do", verbs.verb)
        known = VERBS[do]
        expect = given.take("expect", values.anything, NO_EXPECTATION)
        choices = given.take("choices", read_choices, None)
        save = given.take("save", variables.name, None)
        arguments = {key: given.take(key, read) for key, read in known.required.items()}
        for key, read in known.optional.items():
            if (value := given.take(key, read, _LEFT_OUT)) is not _LEFT_OUT:
                arguments[key] = value
        given.end()
        self._check_plugins(do, arguments)
        _check_node(do, arguments, self.node)
        if do == "wait" and not arguments.keys() & {"pod", "resource"}:
            raise UsageError("there is nothing to wait for: give a pod, or a resource")
        _check_expectation(do, expect)
        self._check_faults(do, arguments)
        if do == "apply":
            self._check_pods(arguments)
        return Step(number, do, MappingProxyType(arguments), expect, choices, save, None, place)

    def _check_pods(self, arguments: dict[str, Any]) -> None:
        """Put the text of the file of an `apply` into its place. Raises `UsageError` for what is no pod."""
        if "file" in arguments:
            name = arguments["file"]
            arguments["file"] = self.folder.read(name)[1]
            read_pods(arguments["file"], name)
        elif not arguments.get("pods"):
            raise UsageError("there is nothing to apply: give pods, or a file")

    def _check_faults(self, do: str, arguments: Mapping[str, Any]) -> None:
        if do == "fault":
            check_fault(fault_of(arguments))
            self.injected.append(arguments.get("as", arguments["fault"]))
        if do == "undo" and arguments["fault"] not in self.injected and _ANY_NAME not in self.injected:
            raise UsageError(f"no step before injects a fault {arguments['fault']!r}; {there_are(self.injected)}")

    def _check_plugins(self, do: str, arguments: Mapping[str, Any]) -> None:
        for name in (arguments.get("plugin"), *arguments.get("plugins", ())):
            if name is None:
                continue
            if name not in self.plugins:
                raise UsageError(f"there is no plugin {name!r}; {there_are(list(self.plugins))}")
            script = self.plugins[name]
            is_command = isinstance(script, CommandScript)
            if is_command and do not in VERBS_OF_COMMANDS:
                known = ", ".join(sorted(VERBS_OF_COMMANDS))
                raise UsageError(f"{name} is a command, with which one can {known}")
            if not is_command and do in VERBS_OF_COMMANDS_ALONE:
                raise UsageError(f"{name} is no command")
            waits = do in {"register", "serve"} and not arguments.get("nowait", False)
            if waits and isinstance(script, CommandScript) and not script.registered:
                raise UsageError(f"{name} does not say when it is ready; give it ready: {{registered: RESOURCE}}")


class _Fragment(_StoryReader):
    """Reads a fragment into the story that includes it."""

    def __init__(self, story: _StoryReader, folder: Folder) -> None:
        super().__init__(story.story, story.source, folder, story.known)
        self.plugins, self.kept, self.saved, self.node = story.plugins, story.kept, story.saved, story.node
        self.injected = story.injected
        self.has_variables = story.has_variables

    def _to_keep(self, names: Iterable[str]) -> Iterable[str]:  # noqa: ARG002 - a fragment keeps none of its own
        return set()


class _Told(UsageError):
    """It says already where it is."""


def _late_step(
    reader: _StoryReader, number: int, raw: Mapping[str, Any], place: Place | None, saved: Variables
) -> Step:
    return reader.read(number, variables.filled(raw, saved), place)


def _check_node(do: str, arguments: Mapping[str, Any], node: NodeSpec) -> None:
    wants = VERBS[do].nodes
    if wants == WHOLE and not node.runs_containers:
        raise UsageError("that needs a node with runs_containers: true")
    if wants == SIMPLE and node.runs_containers:
        raise UsageError(f"the node runs containers itself (runs_containers: true); {VERBS[do].instead}")
    if do in {"restart", "start"}:
        for key in sorted(arguments.keys() & (_SIMPLE_ONLY if node.runs_containers else _WHOLE_ONLY)):
            why = (
                "a node that runs containers knows that" if node.runs_containers else "that needs runs_containers: true"
            )
            raise UsageError(f"{key}: {why}")


def _check_expectation(do: str, expect: Any) -> None:
    if expect is NO_EXPECTATION:
        return
    try:
        waits, rest = compare.patience(expect)
        compare.check(rest)
    except UsageError as error:
        raise values.inside(error, "expect", f"expect: {error}") from error
    if waits is not None and not VERBS[do].is_look:
        looks = ", ".join(name for name, verb in VERBS.items() if verb.is_look)
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


def _rules(source: object) -> tuple[str, ...]:
    return values.each(verbs.rule, source)


def _node(source: object) -> NodeSpec:
    given = Keys(source, "node")
    runs = given.take("runs_containers", values.truth, default=False)
    node = NodeSpec(
        numa=given.take("numa", _numa_ids, (0,)),
        policy=given.take("policy", values.one_of(POLICIES), "none"),
        scope=given.take("scope", values.one_of(SCOPES), "container"),
        options=given.take("options", any_mapping, NOTHING),
        release=given.take("version", _release, V1_36),
        gates=given.take("gates", _truths, NOTHING),
        runs_containers=runs,
        status_rounds=given.take("status_rounds", values.truth, runs),
        plugin_watcher=given.take("plugin_watcher", values.truth, default=False),
    )
    given.end()
    with_gates(node.release, node.gates)  # Raises, if they cannot be.
    return node


def _release(source: object) -> Profile:
    if isinstance(source, float):
        raise UsageError(f"expected text, not {source!r}: put the version in quotes")
    return profile_of(values.text(source))


def _numa_ids(value: object) -> tuple[int, ...]:
    found = values.each(_numa_id, value)
    if twice := [each for at, each in enumerate(found) if each in found[:at]]:
        raise UsageError(f"the NUMA node {twice[0]} is there twice")
    return found


def _numa_id(value: object) -> int:
    if not 0 <= (found := values.integer(value)) < MOST_NUMA_NODES:
        raise UsageError(f"expected the number of a NUMA node from 0 to {MOST_NUMA_NODES - 1}, not {found}")
    return found


def _truths(source: object) -> Mapping[str, bool]:
    return MappingProxyType({name: values.truth(value) for name, value in values.mapping(source).items()})


_LEFT_OUT = object()
