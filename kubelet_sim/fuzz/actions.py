"""What may happen to a plugin on a node, each with the steps of a story that do it and look at what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

Step = dict[str, Any]
PLUGIN = "mine"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@frozen
class Action:
    """One thing that happens to a plugin or its node in a plan."""

    kind: str
    given: Mapping[str, Any] = field(default=_NOTHING, hash=False)

    def __str__(self) -> str:
        shown = ", ".join(f"{key} {value}" for key, value in self.given.items())
        return f"{self.kind} ({shown})" if shown else self.kind


class StoryUnderWay:
    """A story while it is being told: its steps so far, and what is known of its node then.

    Args:
        healthy: how many healthy devices each resource has, as the plugin listed them at first.
        patience_s: how long the plugin may take to be back, and a pod to run.
    """

    def __init__(self, healthy: Mapping[str, int], patience_s: float) -> None:
        self.steps: list[Step] = []
        self._healthy = healthy
        self._patience = f"{patience_s:g}s"
        self._used = dict.fromkeys(healthy, 0)
        self._pods: dict[str, tuple[str, int]] = {}
        self._count = 0

    def tell(self, action: Action) -> None:
        """Add the steps of an action; of one that cannot be (a pod ends, and there is none), nothing."""
        before = len(self.steps)
        _ACTIONS[action.kind](self, **action.given)
        if len(self.steps) > before:
            self.look_for_problems()

    def do(self, verb: str, **keys: Any) -> None:
        """Add one step to the story."""
        self.steps.append({"do": verb, **keys})

    def register(self) -> None:
        """The plugin starts, and is ready in time."""
        self.do("register", plugin=PLUGIN)
        self.look_for_devices()

    def look_for_devices(self) -> None:
        """Every resource has its plugin and all of its devices, soon."""
        for resource, count in self._healthy.items():
            expected = {"within": self._patience, "contains": {"endpoint": "live", "healthy": count}}
            self.do("resources", resource=resource, expect=expected)

    def look_for_problems(self) -> None:
        """The plugin has done nothing that no good plugin does."""
        self.do("sound", plugin=PLUGIN, expect={"problems": []})

    # --- what happens

    def pod(self, count: int = 1, which: int = 0) -> None:
        """A pod comes for which there are devices enough."""
        resource = list(self._healthy)[which % len(self._healthy)]
        count = min(count, self._healthy[resource] - self._used[resource])
        if count <= 0:
            return
        self._count += 1
        name = f"pod-{self._count}"
        self._used[resource] += count
        self._pods[name] = (resource, count)
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "resources": {"limits": {resource: count}}}],
            },
        }
        self.do("admit", pod=manifest, expect={"admit": True, "reason": "", "message": ""})

    def delete(self, which: int = 0) -> None:
        """Adds the deletion of a pod, if there is one."""
        if self._pods:
            name = list(self._pods)[which % len(self._pods)]
            self._free(name)
            self.do("delete-pod", pod=name)

    def end(self, which: int = 0, code: int = 0) -> None:
        """The container of a pod ends."""
        if self._pods:
            name = list(self._pods)[which % len(self._pods)]
            self._free(name)
            self.do("wait", pod=name, within=self._patience)
            self.do("exit", pod=name, code=code)
            phase = "Failed" if code else "Succeeded"
            self.do("pods", pod=name, expect={"within": "1m", "clock": "node", "contains": {"phase": phase}})

    def _free(self, name: str) -> None:
        resource, count = self._pods.pop(name)
        self._used[resource] -= count

    def restart(self, **how: Any) -> None:
        """Adds a restart of the kubelet, after which the devices have to be back."""
        self.do("restart", **how)
        if "socket_after" in how:
            self.do("advance", seconds=how["socket_after"])
        self.look_for_devices()

    def reboot(self) -> None:
        """The machine does, and the plugin with it."""
        self._pods.clear()  # what becomes of them is not the plugin's business; their devices count as used
        self.do("kill", plugin=PLUGIN)
        self.do("reboot")
        self.register()

    def plugin_restart(self, kill: bool = False) -> None:  # noqa: FBT001, FBT002 - drawn by name
        """The plugin ends, by SIGTERM or SIGKILL, and is started again."""
        self.do("kill" if kill else "stop", plugin=PLUGIN)
        self.register()

    def pause(self) -> None:
        """The plugin is stopped and goes on."""
        self.do("signal", plugin=PLUGIN, signal="SIGSTOP")
        self.do("signal", plugin=PLUGIN, signal="SIGCONT")
        self.look_for_devices()

    def time(self, seconds: float = 60.0) -> None:
        """Adds time that passes on the node, after which the devices have to be there."""
        self.do("advance", seconds=seconds)
        self.look_for_devices()

    def once(self, fault: str, **given: Any) -> None:
        """A fault that happens once, after which the plugin has to be well again."""
        with_ = {"with": given} if given else {}
        self.do("fault", fault=fault, **with_)
        self.look_for_devices()

    def refused(self, reason: str = "dial") -> None:
        """The next registration is refused, and a restart makes the plugin register."""
        self.do("fault", fault="refuse-register", count=1, **{"with": {"reason": reason}})
        self.do("restart")
        self.look_for_devices()


_ACTIONS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "pod": StoryUnderWay.pod,
        "delete": StoryUnderWay.delete,
        "end": StoryUnderWay.end,
        "restart": StoryUnderWay.restart,
        "reboot": StoryUnderWay.reboot,
        "plugin-restart": StoryUnderWay.plugin_restart,
        "pause": StoryUnderWay.pause,
        "time": StoryUnderWay.time,
        "fault": StoryUnderWay.once,
        "refused": StoryUnderWay.refused,
    }
)
KINDS = tuple(_ACTIONS)
RESTARTS: tuple[Mapping[str, Any], ...] = (
    {},
    {"same_inode": True},
    {"socket_after": 3},
    {"lose_checkpoint": True},
    {"lose_directory": True},
)
ONCE: tuple[Mapping[str, Any], ...] = (
    {"fault": "cut-stream"},
    {"fault": "close-connection"},
    {"fault": "delete-plugin-socket"},
    {"fault": "restart-twice"},
    {"fault": "allocate"},
    {"fault": "allocate-at-once"},
    {"fault": "allocate-unknown"},
    {"fault": "allocate-empty"},
)
"""Faults after which a plugin has to be well again without anybody's help."""
SIMPLEST: tuple[Action, ...] = (
    Action("pod"),
    Action("pod", {"count": 2}),
    *(Action("restart", how) for how in RESTARTS),
    Action("plugin-restart"),
    Action("plugin-restart", {"kill": True}),
    *(Action("fault", how) for how in ONCE),
    Action("refused"),
    Action("reboot"),
    Action("pause"),
    Action("time"),
)
"""Each thing in its simplest form: these are tried first."""
