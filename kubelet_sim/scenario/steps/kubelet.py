"""Steps with the kubelet as a process, and with the time that it lives in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.life import Comeback
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.resource_name import is_extended_resource_name
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.steps import plugins
from kubelet_sim.scenario.steps.phrases import short
from kubelet_sim.scenario.steps.step_kind import Arguments, Backstage, StepNodes, step
from kubelet_sim.scenario.story import values

Running = Iterable[tuple[str, str]]
_PAIR = values.list_of(values.text, minItems=2, maxItems=2).schema


@values.kind(_PAIR)
def _running(value: object) -> tuple[str, str]:
    match value:
        case [str(uid), str(container)]:
            return uid, container
    raise UsageError(f"expected [pod uid, container], not {value!r}")


_START = {"running": values.list_of(_running), "ready": values.truth}
_COMEBACK = {
    "socket_after": values.seconds,
    "runtime_after": values.seconds,
    "lose_checkpoint": values.truth,
    "lose_directory": values.truth,
    "same_inode": values.truth,
}


def _comeback(
    socket_after: float = 0.0,
    runtime_after: float = 0.0,
    *,
    lose_checkpoint: bool = False,
    lose_directory: bool = False,
    same_inode: bool = False,
) -> Comeback:
    return Comeback(
        socket_after_s=socket_after,
        keeps_checkpoint=not lose_checkpoint,
        keeps_directory=not lose_directory,
        same_inode=same_inode,
        runtime_after_s=runtime_after,
    )


def _comes_back(what: str) -> Callable[[Arguments], str]:
    def text(given: Arguments) -> str:
        running = [f"{container} of {pod}" for pod, container in given.get("running", ())]
        notes = [f"the runtime reports {', '.join(running)} running"] if running else []
        notes += [] if given.get("ready", True) else ["pod sources are not ready"]
        notes += [f"{key}: {value}" for key, value in given.items() if key not in {"running", "ready"}]
        return what + (f" ({'; '.join(notes)})" if notes else "")

    return text


def _how(what: str) -> Callable[[Arguments], str]:
    return lambda given: what + (f" ({short(dict(given))})" if given else "")


@step("The node finishes what it does")
async def pause(stage: Backstage) -> None:
    """The node finishes what it does."""
    await stage.plugins.caught_up()


@step(_comes_back("The kubelet restarts"), simple_takes=_START, whole_takes=_COMEBACK)
async def restart(stage: StoryStage, running: Running = (), *, ready: bool = True) -> None:
    """The kubelet restarts on the same directory.

    `running`: the containers that the runtime reports running; `ready`: whether pod sources are. A node that runs containers
    knows both, and takes what is lost meanwhile instead.
    """
    await kill.act(stage)
    if not await _boots(stage, running, ready=ready):
        raise TransportError("the kubelet could not start again")


@restart.on_whole_node
async def _restart_whole(stage: StoryStage, **how: Any) -> None:
    await stage.node.restart(_comeback(**how))
    await _is_another(stage)


@step(lambda given: f"Pod sources become {'ready' if given['value'] else 'not ready'}", {"value": values.truth})
async def ready(stage: StoryStage, *, value: bool) -> None:
    """Pod sources become ready or not."""
    await stage.node.kubelet.sources_ready(ready=value)


@step(
    lambda given: f"Plugin {given['plugin']} is killed" if "plugin" in given else "The kubelet dies",
    takes={"plugin": values.text},
)
async def kill(stage: StoryStage, plugin: ScriptedPlugin | None = None) -> None:
    """The kubelet dies; with `plugin` that plugin does (SIGKILL)."""
    if plugin is not None:
        await plugins.stop.act(stage, plugin)
        return
    if (kubelet := stage.progress.kubelet()) is not None:
        stage.active = tuple(kubelet.state.active_pods.values())
    await stage.node.kill()
    await stage.plugins.caught_up()


@kill.of_command
async def _kill_command(stage: StoryStage, plugin: str) -> None:
    await stage.commands.kill(plugin)


def _starts(given: Arguments) -> str:
    return f"Plugin {given['plugin']} is started" if "plugin" in given else _comes_back("The kubelet starts")(given)


@step(_starts, simple_takes=_START, whole_takes=_COMEBACK, takes={"plugin": values.text}, comes="`started`")
async def start(
    stage: StoryStage, running: Running = (), *, ready: bool = True, plugin: ScriptedPlugin | None = None
) -> Any:
    """The kubelet starts again; with `plugin` a command is started, and nobody waits until it is ready."""
    if plugin is not None:
        await plugin.serve()
        return {"started": True}
    return {"started": await _boots(stage, running, ready=ready)}


@start.on_whole_node
async def _start_whole(stage: StoryStage, plugin: ScriptedPlugin | None = None, **how: Any) -> Any:
    if plugin is not None:
        await plugin.serve()
        return {"started": True}
    try:
        await stage.node.start_kubelet(_comeback(**how))
    except TransportError:
        return {"started": False}
    await _is_another(stage)
    return {"started": True}


@start.of_command
async def _start_command(stage: StoryStage, plugin: str) -> Any:
    await stage.commands.start(plugin)
    return {"started": True}


async def _boots(stage: StoryStage, running: Running, *, ready: bool) -> bool:
    """Whether a kubelet could be started on a node where nothing runs by itself."""
    reported = frozenset((PodUID(uid), ContainerName(container)) for uid, container in running)
    try:
        kubelet = await stage.node.boot(reported, stage.active)
    except TransportError:
        return False
    stage.observed.incarnation += 1
    await kubelet.sources_ready(ready=ready)
    if stage.story.node.plugin_watcher:
        await stage.node.advance(0)  # what is in plugins_registry is registered at once
        await stage.plugins.caught_up()
    return True


async def _is_another(stage: StoryStage) -> None:
    """There is another kubelet process now; return when it has caught up."""
    stage.observed.incarnation += 1
    await stage.plugins.caught_up()


@step("The kubelet crashes", nodes=StepNodes.WHOLE)
async def crash(stage: StoryStage) -> None:
    """The kubelet dies and stays away."""
    await stage.node.crash()
    await stage.plugins.caught_up()


@step(_how("The kubelet starts"), takes=_COMEBACK, nodes=StepNodes.WHOLE)
async def start_kubelet(stage: StoryStage, **how: Any) -> None:
    """The kubelet starts after a crash."""
    await stage.node.start_kubelet(_comeback(**how))
    await _is_another(stage)


@step(_how("The machine is rebooted"), takes=_COMEBACK, nodes=StepNodes.WHOLE)
async def reboot(stage: StoryStage, **how: Any) -> None:
    """The machine restarts: every container has ended, plugins go on."""
    await stage.node.reboot(_comeback(**how))
    await _is_another(stage)


@step("{seconds:g} seconds pass", {"seconds": values.seconds})
async def advance(stage: StoryStage, seconds: float) -> None:
    """So much time passes, at once."""
    await stage.node.advance(seconds)
    await stage.plugins.caught_up()


@step("The node status is computed", comes="`capacity`, `allocatable`, `deleted`; `node`: the node object after it")
async def capacity(stage: StoryStage) -> Any:
    """The node status is computed."""
    done = await stage.node.status_round()
    return {
        "capacity": dict(done.answer.capacity),
        "allocatable": dict(done.answer.allocatable),
        "deleted": sorted(done.answer.deleted),
        "node": {"capacity": _extended(done.node.capacity), "allocatable": _extended(done.node.allocatable)},
    }


def _extended(amounts: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: amount.value for name, amount in amounts.items() if is_extended_resource_name(name)}
