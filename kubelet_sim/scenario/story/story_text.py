"""A story in words: one line for what each step does, and what is expected of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubelet_sim.manifests.errors import printable
from kubelet_sim.profiles import V1_36
from kubelet_sim.scenario.plugins.command import CommandScript
from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.steps.phrases import devices_text, short
from kubelet_sim.scenario.story.story import NO_EXPECTATION, Step, Story


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
    options = f", {short(dict(node.options))}" if node.options else ""
    release = "" if node.release == V1_36 else f", kubelet {node.release.version}"
    gates = f" with {short(dict(node.gates))}" if node.gates else ""
    return f"A fresh node with {nodes}{policy}{options}{release}{gates}."


def _plugin(name: str, script: Script | CommandScript) -> Iterator[str]:
    if isinstance(script, CommandScript):
        serves = f", serves {' and '.join(script.ready.registered)}" if script.ready.registered else ""
        yield f"Plugin {name} is the command {short(list(script.command))}{serves}."
        return
    devices = "lists nothing" if script.devices is None else f"has {devices_text(script.devices)}"
    yield f"Plugin {name} serves {script.resource} on {script.socket} and {devices}."
    known = {"resource", "socket", "devices"}
    for key in script.source:
        if key not in known:
            yield f"  its {key}: {short(script.source[key])}"


def _step(step: Step) -> Iterator[str]:
    text = f"{step.do} {short(dict(step.arguments))}" if step.late is not None else step.kind.sentence(step.arguments)
    text += f", kept as {step.save}" if step.save is not None else ""
    expected = _expected(step)
    yield text + (f": {expected}" if expected else ".")


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
    return "" if expect == {} and not step.kind.tells else f"expected {short(expect)}"


def stories_text(stories: Iterable[Story]) -> str:
    """Several, with an empty line between them."""
    return "\n\n".join(map(story_text, stories))
