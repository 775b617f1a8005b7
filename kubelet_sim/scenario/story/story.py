"""A story as values: a node, plugins, and what happens one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.scenario.plugins.command import CommandScript
from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.steps.step_kind import StepKind
from kubelet_sim.scenario.story.included_files import Folder
from kubelet_sim.scenario.story.node_spec import NodeSpec
from kubelet_sim.scenario.story.order import Choices
from kubelet_sim.scenario.story.places import Place
from kubelet_sim.scenario.story.variables import Variables

NOTHING: Mapping[str, Any] = MappingProxyType({})
NO_EXPECTATION = object()
"""`Step.expect` of a step that says nothing of what should come."""


@frozen
class Step:
    """One step of a story: what is done, and what should come of it."""

    number: int
    """Counts from 1."""
    kind: StepKind
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

    @property
    def do(self) -> str:
        """The word that it is called by."""
        return self.kind.name


@frozen
class Story:
    """A fresh node, plugins that do not run yet, and what happens one after the other."""

    name: str
    node: NodeSpec = field(factory=NodeSpec)
    plugins: Mapping[str, Script | CommandScript] = field(default=NOTHING, hash=False)
    steps: tuple[Step, ...] = ()
    rules: tuple[str, ...] = ()
    source: str = ""
    """The file it was read from."""
    vars: Variables = field(default=NOTHING, hash=False)
    folder: Folder | None = None

    @property
    def scripts(self) -> Mapping[str, Script]:
        """The plugins of the story that follow a script, by name."""
        return {name: each for name, each in self.plugins.items() if isinstance(each, Script)}

    @property
    def commands(self) -> Mapping[str, CommandScript]:
        """The plugins of the story that are commands, by name."""
        return {name: each for name, each in self.plugins.items() if isinstance(each, CommandScript)}

    @property
    def lives_by_itself(self) -> bool:
        """Whether things happen in it that no step waits for: plugins that are commands, or pods that are run."""
        return bool(self.commands) or self.node.runs_containers
