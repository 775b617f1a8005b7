"""A story as values, and the way there from a file of YAML or JSON. What a step does is the player's business.

Whatever is wrong with a file is said as `UsageError` that names file, story and step, before anything is played.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.model.pod import Pod
from kubelet_sim.scenario.script import Script, read_devices, read_script, read_status

_NOTHING: Mapping[str, Any] = MappingProxyType({})
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")
NO_EXPECTATION = object()
"""`Step.expect` of a step that says nothing of what should come."""


@frozen
class NodeSpec:
    """The node of a story."""

    numa: tuple[int, ...] = (0,)
    policy: str = "none"
    scope: str = "container"
    options: Mapping[str, Any] = field(default=_NOTHING, hash=False)
    """Topology manager policy options."""


@frozen
class Step:
    """One step of a story."""

    number: int
    """Counts from 1."""
    do: str
    arguments: Mapping[str, Any] = field(default=_NOTHING, hash=False)
    """Checked and read: `pod` of an `admit` is a `Pod`, `devices` of an `update` are devices."""
    expect: Any = field(default=NO_EXPECTATION, hash=False)


@frozen
class Story:
    """A fresh node, plugins that do not run yet, and what happens one after the other."""

    name: str
    node: NodeSpec = NodeSpec()
    plugins: Mapping[str, Script] = field(default=_NOTHING, hash=False)
    steps: tuple[Step, ...] = ()
    rules: tuple[str, ...] = ()
    source: str = ""
    """The file it was read from."""


def read_stories(text: str, source: str) -> tuple[Story, ...]:
    """The stories of a file of YAML or JSON, in order: a list of them, one alone, or one a YAML document.

    Raises `UsageError` that names the file, the story and the step; `ManifestError`, which is one, for a bad file.
    """
    stories: list[Story] = []
    for document in _documents(text, source):
        for number, item in enumerate(document if isinstance(document, list) else [document], start=len(stories) + 1):
            stories.append(story_from_mapping(item, source=source, number=number))
    names: set[str] = set()
    for story in stories:
        if story.name in names:
            raise UsageError(f"{source}: there are two stories of the name {story.name!r}")
        names.add(story.name)
    return tuple(stories)


def story_from_mapping(document: object, *, source: str = "", number: int = 1) -> Story:
    """One story. `number` names it in errors as long as it has no name. Raises `UsageError`."""
    where = source or "story"
    try:
        given = _mapping(document, "a story", ("name", "rules", "node", "plugins", "steps"))
        name = _text(given.get("name", f"story {number}"))
        where = f"{where}: {name}"
        plugins = {who: _script(who, script) for who, script in _mapping(given.get("plugins", {}), "plugins").items()}
        rules = tuple(_text(rule) for rule in _list(given.get("rules", [])))
        node = _node(given.get("node", {}))
        items = _list(given.get("steps", []))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    steps = []
    for step_number, item in enumerate(items, start=1):
        try:
            steps.append(_step(step_number, item, plugins))
        except UsageError as error:
            what = item.get("do") if isinstance(item, Mapping) else None
            shown = f"step {step_number} ({what})" if isinstance(what, str) else f"step {step_number}"
            raise UsageError(f"{where}, {shown}: {error}") from error
    return Story(name, node, MappingProxyType(plugins), tuple(steps), rules, source)


def _documents(text: str, source: str) -> list[Any]:
    """YAML is read much more slowly than JSON, so a list is tried as JSON first."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        try:
            return [json.loads(text.removeprefix("\ufeff"))]
        except (ValueError, RecursionError):
            pass  # A YAML flow list, or the YAML reader says what is wrong and where.
    return [value for _, value in read_documents(text, source)]


def _script(name: str, source: object) -> Script:
    try:
        return read_script(source)
    except UsageError as error:
        raise UsageError(f"plugin {name}: {error}") from error


def _node(source: object) -> NodeSpec:
    given = _mapping(source, "node", ("numa", "policy", "scope", "options"))
    numa = tuple(_integer(node) for node in _list(given.get("numa", [0])))
    policy = _one_of(given.get("policy", "none"), POLICIES)
    scope = _one_of(given.get("scope", "container"), SCOPES)
    return NodeSpec(numa, policy, scope, MappingProxyType(dict(_mapping(given.get("options") or {}, "options"))))


def _step(number: int, source: object, plugins: Mapping[str, Script]) -> Step:
    given = _mapping(source, "a step")
    if "do" not in given:
        raise UsageError("the step has no `do`")
    do = _one_of(given["do"], tuple(VERBS))
    verb = VERBS[do]
    known = {**verb.required, **verb.optional}
    for key in given:
        if key not in known and key not in ("do", "expect"):
            raise UsageError(f"`{do}` has no key {key!r}; it may have: {', '.join(known) or 'none'}")
    arguments = {}
    for key, read in known.items():
        if key in given:
            arguments[key] = _argument(key, read, given[key])
        elif key in verb.required:
            raise UsageError(f"`{do}` needs the key {key!r}")
    for name in (arguments.get("plugin"), *arguments.get("plugins", ())):
        if name is not None and name not in plugins:
            raise UsageError(f"there is no plugin {name!r}; there are: {', '.join(plugins) or 'none'}")
    return Step(number, do, MappingProxyType(arguments), given.get("expect", NO_EXPECTATION))


def _argument(key: str, read: Reader, value: object) -> Any:
    try:
        return read(value)
    except UsageError as error:
        raise UsageError(f"{key}: {error}") from error


# ------------------------------------------------------------------------------------------------------------- values


def _mapping(value: object, what: str, known: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"expected a mapping for {what}, not {value!r}")
    for key in value:
        if not isinstance(key, str) or (known is not None and key not in known):
            raise UsageError(f"{what} has no key {key!r}; it may have: {', '.join(known or ('text keys',))}")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"expected a list, not {value!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"expected text, not {value!r}")
    return value


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"expected an integer, not {value!r}")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"expected true or false, not {value!r}")
    return value


def _seconds(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise UsageError(f"expected seconds, not {value!r}")
    return float(value)


def _one_of(value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"expected one of {', '.join(known)}, not {value!r}")
    return value


def _pod(value: object) -> Pod:
    return pod_from_mapping(_mapping(value, "a pod"), api_checks=False)


def _any_mapping(value: object) -> Mapping[str, Any]:
    return MappingProxyType(dict(_mapping(value, "this")))


def _any_list(value: object) -> tuple[Any, ...]:
    return tuple(_list(value))


def _two_names(value: object) -> tuple[str, str]:
    match value:
        case [str(first), str(second)]:
            return first, second
    raise UsageError(f"expected the names of two plugins, not {value!r}")


def _running(value: object) -> tuple[tuple[str, str], ...]:
    def pair(item: object) -> tuple[str, str]:
        match item:
            case [str(uid), str(container)]:
                return uid, container
        raise UsageError(f"expected [pod uid, container], not {item!r}")

    return tuple(pair(item) for item in _list(value))


def _entry_kind(value: object) -> str:
    return _one_of(value, ("file", "directory", "fifo", "socket", "link", "outside-socket"))


def _text_or_truth(value: object) -> str | bool:
    return value if isinstance(value, bool) else _text(value)


def _status(value: object) -> RpcFailed:
    return read_status(value)


# -------------------------------------------------------------------------------------------------------------- verbs

Reader = Callable[[Any], Any]


@frozen
class Verb:
    """What a `do` needs and takes."""

    required: Mapping[str, Reader] = field(factory=dict, hash=False)
    optional: Mapping[str, Reader] = field(factory=dict, hash=False)


_PLUGIN: Mapping[str, Reader] = {"plugin": _text}
_POD: Mapping[str, Reader] = {"pod": _text}
_START: Mapping[str, Reader] = {"running": _running, "ready": _truth}
_IN_CONTAINER: Mapping[str, Reader] = {"pod": _text, "container": _text}

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        "serve": Verb(_PLUGIN),
        "register": Verb(_PLUGIN, {"nowait": _truth}),
        "reserve": Verb(_PLUGIN),
        "update": Verb({**_PLUGIN, "devices": read_devices}),
        "set": Verb({**_PLUGIN, "spec": _any_mapping}),
        "stop": Verb(_PLUGIN),
        "drop": Verb(_PLUGIN),
        "pause": Verb(),
        "restart": Verb({}, _START),
        "ready": Verb({"value": _truth}),
        "admit": Verb({"pod": _pod}),
        "remove": Verb(_POD),
        "remove-if-active": Verb(_POD),
        "reclaim": Verb(),
        "container": Verb(_IN_CONTAINER),
        "capacity": Verb(),
        "advance": Verb({"seconds": _seconds}),
        "allocated": Verb(_POD),
        "allocated-count": Verb(_POD),
        "in-use": Verb(),
        "state": Verb(),
        "status": Verb(_POD),
        "affinity": Verb(_IN_CONTAINER),
        "calls": Verb(_PLUGIN, {"counts": _truth}),
        "kill": Verb(),
        "start": Verb({}, _START),
        "entry": Verb({"kind": _entry_kind, "name": _text}, {"target": _text, "outside": _text_or_truth}),
        "unlink": Verb({"name": _text}),
        "ls": Verb({}, {"name": _text}),
        "checkpoint": Verb(),
        "put-checkpoint": Verb(
            {},
            {
                "text": _text,
                "entries": _any_list,
                "registered": _any_mapping,
                "off": _integer,
                "foreign": _truth,
            },
        ),
        "register-as": Verb(_PLUGIN, {"over": _any_mapping, "timeout": _seconds}),
        "register-two": Verb({"plugins": _two_names}),
        "register-early": Verb(_PLUGIN),
        "seen": Verb(_PLUGIN),
        "streams": Verb(_PLUGIN),
        "end-first-stream": Verb(_PLUGIN),
        "fail-stream": Verb({**_PLUGIN, "error": _status}),
        "update-many": Verb({**_PLUGIN, "count": _integer, "length": _integer}),
    }
)
"""Every step there is."""
