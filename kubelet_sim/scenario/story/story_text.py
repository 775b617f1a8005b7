"""A story in words: one line for what each step does, and what is expected of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubelet_sim.manifests.errors import printable
from kubelet_sim.model.device import Device
from kubelet_sim.model.pod import Pod
from kubelet_sim.profiles import V1_36
from kubelet_sim.scenario.plugins.command import CommandScript
from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.story.story import NO_EXPECTATION, Step, Story

_LONGEST = 200
_NAMED = 6
_Arguments = Mapping[str, Any]


def story_text(story: Story) -> str:
    """The whole story; control characters escaped, long values cut."""
    rules = f"  [{', '.join(story.rules)}]" if story.rules else ""
    lines = [f"{story.name}{rules}", f"  {_node(story)}"]
    lines += [f"  {line}" for name, script in story.plugins.items() for line in _plugin(name, script)]
    lines += [f"  {step.number:>3}. {line}" for step in story.steps for line in _step(step)]
    return "\n".join(map(printable, lines))


def _node(story: Story) -> str:
    node = story.node
    nodes = f"NUMA nodes {', '.join(map(str, node.numa))}" if len(node.numa) > 1 else "one NUMA node"
    policy = "" if node.policy == "none" else f", topology policy {node.policy} in scope {node.scope}"
    options = f", {_short(dict(node.options))}" if node.options else ""
    release = "" if node.release == V1_36 else f", kubelet {node.release.version}"
    gates = f" with {_short(dict(node.gates))}" if node.gates else ""
    return f"A fresh node with {nodes}{policy}{options}{release}{gates}."


def _plugin(name: str, script: Script | CommandScript) -> Iterator[str]:
    if isinstance(script, CommandScript):
        serves = f", serves {' and '.join(script.registered)}" if script.registered else ""
        yield f"Plugin {name} is the command {_short(list(script.command))}{serves}."
        return
    devices = "lists nothing" if script.devices is None else f"has {_devices(script.devices)}"
    yield f"Plugin {name} serves {script.resource} on {script.socket} and {devices}."
    known = {"resource", "socket", "devices"}
    for key in script.source:
        if key not in known:
            yield f"  its {key}: {_short(script.source[key])}"


def _devices(devices: Sequence[Device]) -> str:
    if not devices:
        return "no devices"
    shown = [_device(each) for each in devices[:_NAMED]]
    further = f" and {len(devices) - _NAMED} more" if len(devices) > _NAMED else ""
    return f"{len(devices)} device{'s' * (len(devices) != 1)}: {', '.join(shown)}{further}"


def _device(device: Device) -> str:
    notes = [] if device.is_healthy else [device.health or "of no health"]
    notes += [f"NUMA {','.join(map(str, device.numa_nodes))}"] if device.numa_nodes else []
    return f"{device.id or '(no id)'}{f' ({chr(44).join(notes)})' if notes else ''}"


def _step(step: Step) -> Iterator[str]:
    text = _fallback(step) if step.late is not None else _SENTENCES[step.do](step.arguments)
    text += f", kept as {step.save}" if step.save is not None else ""
    expected = _expected(step)
    yield text + (f": {expected}" if expected else ".")


def _fallback(step: Step) -> str:
    return f"{step.do} {_short(dict(step.arguments))}"


def _expected(step: Step) -> str:
    """What should come; empty for nothing in particular."""
    expect = step.expect
    if expect is NO_EXPECTATION:
        return ""
    match expect:
        case {"code": "OK"}:
            return "accepted"
        case {"code": str(code), "message": str(message)}:
            return f"refused with {code}, {message}"
        case {"admit": True}:
            return "admitted"
        case {"admit": False, "reason": str(reason), "message": str(message)}:
            return f"rejected, {reason}: {message}"
        case {"error": str(error)}:
            return f"it cannot be created, {error}"
        case {"options": None}:
            return "no plugin has a say in it"
        case {"started": bool(started)}:
            return "it starts" if started else "it cannot start"
        case {"calls": []} | {"notified": []}:
            return "none"
    return "" if expect == {} and step.do not in _LOOKS else f"expected {_short(expect)}"


_LOOKS = frozenset({"in-use", "state", "allocated", "allocated-count", "status", "seen", "calls", "ls", "checkpoint"})
"""Steps of which an empty answer says something."""


def _pod(pod: Pod) -> str:
    wanted = [
        f"{each.name}{'' if each.kind.value == 'app' else f' ({each.kind.value})'} wants {_limits(each.limits)}"
        for each in pod.all_containers()
    ]
    return f"Pod {pod.name} comes ({'; '.join(wanted)})"


def _limits(limits: Mapping[str, object]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in limits.items()) or "nothing"


def _start(what: str) -> Callable[[_Arguments], str]:
    def text(given: _Arguments) -> str:
        running = [f"{container} of {pod}" for pod, container in given.get("running", ())]
        notes = [f"the runtime reports {', '.join(running)} running"] if running else []
        notes += [] if given.get("ready", True) else ["pod sources are not ready"]
        notes += [f"{key}: {value}" for key, value in given.items() if key not in {"running", "ready"}]
        return what + (f" ({'; '.join(notes)})" if notes else "")

    return text


def _entry(given: _Arguments) -> str:
    to = f" to {given['target']}" if "target" in given else ""
    beyond = " in another directory" if given.get("outside") else ""
    return f"Somebody makes the {given['kind']} {given['name']}{to}{beyond}"


def _podresources(given: _Arguments) -> str:
    method = {"list": "List", "get": "Get", "allocatable": "GetAllocatableResources"}[given["call"]]
    of = f" of {given.get('namespace', 'default')}/{given.get('pod', '')}" if given["call"] == "get" else ""
    return f"{method}{of} of the pod resources API {given.get('api', 'v1')}"


_SENTENCES: Mapping[str, Callable[[_Arguments], str]] = {
    "serve": lambda given: f"Plugin {given['plugin']} listens on its socket",
    "watch-serve": lambda given: (
        f"Plugin {given['plugin']} listens on a new socket in plugins_registry, and a second passes"
    ),
    "watch-remove": lambda given: (
        f"The socket of plugin {given['plugin']} in plugins_registry is removed, and a second passes"
    ),
    "notified": lambda given: f"What plugin {given['plugin']} was told by the plugin watcher since the last look",
    "register": lambda given: f"Plugin {given['plugin']} registers",
    "register-as": lambda given: f"Plugin {given['plugin']} registers{_over(given)}",
    "register-two": lambda given: f"Plugins {' and '.join(given['plugins'])} register, one while the other still does",
    "register-early": lambda given: f"Plugin {given['plugin']} registers before it listens",
    "register-first": lambda given: f"Plugin {given['plugin']} registers, and listens when it has its answer",
    "reserve": lambda given: f"Plugin {given['plugin']} listens on a new socket file",
    "update": lambda given: f"Plugin {given['plugin']} now has {_devices(given['devices'])}",
    "update-many": lambda given: f"Plugin {given['plugin']} now has {given['count']} devices with long ids",
    "set": lambda given: f"Plugin {given['plugin']} changes: {_short(dict(given['spec']))}",
    "stop": lambda given: f"Plugin {given['plugin']} stops",
    "drop": lambda given: f"Plugin {given['plugin']} ends its streams and goes on serving",
    "fail-stream": lambda given: f"Plugin {given['plugin']} ends its streams with an error, {given['error']}",
    "end-first-stream": lambda given: f"Plugin {given['plugin']} ends its oldest stream",
    "pause": lambda _: "The node finishes what it does",
    "restart": _start("The kubelet restarts"),
    "kill": lambda given: f"Plugin {given['plugin']} is killed" if "plugin" in given else "The kubelet dies",
    "start": lambda given: (
        f"Plugin {given['plugin']} is started" if "plugin" in given else _start("The kubelet starts")(given)
    ),
    "crash": lambda _: "The kubelet crashes",
    "start-kubelet": lambda given: f"The kubelet starts{_how(given)}",
    "reboot": lambda given: f"The machine is rebooted{_how(given)}",
    "signal": lambda given: f"Plugin {given['plugin']} gets signal {given['signal']}",
    "process": lambda given: f"The process of plugin {given['plugin']}",
    "output": lambda given: f"What plugin {given['plugin']} has written{_of(given)}",
    "sound": lambda given: f"What was wrong with plugin {given['plugin']} so far",
    "apply": lambda given: f"Pods come: {_applied(given)}",
    "delete-pod": lambda given: f"Pod {given['pod']} is deleted",
    "exit": lambda given: f"A container of pod {given['pod']} ends with exit code {given.get('code', 0)}",
    "wait": lambda given: f"Time passes until {_waited(given)}",
    "node": lambda _: "The node",
    "resources": lambda given: f"Resource {given['resource']}" if "resource" in given else "Resources",
    "plugins": lambda _: "Connections to plugins",
    "pods": lambda given: f"Pod {given['pod']}" if "pod" in given else "Pods",
    "allocations": lambda _: "Who holds which devices",
    "events": lambda given: f"Events{_of(given)}",
    "container-spec": lambda given: f"What a container of pod {given['pod']} got",
    "trace": lambda given: f"Records of the transcript{_of(given)}",
    "ready": lambda given: f"Pod sources become {'ready' if given['value'] else 'not ready'}",
    "admit": lambda given: _pod(given["pod"]),
    "remove": lambda given: f"Pod {given['pod']} is no longer active",
    "finish": lambda given: f"Pod {given['pod']} ends by itself",
    "podresources": _podresources,
    "remove-if-active": lambda given: f"Pod {given['pod']} is no longer active, if it was",
    "reclaim": lambda _: "Devices of pods that are gone are freed",
    "container": lambda given: f"Container {given['container']} of {given['pod']} is prepared",
    "capacity": lambda _: "The node status is computed",
    "advance": lambda given: f"{given['seconds']:g} seconds pass",
    "allocated": lambda given: f"Devices recorded for pod {given['pod']}",
    "allocated-count": lambda given: f"Number of devices recorded for pod {given['pod']}",
    "in-use": lambda _: "Number of devices in use",
    "state": lambda _: "Devices held healthy and unhealthy",
    "status": lambda given: f"Device health in the status of pod {given['pod']}",
    "metrics": lambda given: f"Metrics{f' about {about}' if (about := given.get('about')) else ''}",
    "affinity": lambda given: f"NUMA affinity of {given['container']} of {given['pod']}",
    "calls": lambda given: f"Calls that plugin {given['plugin']} got since the last look",
    "seen": lambda given: f"Options and list calls that plugin {given['plugin']} got since the last look",
    "streams": lambda given: f"Streams that plugin {given['plugin']} sees open",
    "entry": _entry,
    "unlink": lambda given: f"Somebody removes {given['name']} from the directory",
    "ls": lambda given: f"Entries of {given.get('name', 'the directory')}",
    "checkpoint": lambda _: "What the checkpoint file says",
    "fault": lambda given: f"The fault {given['fault']}{_as(given)} is injected{_with(given)}",
    "undo": lambda given: f"The fault {given['fault']} is undone",
    "put-checkpoint": lambda _: "Somebody writes the checkpoint file",
}


def _as(given: _Arguments) -> str:
    return f", called {given['as']}," if "as" in given else ""


def _with(given: _Arguments) -> str:
    names = ("count", "resource", "socket", "pod")
    told = {**given.get("with", {}), **{name: given[name] for name in names if name in given}}
    return f" with {_short(told)}" if told else ""


def _of(given: _Arguments) -> str:
    return f" about {given['about']}" if given.get("about") else ""


def _how(given: _Arguments) -> str:
    return f" ({_short(dict(given))})" if given else ""


def _applied(given: _Arguments) -> str:
    names = [str(each.get("metadata", {}).get("name", "?")) for each in given.get("pods", ())]
    return ", ".join(names + (["those of a file"] if "file" in given else []))


def _waited(given: _Arguments) -> str:
    wanted = [f"pod {given['pod']} is {given.get('phase', 'Running')}"] if "pod" in given else []
    if "resource" in given:
        count = given.get("healthy", 1)
        devices = "a healthy device" if count == 1 else f"{count} healthy devices"
        wanted.append(f"{given['resource']} has a plugin and {devices}")
    return " and ".join(wanted)


def _over(given: _Arguments) -> str:
    text = f" as {_short(dict(given['over']))}" if given.get("over") else ""
    return text + (f" and gives up after {given['timeout']:g} s" if "timeout" in given else "")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def stories_text(stories: Iterable[Story]) -> str:
    """Several, with an empty line between them."""
    return "\n\n".join(map(story_text, stories))
