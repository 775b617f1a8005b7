"""A kubelet's device manager without a cluster, for people who write device plugins.

What this package re-exports is promised to stay; everything below it may move. Importing it loads neither click, rich
nor grpc: a name brings its room along when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes longer to load than all that is here
if TYPE_CHECKING:
    from kubelet_sim.container import container_config, cri, explain, oci
    from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
    from kubelet_sim.errors import KubeletSimError, PluginFault, PreparationFailed, TransportError, UsageError
    from kubelet_sim.manifests import ManifestError, pod_from_mapping, read_pods
    from kubelet_sim.model.admission import Admitted, Rejected
    from kubelet_sim.model.response import ContainerSpec, DeviceNode, Mount
    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.node.clock import ManualClock, RealClock
    from kubelet_sim.node.config import NodeConfig, SocketAppears
    from kubelet_sim.node.node import Node
    from kubelet_sim.node.sync import SyncNode

__version__ = "0.1.0"

_HOMES = {
    "Admitted": "model.admission",
    "ContainerSpec": "model.response",
    "DeviceNode": "model.response",
    "KubeletSimError": "errors",
    "ManifestError": "manifests",
    "ManualClock": "node.clock",
    "Mount": "model.response",
    "Node": "node.node",
    "NodeConfig": "node.config",
    "NodeSnapshot": "model.views",
    "NumaNodeInfo": "core.topology.settings",
    "PluginFault": "errors",
    "PreparationFailed": "errors",
    "RealClock": "node.clock",
    "Rejected": "model.admission",
    "SocketAppears": "node.config",
    "SyncNode": "node.sync",
    "TopologySettings": "core.topology.settings",
    "TransportError": "errors",
    "UsageError": "errors",
    "container_config": "container",
    "cri": "container",
    "explain": "container",
    "oci": "container",
    "pod_from_mapping": "manifests",
    "read_pods": "manifests",
}

__all__ = [
    "Admitted",
    "ContainerSpec",
    "DeviceNode",
    "KubeletSimError",
    "ManifestError",
    "ManualClock",
    "Mount",
    "Node",
    "NodeConfig",
    "NodeSnapshot",
    "NumaNodeInfo",
    "PluginFault",
    "PreparationFailed",
    "RealClock",
    "Rejected",
    "SocketAppears",
    "SyncNode",
    "TopologySettings",
    "TransportError",
    "UsageError",
    "__version__",
    "container_config",
    "cri",
    "explain",
    "oci",
    "pod_from_mapping",
    "read_pods",
]


def __getattr__(name: str) -> object:
    """Bring a promised name along with its room."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
