"""A story as values, and the way there from a file of YAML or JSON. What a step does is the player's business.

Whatever is wrong with a file is said as `UsageError` that names file, story and step, before anything is played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.model.faults import Fault
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.faults.book import check
from kubelet_sim.profiles import V1_36, Profile, profile_of, with_gates
from kubelet_sim.rules import RULES
from kubelet_sim.scenario import values
from kubelet_sim.scenario.order import Choices, read_choices
from kubelet_sim.scenario.script import Script, read_devices, read_script, read_status
from kubelet_sim.scenario.values import Keys, Reader

_NOTHING: Mapping[str, Any] = MappingProxyType({})
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")
ENTRY_KINDS = ("file", "directory", "fifo", "socket", "link", "outside-socket")
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
    release: Profile = V1_36
    gates: Mapping[str, bool] = field(default=_NOTHING, hash=False)
    """Feature gates of that release that are not at their defaults."""

    @property
    def profile(self) -> Profile:
        """The release with its gates. Raises `UsageError` if it has no such gate, or does not let it be turned."""
        return with_gates(self.release, self.gates)

    @property
    def machine(self) -> tuple[NumaNodeInfo, ...]:
        """The NUMA nodes; every two are as far apart as they are in the recorded stories."""
        reach = max(self.numa, default=-1) + 1
        return tuple(NumaNodeInfo(n, tuple(10 if n == m else 20 for m in range(reach))) for n in self.numa)

    @property
    def topology(self) -> TopologySettings:
        """The topology manager's settings."""
        return TopologySettings(self.policy, self.scope, {name: str(value) for name, value in self.options.items()})


@frozen
class Step:
    """One step of a story."""

    number: int
    """Counts from 1."""
    do: str
    arguments: Mapping[str, Any] = field(default=_NOTHING, hash=False)
    """Checked and read: `pod` of an `admit` is a `Pod`, `devices` of an `update` are devices."""
    expect: Any = field(default=NO_EXPECTATION, hash=False)
    choices: Choices | None = None
    """What the kubelet chose in it where it was free to choose, if that was recorded."""


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

    @property
    def has_plugin_watcher(self) -> bool:
        """Whether its node has one; otherwise a plugin that looks for `plugins_registry` calls Register."""
        return any(step.do == "watch-serve" for step in self.steps)


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
        given = Keys(document, "a story")
        name = given.take("name", values.text, f"story {number}")
        where = f"{where}: {name}"
        rules = given.take("rules", _rules, ())
        node = given.take("node", _node, NodeSpec())
        plugins = given.take("plugins", _plugins, _NOTHING)
        items = given.take("steps", values.items, [])
        given.end()
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


def _plugins(source: object) -> Mapping[str, Script]:
    plugins = {}
    for name, script in values.mapping(source).items():
        try:
            plugins[name] = read_script(script)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from error
    return MappingProxyType(plugins)


def _rules(source: object) -> tuple[str, ...]:
    for rule in (named := values.texts(source)):
        if rule not in RULES:
            raise UsageError(f"there is no rule {rule!r}; docs/reference/rules.md has them all")
    return tuple(named)


def _node(source: object) -> NodeSpec:
    given = Keys(source, "node")
    node = NodeSpec(
        given.take("numa", _integers, (0,)),
        given.take("policy", values.one_of(POLICIES), "none"),
        given.take("scope", values.one_of(SCOPES), "container"),
        given.take("options", _any_mapping, _NOTHING),
        given.take("version", _release, V1_36),
        given.take("gates", _truths, _NOTHING),
    )
    given.end()
    with_gates(node.release, node.gates)  # Raises, if they cannot be.
    return node


def _release(source: object) -> Profile:
    if isinstance(source, float):
        raise UsageError(f"expected text, not {source!r}: put the version in quotes")
    return profile_of(values.text(source))


def _truths(source: object) -> Mapping[str, bool]:
    return MappingProxyType({name: values.truth(value) for name, value in values.mapping(source).items()})


def _step(number: int, source: object, plugins: Mapping[str, Script]) -> Step:
    given = Keys(source, "a step")
    do = given.take("do", values.one_of(tuple(VERBS)))
    verb = VERBS[do]
    given.take("expect", lambda value: value, None)
    choices = given.take("choices", read_choices, None)
    arguments = {key: given.take(key, read) for key, read in verb.required.items()}
    for key, read in verb.optional.items():
        if (value := given.take(key, read, _LEFT_OUT)) is not _LEFT_OUT:
            arguments[key] = value
    given.end()
    if do == "fault":
        check(fault_of(arguments))
    for name in (arguments.get("plugin"), *arguments.get("plugins", ())):
        if name is not None and name not in plugins:
            raise UsageError(f"there is no plugin {name!r}; {there_are(list(plugins))}")
    return Step(number, do, MappingProxyType(arguments), given.whole.get("expect", NO_EXPECTATION), choices)


_LEFT_OUT = object()

# ------------------------------------------------------------------------------------------------------------- values


def _pod(value: object) -> Pod:
    return pod_from_mapping(values.mapping(value), api_checks=False)


def fault_of(arguments: Mapping[str, Any]) -> Fault:
    """The fault that a step of the verb `fault` asks for."""
    return Fault(
        arguments["fault"],
        arguments.get("with", {}),
        arguments.get("count"),
        arguments.get("resource", ""),
        arguments.get("socket", ""),
        arguments.get("pod", ""),
    )


def _any_mapping(value: object) -> Mapping[str, Any]:
    return MappingProxyType(dict(values.mapping(value)))


def _any_list(value: object) -> tuple[Any, ...]:
    return tuple(values.items(value))


def _integers(value: object) -> tuple[int, ...]:
    return tuple(values.integer(item) for item in values.items(value))


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

    return tuple(pair(item) for item in values.items(value))


def _text_or_truth(value: object) -> str | bool:
    return value if isinstance(value, bool) else values.text(value)


# -------------------------------------------------------------------------------------------------------------- verbs


@frozen
class Verb:
    """What a `do` needs and takes."""

    required: Mapping[str, Reader] = field(factory=dict, hash=False)
    optional: Mapping[str, Reader] = field(factory=dict, hash=False)


_PLUGIN: Mapping[str, Reader] = {"plugin": values.text}
_POD: Mapping[str, Reader] = {"pod": values.text}
_START: Mapping[str, Reader] = {"running": _running, "ready": values.truth}
_IN_CONTAINER: Mapping[str, Reader] = {"pod": values.text, "container": values.text}

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        "serve": Verb(_PLUGIN),
        "watch-serve": Verb(_PLUGIN),
        "watch-remove": Verb(_PLUGIN),
        "notified": Verb(_PLUGIN),
        "register": Verb(_PLUGIN, {"nowait": values.truth}),
        "reserve": Verb(_PLUGIN),
        "update": Verb({**_PLUGIN, "devices": read_devices}),
        "set": Verb({**_PLUGIN, "spec": _any_mapping}),
        "stop": Verb(_PLUGIN),
        "drop": Verb(_PLUGIN),
        "pause": Verb(),
        "restart": Verb({}, _START),
        "ready": Verb({"value": values.truth}),
        "admit": Verb({"pod": _pod}),
        "remove": Verb(_POD),
        "remove-if-active": Verb(_POD),
        "finish": Verb(_POD),
        "reclaim": Verb(),
        "container": Verb(_IN_CONTAINER),
        "capacity": Verb(),
        "advance": Verb({"seconds": values.seconds}),
        "allocated": Verb(_POD),
        "allocated-count": Verb(_POD),
        "in-use": Verb(),
        "state": Verb(),
        "status": Verb(_POD),
        "metrics": Verb({}, {"about": values.text}),
        "affinity": Verb(_IN_CONTAINER),
        "podresources": Verb(
            {"call": values.one_of(("list", "get", "allocatable"))},
            {"api": values.one_of(("v1", "v1alpha1")), "pod": values.text, "namespace": values.text},
        ),
        "calls": Verb(_PLUGIN, {"counts": values.truth}),
        "kill": Verb(),
        "start": Verb({}, _START),
        "entry": Verb(
            {"kind": values.one_of(ENTRY_KINDS), "name": values.text},
            {"target": values.text, "outside": _text_or_truth},
        ),
        "unlink": Verb({"name": values.text}),
        "ls": Verb({}, {"name": values.text}),
        "checkpoint": Verb(),
        "put-checkpoint": Verb(
            {},
            {
                "text": values.text,
                "entries": _any_list,
                "registered": _any_mapping,
                "off": values.integer,
                "foreign": values.truth,
            },
        ),
        "register-as": Verb(_PLUGIN, {"over": _any_mapping, "timeout": values.seconds}),
        "register-two": Verb({"plugins": _two_names}),
        "register-early": Verb(_PLUGIN),
        "register-first": Verb(_PLUGIN),
        "seen": Verb(_PLUGIN),
        "streams": Verb(_PLUGIN),
        "end-first-stream": Verb(_PLUGIN),
        "fail-stream": Verb({**_PLUGIN, "error": read_status}),
        "fault": Verb(
            {"fault": values.text},
            {
                "with": _any_mapping,
                "as": values.text,
                "count": values.integer,
                "resource": values.text,
                "socket": values.text,
                "pod": values.text,
            },
        ),
        "undo": Verb({"fault": values.text}),
        "update-many": Verb({**_PLUGIN, "count": values.integer, "length": values.integer}),
    }
)
"""Every step there is."""
