"""Steps in which something goes wrong, or is mended again."""

from __future__ import annotations

from typing import Any

from kubelet_sim.errors import TransportError, UsageError, there_are
from kubelet_sim.model.faults import Fault
from kubelet_sim.node.faults.book import check as check_fault
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.steps.phrases import short
from kubelet_sim.scenario.steps.step_kind import Arguments, ReadSoFar, step
from kubelet_sim.scenario.story import values

_FILTERS = {"count": values.integer, "resource": values.text, "socket": values.text, "pod": values.text}


def _fault(arguments: Arguments) -> Fault:
    filters = {key: arguments[key] for key in _FILTERS if key in arguments}
    return Fault(arguments["fault"], arguments.get("with", {}), **filters)


def _check_fault(so_far: ReadSoFar, arguments: dict[str, Any]) -> None:
    check_fault(_fault(arguments))
    so_far.injected.append(arguments.get("as", arguments["fault"]))


def _injected(given: Arguments) -> str:
    name = f", called {given['as']}," if "as" in given else ""
    told = {**given.get("with", {}), **{key: given[key] for key in _FILTERS if key in given}}
    return f"The fault {given['fault']}{name} is injected{f' with {short(told)}' if told else ''}"


@step(
    _injected,
    {"fault": values.text},
    takes={"with": values.mapping, "as": values.text, **_FILTERS},
    comes="`did`",
    check=_check_fault,
)
async def fault(stage: StoryStage, **arguments: Any) -> Any:
    """Something goes wrong: a [fault](faults.md) by its name, `with` arguments, and `as` a name of its own."""
    name = arguments.get("as", arguments["fault"])
    if name in stage.faults and not stage.faults[name].is_over:
        raise TransportError(f"there is a fault {name} already; give this one another name (as)")
    stage.faults[name] = active = await stage.node.inject(_fault(arguments))
    await stage.plugins.caught_up()
    return {"did": active.did}


def _check_undo(so_far: ReadSoFar, arguments: dict[str, Any]) -> None:
    if arguments["fault"] not in so_far.injected and fault.name not in so_far.late:
        known = there_are(so_far.injected)
        raise UsageError(f"no step before injects a fault {arguments['fault']!r}; {known}")


@step("The fault {fault} is undone", {"fault": values.text}, comes="`applied`", check=_check_undo)
async def undo(stage: StoryStage, fault: str) -> Any:
    """A fault is undone."""
    active = stage.faults.get(fault)
    if active is None:
        raise TransportError(f"no step before injected a fault {fault}")
    await active.undo()
    await stage.plugins.caught_up()
    return {"applied": active.applied}
