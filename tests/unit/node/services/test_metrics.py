from __future__ import annotations

import re
from pathlib import Path

from kubelet_sim.core.state import State
from kubelet_sim.core.topology.settings import Merger, Policy, Scope
from kubelet_sim.node.kubelet_process.observations import Observations
from kubelet_sim.node.services.metrics import KubeletMetrics
from kubelet_sim.profiles import V1_36

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "metrics.md"


def _metrics() -> KubeletMetrics:
    return KubeletMetrics(V1_36, State(), Merger(Policy.NONE, Scope.NONE, 0), Observations())


def test_numbers_are_whole_and_without_buckets() -> None:
    """As stories look at them: name, labels and value; of durations how many there were. Rules: DM-161, TM-50"""
    metrics = _metrics()
    metrics.observed.allocated("a/b", 0.5)
    metrics.observed.container_errors["container", "X"] += 1
    assert metrics.numbers() == {
        'kubelet_device_plugin_alloc_duration_seconds_count{resource_name="a/b"}': 1,
        'kubelet_started_containers_errors_total{container_type="container",code="X"}': 1,
        "kubelet_topology_manager_admission_requests_total": 0,
        "kubelet_topology_manager_admission_errors_total": 0,
        "kubelet_topology_manager_admission_duration_ms_count": 0,
    }


def test_every_metric_is_on_the_page() -> None:
    """And no other one. Rules: DM-161, PR-32, TM-50"""
    page = PAGE.read_text(encoding="utf-8")
    base = ""
    named = set()
    for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE):
        for name in re.findall(r"`(.*?)`", cell):
            base = base if name.startswith("…") else name
            named.add(base.rsplit("_", 1)[0] + name[1:] if name.startswith("…") else name)
    named -= {name for name in named if name.startswith("/")}
    suffix = {"counter": "_total"}
    shown = {family.name + suffix.get(family.type, "") for family in _metrics()._families()}
    never = {"kubelet_pod_resources_endpoint_errors_list", "kubelet_pod_resources_endpoint_errors_get_allocatable"}
    assert named == shown - never
