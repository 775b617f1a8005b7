"""The public surface: what `kubelet_sim` promises, and that looking at it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kubelet_sim

PROMISED = {
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
}


def test_every_promised_name_is_there() -> None:
    """A name that is promised can be had; a name more or less is a decision, made here, too."""
    assert set(kubelet_sim.__all__) == PROMISED
    assert all(getattr(kubelet_sim, name) is not None for name in PROMISED)


def test_the_import_is_light() -> None:
    """`import kubelet_sim` brings neither gRPC nor what only the command line needs."""
    code = (
        "import sys, kubelet_sim;"
        "print(sorted({'aiohttp', 'grpc', 'google.protobuf', 'click', 'psutil', 'rich', 'yaml', 'asyncio'} & set(sys.modules)))"
    )
    root = Path(kubelet_sim.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
