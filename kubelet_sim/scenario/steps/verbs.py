"""Every step that a story may have: what it needs and takes, and in one sentence what it does.

How it is done, is the stage's business. The page of all steps and the schema for editors are made from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests import ManifestError, pod_from_mapping
from kubelet_sim.model.faults import Fault
from kubelet_sim.model.pod import Pod
from kubelet_sim.rules import RULES
from kubelet_sim.scenario.plugins.command import signal_number
from kubelet_sim.scenario.plugins.script import read_devices, read_status
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.values import Reader

ENTRY_KINDS = ("file", "directory", "fifo", "socket", "link", "outside-socket")
PHASES = ("Pending", "Running", "Succeeded", "Failed")
POD_RESOURCES_CALLS = ("list", "get", "allocatable")
POD_RESOURCES_VERSIONS = ("v1", "v1alpha1")
RECORD_KINDS = ("fact", "effect", "answer", "decision", "rpc", "fault", "node")
ANY, SIMPLE, WHOLE = "any", "simple", "whole"
"""On which nodes: any; those on which nothing runs by itself; those that run containers."""
TELLS_NOTHING = "`{}`"
"""What comes of a step that only does something."""


@frozen
class Verb:
    """What a `do` needs and takes."""

    required: Mapping[str, Reader] = field(factory=dict, hash=False)
    optional: Mapping[str, Reader] = field(factory=dict, hash=False)
    about: str = ""
    """What happens, in one sentence."""
    comes: str = TELLS_NOTHING
    """What comes of it, in a few words."""
    is_look: bool = False
    """Whether it changes nothing, so that it can be done again until it is right."""
    nodes: str = ANY
    instead: str = ""
    """What does it on a node that runs containers, for those that are for others alone."""


def _pod(value: object) -> Pod:
    return _pod_of(values.mapping(value), api_checks=False)


def _pod_of(manifest: Mapping[str, Any], *, api_checks: bool) -> Pod:
    try:
        return pod_from_mapping(manifest, api_checks=api_checks)
    except ManifestError as error:  # without the number of a document, which a story's pod has not
        text = f"{error.path}: {error.problem}" if error.path else error.problem
        raise values.Misplaced(f"{text}. {error.expected}" if error.expected else text, error.way) from error


def any_mapping(value: object) -> Mapping[str, Any]:
    """A mapping of anything. Raises `UsageError`."""
    return MappingProxyType(dict(values.mapping(value)))


def any_list(value: object) -> tuple[Any, ...]:
    """A list of anything. Raises `UsageError`."""
    return tuple(values.items(value))


def _manifests(value: object) -> tuple[Mapping[str, Any], ...]:
    return values.each(_manifest, value)


def _manifest(value: object) -> Mapping[str, Any]:
    _pod_of(found := any_mapping(value), api_checks=True)
    return found


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

    return values.each(pair, value)


def _text_or_truth(value: object) -> str | bool:
    return value if isinstance(value, bool) else values.text(value)


def rule(value: object) -> str:
    """The id of a rule that there is. Raises `UsageError`."""
    if (found := values.text(value)) not in RULES:
        near = get_close_matches(found, RULES, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "rules are called as in DM-90"
        raise UsageError(f"there is no rule {found!r}; {hint}")
    return found


def verb(value: object) -> str:
    """The name of a step. Raises `UsageError` that names similar ones."""
    if (found := values.text(value)) in VERBS:
        return found
    near = get_close_matches(found, VERBS, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(VERBS)}"
    raise UsageError(f"there is no step {found!r}; {hint}")


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


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "pod": _pod,
        "manifests": _manifests,
        "two names": _two_names,
        "running": _running,
        "text or truth": _text_or_truth,
        "signal": signal_number,
    }
)
"""Those of this module, by what they read; the schema says what each takes."""

_PLUGIN: Mapping[str, Reader] = {"plugin": values.text}
_POD: Mapping[str, Reader] = {"pod": values.text}
_START: Mapping[str, Reader] = {"running": _running, "ready": values.truth}
_COMEBACK: Mapping[str, Reader] = {
    "socket_after": values.seconds,
    "runtime_after": values.seconds,
    "lose_checkpoint": values.truth,
    "lose_directory": values.truth,
    "same_inode": values.truth,
}
_IN_CONTAINER: Mapping[str, Reader] = {"pod": values.text, "container": values.text}
_NAMED_POD: Mapping[str, Reader] = {"namespace": values.text}
_REGISTERED = "`code`, `message`"

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        # --- plugins
        "serve": Verb(_PLUGIN, {}, "A plugin listens on its socket; one that is a command is started, and is ready."),
        "watch-serve": Verb(
            _PLUGIN,
            {},
            "A plugin listens on a new socket in `plugins_registry`; then a second passes, in which the plugin watcher looks.",
            "`notified`: what the plugin was told, `registered` and `error` of each time",
        ),
        "watch-remove": Verb(
            _PLUGIN, {}, "The socket's file in `plugins_registry` is removed; then a second passes.", "`notified`"
        ),
        "notified": Verb(
            _PLUGIN, {}, "What a plugin was told by the plugin watcher since the last look.", "`notified`"
        ),
        "register": Verb(
            _PLUGIN,
            {"nowait": values.truth},
            "A plugin listens and calls Register; its list has arrived when the step is over, unless `nowait`. One that is a "
            "command is started unless it runs, and has registered when the step is over.",
            _REGISTERED,
        ),
        "reserve": Verb(_PLUGIN, {}, "A plugin stops and listens again, on a new socket file, without registering."),
        "update": Verb({**_PLUGIN, "devices": read_devices}, {}, "A plugin sends another list."),
        "set": Verb({**_PLUGIN, "spec": any_mapping}, {}, "Keys of a plugin's script are replaced."),
        "stop": Verb(
            _PLUGIN, {}, "A plugin stops; a command gets SIGTERM, and SIGKILL if it does not end within 10 s."
        ),
        "drop": Verb(_PLUGIN, {}, "A plugin ends its streams, and goes on serving."),
        "signal": Verb(
            {**_PLUGIN, "signal": signal_number}, {}, "A command's process group gets a signal, such as SIGSTOP."
        ),
        "process": Verb(_PLUGIN, {}, "Looks at a command.", "`running`, `exit_code`", is_look=True),
        "output": Verb(
            _PLUGIN,
            {"about": values.text},
            "What a command has written so far, those lines that hold the text `about`.",
            "`lines`",
            is_look=True,
        ),
        "sound": Verb(
            _PLUGIN,
            {},
            "Looks for what no good plugin does, from the beginning of the story on: ids that change or come twice, words for "
            "health that there are not, answers without a response, paths that are not absolute, registrations without end, a "
            "process that died by itself; and for a device with two holders.",
            "`problems`",
            is_look=True,
        ),
        "pause": Verb({}, {}, "The node finishes what it does."),
        # --- the kubelet
        "restart": Verb(
            {},
            {**_START, **_COMEBACK},
            "The kubelet restarts on the same directory. `running`: the containers that the runtime reports running; `ready`: "
            "whether pod sources are. A node that runs containers knows both, and takes what is lost meanwhile instead.",
        ),
        "ready": Verb({"value": values.truth}, {}, "Pod sources become ready or not."),
        "kill": Verb({}, {"plugin": values.text}, "The kubelet dies; with `plugin` that plugin does (SIGKILL)."),
        "start": Verb(
            {},
            {**_START, **_COMEBACK, "plugin": values.text},
            "The kubelet starts again; with `plugin` a command is started, and nobody waits until it is ready.",
            "`started`",
        ),
        "crash": Verb({}, {}, "The kubelet dies and stays away.", nodes=WHOLE),
        "start-kubelet": Verb({}, _COMEBACK, "The kubelet starts after a crash.", nodes=WHOLE),
        "reboot": Verb({}, _COMEBACK, "The machine restarts: every container has ended, plugins go on.", nodes=WHOLE),
        "capacity": Verb(
            {},
            {},
            "The node status is computed.",
            "`capacity`, `allocatable`, `deleted`; `node`: the node object after it",
        ),
        "advance": Verb({"seconds": values.seconds}, {}, "So much time passes, at once."),
        # --- pods
        "admit": Verb({"pod": _pod}, {}, "A pod comes, and is admitted or not.", "`admit`, `reason`, `message`"),
        "remove": Verb(
            _POD,
            {},
            "A pod is no longer active; nothing is freed yet.",
            nodes=SIMPLE,
            instead="delete-pod deletes a pod",
        ),
        "remove-if-active": Verb(
            _POD, {}, "Likewise, if it is there.", nodes=SIMPLE, instead="delete-pod deletes a pod"
        ),
        "finish": Verb(
            _POD, {}, "A pod ends by itself, and stays known.", nodes=SIMPLE, instead="exit ends a container of a pod"
        ),
        "reclaim": Verb({}, {}, "Devices of pods that are gone are freed."),
        "container": Verb(
            _IN_CONTAINER,
            {},
            "A container is about to be created.",
            "`options`, or `error`",
            nodes=SIMPLE,
            instead="container-spec tells what a container got",
        ),
        "apply": Verb(
            {},
            {"pods": _manifests, "file": values.text},
            "Pods come, from manifests that stand here or in a file; nobody waits for their verdicts.",
            "`pods`: `created` or `unchanged` by name",
            nodes=WHOLE,
        ),
        "delete-pod": Verb(
            _POD,
            {**_NAMED_POD, "grace": values.seconds, "force": values.truth, "wait": values.truth},
            "A pod is deleted; as much time passes as its containers take to stop, unless `wait: false`.",
            nodes=WHOLE,
        ),
        "exit": Verb(
            _POD,
            {**_NAMED_POD, "container": values.text, "code": values.integer},
            "A container ends, as its program might.",
            "`container`",
            nodes=WHOLE,
        ),
        "wait": Verb(
            {},
            {
                **_NAMED_POD,
                "pod": values.text,
                "phase": values.one_of(PHASES),
                "resource": values.text,
                "healthy": values.integer,
                "within": values.seconds,
            },
            "Real time passes until the pod is in that phase (`Running`, if none is said), or the resource has a plugin and so "
            "many healthy devices; the step fails if that takes longer than `within` (30 s).",
        ),
        # --- looks at the kubelet
        "allocated": Verb(_POD, {}, "Devices that are recorded for a pod.", "ids by container, resource", is_look=True),
        "allocated-count": Verb(_POD, {}, "How many of them there are.", "by container, resource", is_look=True),
        "in-use": Verb({}, {}, "How many devices are in use.", "by resource, zeros left out", is_look=True),
        "state": Verb({}, {}, "The ids held healthy and unhealthy.", "`healthy`, `unhealthy`", is_look=True),
        "status": Verb(_POD, {}, "Device health in the status of a pod.", "by container, resource, id", is_look=True),
        "metrics": Verb(
            {},
            {"about": values.text},
            "The kubelet's metrics whose name holds the text `about`.",
            "values by name and labels; of durations their `_count`",
            is_look=True,
        ),
        "affinity": Verb(_IN_CONTAINER, {}, "The NUMA affinity of a container.", "`nodes`, `preferred`", is_look=True),
        "node": Verb(
            {}, {}, "The node as a whole.", "`kubelet`, `incarnation`, `capacity`, `allocatable`, …", is_look=True
        ),
        "resources": Verb(
            {}, {"resource": values.text}, "Resources with their devices.", "by name; of one, that alone", is_look=True
        ),
        "plugins": Verb(
            {},
            {"resource": values.text},
            "Connections to plugins, in order of registration.",
            "`plugins`",
            is_look=True,
        ),
        "pods": Verb(
            {},
            {**_NAMED_POD, "pod": values.text},
            "Pods with their containers.",
            "by name, `namespace/` before it if that is not `default`; of one, that alone",
            is_look=True,
        ),
        "allocations": Verb(
            {}, {**_NAMED_POD, "pod": values.text}, "Who holds which devices.", "`allocations`", is_look=True
        ),
        "events": Verb(
            {},
            {"about": values.text},
            "Events whose object, reason or message holds the text.",
            "`events`",
            is_look=True,
        ),
        "container-spec": Verb(
            _POD,
            {**_NAMED_POD, "container": values.text},
            "What a container got when it was created.",
            "`options`, or `error`",
            is_look=True,
            nodes=WHOLE,
        ),
        "podresources": Verb(
            {"call": values.one_of(POD_RESOURCES_CALLS)},
            {"api": values.one_of(POD_RESOURCES_VERSIONS), "pod": values.text, "namespace": values.text},
            "What an exporter gets from the pod resources API; `get` is for one pod, by its name.",
            "`pods` or one, by container `[resource, id, NUMA node]`, without the node if there is no topology; `devices`; or "
            "`code`, `message`",
            is_look=True,
        ),
        "trace": Verb(
            {},
            {"about": values.text, "kind": values.one_of(RECORD_KINDS), "rule": rule},
            "Records of the transcript, from the beginning on: those of a kind, of a rule, and whose subject or text holds `about`.",
            "`records`",
            is_look=True,
        ),
        # --- looks at plugins
        "calls": Verb(
            _PLUGIN,
            {"counts": values.truth},
            "What a plugin was asked since the last look.",
            "`calls`; with `counts` how many",
        ),
        "seen": Verb(_PLUGIN, {}, "How often a plugin was asked for options and lists since the last look.", "by call"),
        "streams": Verb(_PLUGIN, {}, "How many streams a plugin sees open.", "`open`", is_look=True),
        # --- the directory, behind the kubelet's back
        "entry": Verb(
            {"kind": values.one_of(ENTRY_KINDS), "name": values.text},
            {"target": values.text, "outside": _text_or_truth},
            "Somebody makes an entry in the directory, or a socket outside of it.",
        ),
        "unlink": Verb({"name": values.text}, {}, "Somebody removes a file from the directory."),
        "ls": Verb(
            {}, {"name": values.text}, "The entries of the directory, or of one inside it.", "`entries`", is_look=True
        ),
        "checkpoint": Verb(
            {}, {}, "What the checkpoint file says.", "`entries`, `registered`, `checksum`; or `file`", is_look=True
        ),
        "put-checkpoint": Verb(
            {},
            {
                "text": values.text,
                "entries": any_list,
                "registered": any_mapping,
                "off": values.integer,
                "foreign": values.truth,
            },
            "Somebody writes the checkpoint file: a `text`, or `entries` and `registered` with a checksum that is `off` by so much, "
            "in the style of another writer if it is `foreign`.",
        ),
        # --- odd registrations and streams
        "register-as": Verb(
            _PLUGIN,
            {"over": any_mapping, "timeout": values.seconds},
            "A plugin registers with other fields, or gives up after `timeout`.",
            "`code`, `message`; with `timeout` `ok`",
        ),
        "register-two": Verb(
            {"plugins": _two_names}, {}, "Two plugins register, the second while the first still does.", "by plugin"
        ),
        "register-early": Verb(_PLUGIN, {}, "A plugin registers 0.6 s before it listens.", _REGISTERED),
        "register-first": Verb(_PLUGIN, {}, "A plugin registers, and listens when it has its answer.", _REGISTERED),
        "end-first-stream": Verb(_PLUGIN, {}, "A plugin ends its oldest stream."),
        "fail-stream": Verb({**_PLUGIN, "error": read_status}, {}, "A plugin ends its streams with a status."),
        "update-many": Verb(
            {**_PLUGIN, "count": values.integer, "length": values.integer},
            {},
            "A plugin sends `count` healthy devices whose ids have `length` digits.",
        ),
        # --- what goes wrong
        "fault": Verb(
            {"fault": values.text},
            {
                "with": any_mapping,
                "as": values.text,
                "count": values.integer,
                "resource": values.text,
                "socket": values.text,
                "pod": values.text,
            },
            "Something goes wrong: a [fault](faults.md) by its name, `with` arguments, and `as` a name of its own.",
            "`did`",
        ),
        "undo": Verb({"fault": values.text}, {}, "A fault is undone.", "`applied`"),
    }
)
"""Every step there is."""
