"""What one step of a story is: how it is read and checked, what it does, and how it is told.

A step is a function with `step` around it, which says the rest: the docstring is what happens, as the reference page tells it. What
it does otherwise on a node that runs containers, or with a plugin that is a command, is said by functions with its
`on_whole_node` or `of_command` around them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from attrs import define, field

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.play.scripted_plugins import ScriptedPlugins
from kubelet_sim.scenario.plugins.command import CommandScript
from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.included_files import Folder
from kubelet_sim.scenario.story.node_spec import NodeSpec
from kubelet_sim.scenario.story.values import Schema, ValueKind

Keys = Mapping[str, ValueKind[Any]]
Arguments = Mapping[str, Any]
Action = Callable[..., Awaitable[Any]]
Sentence = str | Callable[[Arguments], str]
"""How a step is told: a text in which `{key}` stands for an argument, or what makes one of the arguments."""
TELLS_NOTHING = "`{}`"
"""What comes of a step that only does something."""
_ALWAYS: Mapping[str, Schema] = {
    "expect": {"$ref": "#/$defs/expect"},
    "save": values.text.schema,
    "choices": values.mapping.schema,
}


class StepNodes(Enum):
    """On which nodes there is a step; what the reference page says of it."""

    ANY = ""
    SIMPLE = "not on a node that runs containers"
    """On those where nothing runs by itself."""
    WHOLE = "needs `runs_containers: true`"
    """On those that run containers."""


class ReadSoFar(Protocol):
    """What is known of a story when one of its steps is read."""

    node: NodeSpec
    folder: Folder
    plugins: dict[str, Script | CommandScript]
    injected: list[str]
    """The names of the faults of the steps before."""
    late: list[str]
    """Which steps before are not read yet, as they refer to what others save."""


class Backstage(Protocol):
    """What those steps need that are the same whatever kubelet is played against."""

    @property
    def plugins(self) -> ScriptedPlugins:
        """The plugins that follow a script."""

    @property
    def directory(self) -> Path:
        """The directory in which plugins and the kubelet meet."""


@define(eq=False, kw_only=True)
class StepKind:
    """One step that stories can have."""

    act: Action = field(repr=False)
    """Does it: takes the stage, and the arguments by their keys."""
    told: Sentence
    needs: Keys = field(factory=dict)
    takes: Keys = field(factory=dict)
    simple_takes: Keys = field(factory=dict)
    """What it may have on a node where nothing runs by itself."""
    whole_takes: Keys = field(factory=dict)
    """What it may have on a node that runs containers."""
    comes: str = TELLS_NOTHING
    """What comes of it, in a few words."""
    is_look: bool = False
    """Whether it changes nothing, so that it can be done again until it is right."""
    nodes: StepNodes = StepNodes.ANY
    instead: str = ""
    """What does it on a node that runs containers, if there is no such step on one."""
    check: Callable[[ReadSoFar, dict[str, Any]], None] = lambda _so_far, _arguments: None
    """Looks for arguments that do not fit the story, and may replace some. Raises `UsageError`."""
    needs_plugin_watcher: bool = False
    is_said: bool = False
    """Whether a program wrote what comes, with times that are those of its clock."""
    is_for_commands: bool = False
    """Whether only a plugin that is a command can have it done."""
    act_on_whole_node: Action | None = None
    act_of_command: Action | None = None

    @property
    def name(self) -> str:
        """The word after `do` that asks for such a step."""
        return self.act.__name__.strip("_").replace("_", "-")

    @property
    def about(self) -> str:
        """What happens, in a sentence or two."""
        return " ".join((inspect.getdoc(self.act) or "").split())

    @property
    def keys(self) -> Keys:
        """All that it may have, what it needs first."""
        return {**self.needs, **self.simple_takes, **self.whole_takes, **self.takes}

    @property
    def tells(self) -> bool:
        """Whether anything comes of such a step that could be expected."""
        return self.comes != TELLS_NOTHING

    def on_whole_node(self, act: Action) -> Action:
        """Says what is done on a node that runs containers."""
        self.act_on_whole_node = act
        return act

    def of_command(self, act: Action) -> Action:
        """Says what is done with a plugin that is a command; it is given by its name."""
        self.act_of_command = act
        return act

    def check_node(self, arguments: Arguments, *, runs_containers: bool) -> None:
        """Raises `UsageError` for a step, or one of its keys, that there is not on such a node."""
        if self.nodes is StepNodes.WHOLE and not runs_containers:
            raise UsageError("that needs a node with runs_containers: true")
        if self.nodes is StepNodes.SIMPLE and runs_containers:
            raise UsageError(f"the node runs containers itself (runs_containers: true); {self.instead}")
        why = "a node that runs containers knows that" if runs_containers else "that needs runs_containers: true"
        for key in sorted(arguments.keys() & (self.simple_takes if runs_containers else self.whole_takes).keys()):
            raise UsageError(f"{key}: {why}")

    def sentence(self, arguments: Arguments) -> str:
        """What it does with these arguments, for people."""
        return self.told.format_map(arguments) if isinstance(self.told, str) else self.told(arguments)

    def schema(self) -> Schema:
        """The JSON Schema of such a step."""
        keys = {key: values.or_variable(kind.schema) for key, kind in self.keys.items()}
        return values.closed({"do": {"const": self.name}, **keys, **_ALWAYS}, ("do", *self.needs), self.about)


def step(told: Sentence, needs: Keys | None = None, **more: Any) -> Callable[[Action], StepKind]:
    """Makes a step of the function that does it.

    Args:
        told: how it is told.
        needs: the keys that it must have.
        more: the further fields of its `StepKind`.
    """
    return lambda act: StepKind(act=act, told=told, needs=needs or {}, **more)


def command_step(told: Sentence, needs: Keys, **more: Any) -> Callable[[Action], StepKind]:
    """Makes a step of the function that does it with a plugin that is a command, as only one can have it done."""
    return lambda act: StepKind(act=act, told=told, needs=needs, act_of_command=act, is_for_commands=True, **more)
