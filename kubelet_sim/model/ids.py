"""Names of things. Each is a plain string or number on the wire; here it says whose it is."""

from __future__ import annotations

from typing import NewType

ResourceName = NewType("ResourceName", str)
"""An extended resource name, `vendor-domain/name`."""
DeviceID = NewType("DeviceID", str)
"""An id as the plugin gave it: opaque, possibly empty, with any characters. Rules: DM-55"""
PodUID = NewType("PodUID", str)
ContainerName = NewType("ContainerName", str)
ClientID = NewType("ClientID", int)
"""One connection to a plugin, made by one registration; never reused within a kubelet process."""
NumaNode = NewType("NumaNode", int)

NO_NUMA_NODE = NumaNode(-1)
"""Where a device without topology is recorded. Rules: DM-100"""


def split_pod_name(name: str, namespace: str = "default") -> tuple[str, str]:
    """Namespace and name of a pod that is named as `NAME` or `NAMESPACE/NAME`."""
    before, slash, after = name.partition("/")
    return (before, after) if slash else (namespace, name)
