"""The first line of a transcript file: which kind of node it was."""

from __future__ import annotations

from collections.abc import Mapping

import cattrs
from attrs import field, frozen

from kubelet_sim import __version__
from kubelet_sim.core.cpus.cpu_manager import CpuAllocations
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.topology.settings import NO_ALIGNMENT, NumaNodeInfo, TopologySettings
from kubelet_sim.errors import UsageError
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.profiles import V1_36, Profile
from kubelet_sim.transcript import Json

SCHEMA_VERSION = 1
"""Rises when a reader of an older file could misread a newer one."""


@frozen
class Header:
    """What a core needs to be the same again."""

    transcript: int = SCHEMA_VERSION
    kubelet_sim: str = __version__
    profile: Profile = V1_36
    machine: Mapping[str, str] = field(factory=dict, hash=False)
    numa: tuple[NumaNodeInfo, ...] = (NumaNodeInfo(0),)
    topology: TopologySettings = NO_ALIGNMENT
    exclusive_cpus: Mapping[int, int] | None = field(default=None, hash=False)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The resources of the recorded machine, as quantities."""
        return {name: Quantity.parse(text) for name, text in self.machine.items()}

    @property
    def alignment(self) -> Alignment:
        """Of a node that starts: nobody has a cpu."""
        cpus = None if self.exclusive_cpus is None else CpuAllocations(dict(self.exclusive_cpus))
        return Alignment(self.topology, self.numa, cpus)


def header_of(config: NodeConfig) -> Header:
    """The header of a node's transcript."""
    return Header(
        profile=config.profile,
        machine={name: str(quantity) for name, quantity in config.machine.items()},
        numa=config.numa,
        topology=config.topology,
        exclusive_cpus=config.exclusive_cpus,
    )


def header_to_json(header: Header) -> Json:
    """As it stands in the file; `transcript` is its first member."""
    return cattrs.unstructure(header)


def header_from_json(value: Json) -> Header:
    """Raises `UsageError` for anything that is no header, or one of a newer schema."""
    if not isinstance(value, dict) or not isinstance(version := value.get("transcript"), int):
        raise UsageError("the first line of a transcript says which version of it this is; this is none")
    if version > SCHEMA_VERSION:
        raise UsageError(f"the transcript is of version {version}; this kubelet-sim reads up to {SCHEMA_VERSION}")
    try:
        return cattrs.structure(value, Header)
    except Exception as error:  # cattrs groups whatever went wrong
        raise UsageError(f"the first line is no header of a transcript: {error}") from error
