"""The options that say what kind of kubelet and machine a node has: a configuration file, and flags that override it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.options import choice_option, file_option, stacked
from kubelet_sim.text_files import read_text

if TYPE_CHECKING:
    from kubelet_sim.core.topology.settings import NumaNodeInfo
    from kubelet_sim.manifests.kubelet_configuration import KubeletConfiguration
    from kubelet_sim.node.config import NodeConfig

LOCAL, REMOTE = 10, 20
"""Distances where a user gives none."""


@dataclass(frozen=True)
class ChosenKubelet:
    """What the options and a configuration file come to: the node to run."""

    node: NodeConfig
    static_pods: Path | None
    notes: tuple[str, ...]
    """What a user should know, such as fields of the file that have no effect."""


def _pairs(_context: click.Context, _parameter: click.Parameter, value: str) -> Mapping[str, str]:
    pairs = {}
    for part in filter(None, value.split(",")):
        name, separator, setting = part.partition("=")
        if not separator:
            raise click.BadParameter(f"{part!r} is no NAME=VALUE")
        pairs[name.strip()] = setting.strip()
    return pairs


def _gates(context: click.Context, parameter: click.Parameter, value: str) -> Mapping[str, bool]:
    truths = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
    gates = {}
    for name, setting in _pairs(context, parameter, value).items():
        if setting.lower() not in truths:
            raise click.BadParameter(f"invalid value of {name}={setting}: neither true nor false")
        gates[name] = truths[setting.lower()]
    return gates


kubelet_options = stacked(
    file_option("--config", text="A KubeletConfiguration, as a kubelet has it; flags override it.", exists=True),
    click.option(
        "--numa", type=click.IntRange(1, 64), default=1, show_default=True, help="How many NUMA nodes it has."
    ),
    file_option(
        "--numa-distances",
        text="Their distances, a matrix in YAML or JSON. Without it: 10 to itself, 20 to any other.",
        exists=True,
    ),
    choice_option(
        "--topology-manager-policy",
        of=("none", "best-effort", "restricted", "single-numa-node"),
        text="What becomes of a pod whose resources cannot be aligned.",
    ),
    choice_option(
        "--topology-manager-scope",
        of=("container", "pod"),
        text="What is aligned: each container, or the pod.",
    ),
    click.option(
        "--topology-manager-policy-options",
        callback=_pairs,
        default="",
        metavar="NAME=VALUE,…",
        help="prefer-closest-numa-nodes, max-allowable-numa-nodes.",
    ),
    choice_option(
        "--cpu-manager-policy",
        of=("none", "static"),
        text="static: guaranteed pods get cpus of their own, which are aligned together with devices.",
    ),
    click.option(
        "--plugin-watcher/--no-plugin-watcher",
        default=None,
        help="Whether plugins can register by a socket in plugins_registry. Default: yes, as with any kubelet.",
    ),
    click.option(
        "--http",
        metavar="HOST:PORT",
        help="Show metrics and healthz there. PORT alone is one of this machine; 0: any that is free.",
    ),
    click.option(
        "--feature-gates",
        callback=_gates,
        default="",
        metavar="NAME=true|false,…",
        help="Feature gates of the kubelet's release that concern devices, such as ResourceHealthStatus.",
    ),
)
"""Adds the options to a command, which gets them by the names of the parameters of `chosen`."""


def chosen(  # noqa: PLR0913 - one for each option
    node: NodeConfig,
    *,
    config: Path | None,
    numa: int,
    numa_distances: Path | None,
    topology_manager_policy: str | None,
    topology_manager_scope: str | None,
    topology_manager_policy_options: Mapping[str, str],
    cpu_manager_policy: str | None,
    feature_gates: Mapping[str, bool],
    plugin_watcher: bool | None,
    http: str | None,
) -> ChosenKubelet:
    """The node's configuration with what a user chose in it, by a file and by flags.

    Gates that have nothing to do with devices may stand in the file, as they do on a node; the flag has to name known ones.

    Raises:
        UsageError: the file, the distances, the address or the settings cannot be; a setting is refused in the kubelet's words.
    """
    from attrs import evolve

    from kubelet_sim.core.topology.settings import TopologySettings, merger
    from kubelet_sim.manifests.kubelet_configuration import KubeletConfiguration
    from kubelet_sim.node.services.http_address import HttpAddress
    from kubelet_sim.profiles.gates import known_gates, with_gates, without_effect

    file = KubeletConfiguration() if config is None else _read(config)
    topology = TopologySettings(
        topology_manager_policy or file.topology_manager_policy or "none",
        topology_manager_scope or file.topology_manager_scope or "container",
        topology_manager_policy_options or file.topology_manager_policy_options,
    )
    nodes = _numa(numa, numa_distances)
    merger(topology, nodes)
    has_watcher = node.has_plugin_watcher if plugin_watcher is None else plugin_watcher
    address = None if http is None else str(HttpAddress.parse(http))
    has_cpus = (cpu_manager_policy or file.cpu_manager_policy) == "static"
    return ChosenKubelet(
        evolve(
            node,
            profile=with_gates(node.profile, {**known_gates(file.feature_gates), **feature_gates}),
            topology=topology,
            numa=nodes,
            exclusive_cpus=_cpus(node, len(nodes)) if has_cpus else None,
            has_plugin_watcher=has_watcher,
            http_address=address,
        ),
        Path(file.static_pod_path) if file.static_pod_path else None,
        (
            *(f"{config}: {name} has no effect here" for name in file.without_effect),
            *(f"--feature-gates: {name} has no effect here" for name in without_effect(feature_gates)),
        ),
    )


def _read(path: Path) -> KubeletConfiguration:
    from kubelet_sim.manifests.kubelet_configuration import read_kubelet_configuration

    return read_kubelet_configuration(read_text(path), str(path))


def _numa(numa: int, numa_distances: Path | None) -> tuple[NumaNodeInfo, ...]:
    from kubelet_sim.core.topology.settings import NumaNodeInfo
    from kubelet_sim.errors import UsageError
    from kubelet_sim.manifests.numa_distances import read_numa_distances

    nodes = range(numa)
    if numa_distances is None:
        return tuple(NumaNodeInfo(n, tuple(LOCAL if n == m else REMOTE for m in nodes)) for n in nodes)
    rows = read_numa_distances(read_text(numa_distances), str(numa_distances))
    if len(rows) != numa:
        problem = f"{numa_distances}: distances of {len(rows)} NUMA nodes"
        raise UsageError(f"{problem}, but the machine has {numa}: use --numa {len(rows)}")
    return tuple(NumaNodeInfo(node, row) for node, row in enumerate(rows))


def _cpus(node: NodeConfig, count: int) -> Mapping[int, int]:
    """The machine's cpus, parted evenly; one of node 0 is kept for the system, as a static CPU manager demands."""
    each = node.machine["cpu"].value // count
    return {number: each - (number == 0) for number in range(count)}
