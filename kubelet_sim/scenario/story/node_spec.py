"""The node of a story, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import Factory, field, frozen

from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.errors import UsageError
from kubelet_sim.model.node import DEFAULT_NODE_NAME, checked_node_name
from kubelet_sim.profiles import RELEASES, V1_36, Profile, profile_of, with_gates
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.records import read_by, record

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_SCOPES = ("container", "pod")
MOST_NUMA_NODES = 64
"""As many as a mask of the kubelet has bits."""


@values.kind(values.integer.schema)
def _numa_id(value: object) -> int:
    if not 0 <= (found := values.integer(value)) < MOST_NUMA_NODES:
        raise UsageError(f"expected the number of a NUMA node from 0 to {MOST_NUMA_NODES - 1}, not {found}")
    return found


@values.kind(values.list_of(_numa_id).schema)
def _numa_ids(value: object) -> tuple[int, ...]:
    found = values.list_of(_numa_id)(value)
    if twice := [each for at, each in enumerate(found) if each in found[:at]]:
        raise UsageError(f"the NUMA node {twice[0]} is there twice")
    return found


@values.kind(values.text.schema)
def _node_name(source: object) -> str:
    return checked_node_name(values.text(source))


@values.kind({"type": "string", "examples": list(RELEASES)})
def _release(source: object) -> Profile:
    if isinstance(source, float):
        raise UsageError(f"expected text, not {source!r}: put the version in quotes")
    return profile_of(values.text(source))


@frozen
class NodeSpec:
    """The choices that a story makes for its node."""

    numa: tuple[int, ...] = field(default=(0,), metadata=read_by(_numa_ids))
    policy: str = field(default="none", metadata=read_by(values.one_of(_POLICIES)))
    scope: str = field(default="container", metadata=read_by(values.one_of(_SCOPES)))
    options: Mapping[str, Any] = field(default=_NOTHING, hash=False, metadata=read_by(values.mapping))
    """Topology manager policy options."""
    runs_containers: bool = field(default=False, metadata=read_by(values.truth))
    """Whether pods are run, or only what a story says happens."""
    status_rounds: bool = field(
        default=Factory(lambda node: node.runs_containers, takes_self=True), metadata=read_by(values.truth)
    )
    """Whether the node status is computed every 10 s of its clock, or when a story says so."""
    plugin_watcher: bool = field(default=False, metadata=read_by(values.truth))
    """Whether it has one; otherwise a plugin that looks for `plugins_registry` calls Register."""
    name: str = field(default=DEFAULT_NODE_NAME, metadata=read_by(_node_name))
    release: Profile = field(default=V1_36, metadata=read_by(_release, "version"))
    gates: Mapping[str, bool] = field(default=_NOTHING, hash=False, metadata=read_by(values.mapping_of(values.truth)))
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
        """The settings of the topology manager on that node."""
        return TopologySettings(self.policy, self.scope, {name: str(value) for name, value in self.options.items()})


_NODE = record(NodeSpec, "node")


@values.kind(_NODE.schema)
def read_node(source: object) -> NodeSpec:
    """The node that a mapping describes. Raises `UsageError` for gates that its release does not have, too."""
    node = _NODE(source)
    node.profile  # noqa: B018 - raises, if its gates cannot be so
    return node
