"""From what device plugins grant and a pod says to the container as a runtime gets it: CRI, OCI, CDI.

Pure: the host's files are looked at through the port `HostFiles`. `builder` puts the container together, `cri` and `oci`
write it in the two formats of the ecosystem, `explanation` says where everything came from.
"""

from kubelet_sim.container.builder import KubeletContext, container_config
from kubelet_sim.container.cdi.registry import DEFAULT_DIRECTORIES, Registry, read_registry
from kubelet_sim.container.config import ContainerConfig
from kubelet_sim.container.cri import cri
from kubelet_sim.container.diagnosis import Remark, Severity, diagnose
from kubelet_sim.container.explanation import Explanation, explain
from kubelet_sim.container.host import FileKind, HostFile, HostFiles
from kubelet_sim.container.oci import RuntimeOptions, oci

__all__ = [
    "DEFAULT_DIRECTORIES",
    "ContainerConfig",
    "Explanation",
    "FileKind",
    "HostFile",
    "HostFiles",
    "KubeletContext",
    "Registry",
    "Remark",
    "RuntimeOptions",
    "Severity",
    "container_config",
    "cri",
    "diagnose",
    "explain",
    "oci",
    "read_registry",
]
