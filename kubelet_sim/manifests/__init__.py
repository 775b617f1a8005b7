"""Reads manifests as people have them: pods, kubelet configurations and NUMA distances, from YAML or JSON.

What a pod is, is `kubelet_sim.model.pod`; what a kubelet makes of one is the core's. Files are opened by the callers.
"""

from __future__ import annotations

from kubelet_sim.manifests.errors import ManifestError
from kubelet_sim.manifests.pods import pod_from_mapping, read_pods

__all__ = ["ManifestError", "pod_from_mapping", "read_pods"]
