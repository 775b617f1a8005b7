"""A story as values: a node, plugins, and what happens one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.profiles import V1_36, Profile, with_gates
from kubelet_sim.scenario.plugins.command import CommandScript
from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.story.included_files import Folder
from kubelet_sim.scenario.story.order import Choices
from kubelet_sim.scenario.story.places import Place
from kubelet_sim.scenario.story.variables import Variables

NOTHING: Mapping[str, Any] = MappingProxyType({})
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
    options: Mapping[str, Any] = field(default=NOTHING, hash=False)
    """Topology manager policy options."""
    runs_containers: bool = False
    """Whether pods are run, or only what a story says happens."""
    status_rounds: bool = False
    """Whether the node status is computed every 10 s of its clock, or when a story says so."""
    plugin_watcher: bool = False
    """Whether there is one even if no step uses it."""
    release: Profile = V1_36
    gates: Mapping[str, bool] = field(default=NOTHING, hash=False)
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
    arguments: Mapping[str, Any] = field(default=NOTHING, hash=False)
    """Checked and read: `pod` of an `admit` is a `Pod`, `devices` of an `update` are devices."""
    expect: Any = field(default=NO_EXPECTATION, hash=False)
    choices: Choices | None = None
    """What the kubelet chose in it where it was free to choose, if that was recorded."""
    save: str | None = None
    """The variable that what comes is kept in."""
    late: Callable[[Variables], Step] | None = field(default=None, eq=False, repr=False)
    """Of a step that refers to what others save: makes it the one that is done. Its arguments are not read before."""
    place: Place | None = field(default=None, eq=False, repr=False)
    """Where it stands."""


@frozen
class Story:
    """A fresh node, plugins that do not run yet, and what happens one after the other."""

    name: str
    node: NodeSpec = NodeSpec()
    plugins: Mapping[str, Script | CommandScript] = field(default=NOTHING, hash=False)
    steps: tuple[Step, ...] = ()
    rules: tuple[str, ...] = ()
    source: str = ""
    """The file it was read from."""
    vars: Variables = field(default=NOTHING, hash=False)
    folder: Folder | None = None

    @property
    def has_plugin_watcher(self) -> bool:
        """Whether its node has one; otherwise a plugin that looks for `plugins_registry` calls Register."""
        return self.node.plugin_watcher or any(step.do == "watch-serve" for step in self.steps)

    @property
    def scripts(self) -> Mapping[str, Script]:
        """The plugins that follow a script."""
        return {name: each for name, each in self.plugins.items() if isinstance(each, Script)}

    @property
    def commands(self) -> Mapping[str, CommandScript]:
        """The plugins that are commands."""
        return {name: each for name, each in self.plugins.items() if isinstance(each, CommandScript)}
