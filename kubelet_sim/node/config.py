"""How a node is to be: everything a user can choose before it starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from attrs import field, frozen

from kubelet_sim.core.topology.settings import NO_ALIGNMENT, NumaNodeInfo, TopologySettings
from kubelet_sim.model.node import DEFAULT_MACHINE, DEFAULT_NODE_NAME
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.profiles import V1_36, Profile


class SocketAppears(Enum):
    """How the file `kubelet.sock` comes into being."""

    RENAME = "rename"
    """A listening socket is renamed into place: a plugin that dials at once is answered."""
    BIND = "bind"
    """As the kubelet does it: the name is there a moment before anybody listens."""


@frozen
class NodeConfig:
    """The choices. Nothing here is checked before the node starts."""

    root: Path
    profile: Profile = V1_36
    machine: Mapping[str, Quantity] = field(default=DEFAULT_MACHINE, hash=False)
    numa: tuple[NumaNodeInfo, ...] = (NumaNodeInfo(0),)
    """The machine's NUMA nodes, in its own order. They matter with a topology policy."""
    topology: TopologySettings = NO_ALIGNMENT
    """The topology manager's policy, scope and options."""
    exclusive_cpus: Mapping[int, int] | None = field(default=None, hash=False)
    """How many cpus each NUMA node has for a static CPU manager; `None`: there is none."""
    socket_appears: SocketAppears = SocketAppears.RENAME
    runs_containers: bool = True
    """Whether admitted pods are run by the simulated runtime; otherwise containers are only prepared, when asked."""
    has_status_rounds: bool = True
    """Whether the node status is computed every 10 s of the clock; otherwise only when asked."""
    has_pod_resources: bool = True
    """Whether the kubelet serves the pod resources API. Rules: PR-1"""
    has_plugin_watcher: bool = sys.platform.startswith("linux")
    """Whether plugins can register by a socket in `plugins_registry`, which is there only then. Needs Linux. Rules: DM-146"""
    has_control_socket: bool = False
    """Whether the command line can reach the node."""
    http_address: str | None = None
    """Where metrics and health are shown, `HOST:PORT`; port 0: any that is free. `None`: nowhere."""
    seed: int = 0
    """For the stretch of status periods. Rules: DM-65"""
    node_name: str = DEFAULT_NODE_NAME
    """What the node is called in its node object, in events, in `spec.nodeName`, and in names of static pods."""
