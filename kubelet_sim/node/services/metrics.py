"""The metrics of one kubelet process under their real names, as the official client library shows them.

The numbers are the device manager's and those of `observations`; here they only get names, labels and types. A counter
whose name does not end in `_total` is shown untyped: the library would add the ending to the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, UnknownMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from kubelet_sim.core.state import State
from kubelet_sim.core.topology.settings import Merger, Policy, Scope
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.kubelet_process.observations import Histogram, Observations
from kubelet_sim.profiles import Profile

Samples = Iterable[tuple[tuple[str, ...], float]]
"""The values of the labels, and the value that they have."""
_POD_RESOURCES = {
    "pod_resources_endpoint_requests_total": "Calls of the pod resources API, of either version.",
    "pod_resources_endpoint_requests_list": "Calls of List.",
    "pod_resources_endpoint_requests_get": "Calls of Get.",
    "pod_resources_endpoint_requests_get_allocatable": "Calls of GetAllocatableResources.",
    "pod_resources_endpoint_errors_list": "Calls of List that failed.",
    "pod_resources_endpoint_errors_get": "Calls of Get that failed.",
    "pod_resources_endpoint_errors_get_allocatable": "Calls of GetAllocatableResources that failed.",
}
_TOTAL = "_total"


@frozen(eq=False)
class KubeletMetrics(Collector):
    """What a kubelet of that profile shows, as it is whenever somebody looks.

    As in a kubelet, a metric with labels is not there before it has a value.

    Rules: DM-161, PR-32, TM-50
    """

    profile: Profile
    state: State
    merger: Merger
    observed: Observations

    def registry(self) -> CollectorRegistry:
        """A registry of these metrics and no others."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        """Yields every family of metrics that has a value."""
        for family in self._families():
            if family.samples:
                yield family

    def numbers(self) -> dict[str, int]:
        """Each value under its name and labels, as in the text, without fractions; of histograms how many values came.

        Sums and buckets of durations are left out.
        """
        return {
            _sample_name(sample): int(sample.value)
            for family in self.collect()
            for sample in family.samples
            if family.type != "histogram" or sample.name == f"{family.name}_count"
        }

    def _families(self) -> Iterable[Metric]:
        yield from self._of_plugins()
        yield from self._of_admission()
        yield from self._of_alignment()
        for name, text in _POD_RESOURCES.items():
            counted = [((version,), n) for (of, version), n in self.observed.pod_resources.items() if of == name]
            yield _counter(f"kubelet_{name}", text, ("server_api_version",), counted)

    def _of_plugins(self) -> Iterable[Metric]:
        """The metrics of registrations and plugins. Rules: DM-21, DM-161"""
        registrations = [((name,), count) for name, count in self.state.registrations.items()]
        text = "Register calls by resource name as sent, refused ones included."
        yield _counter("kubelet_device_plugin_registration_total", text, ("resource_name",), registrations)
        text = "Seconds that Allocate calls took, failed ones included."
        durations = [((name,), histogram) for name, histogram in self.observed.allocations.items()]
        yield _histogram("kubelet_device_plugin_alloc_duration_seconds", text, ("resource_name",), durations)
        plugins = GaugeMetricFamily(
            "plugin_manager_total_plugins", _help("Plugins of the watcher."), labels=("socket_path", "state")
        )
        for labels, count in self.observed.watched_plugins().items():
            plugins.add_metric(labels, count)
        yield plugins

    def _of_admission(self) -> Iterable[Metric]:
        """The metrics of pods that were refused and of containers that could not be created. Rules: DM-77, DM-104, DM-161"""
        if self.profile.counts_rejections:
            rejected = [((reason,), count) for reason, count in self.observed.rejections.items()]
            yield _counter("kubelet_admission_rejections_total", "Pods refused, by reason.", ("reason",), rejected)
        text = "Containers that could not be created."
        errors = self.observed.container_errors.items()
        yield _counter("kubelet_started_containers_errors_total", text, ("container_type", "code"), errors)

    def _of_alignment(self) -> Iterable[Metric]:
        """The metrics of the topology manager. Rules: TM-35, TM-50"""
        tally, prefix = self.state.topology_tally, "kubelet_topology_manager_admission"
        yield _counter(
            f"{prefix}_requests_total", "Pods that came to the topology manager.", (), [((), tally.requests)]
        )
        yield _counter(f"{prefix}_errors_total", "Pods that it refused.", (), [((), tally.errors)])
        text = "Milliseconds that its admissions took, Allocate calls included."
        yield _histogram(f"{prefix}_duration_ms", text, (), [((), self.observed.admissions)])
        prefix = "kubelet_container_aligned_compute_resources"
        for name, text, counts in (
            (f"{prefix}_count", "Containers or pods that were aligned for certain.", self._by_scope(tally.aligned)),
            (f"{prefix}_failure_count", "Pods that could not be aligned.", self._by_scope(tally.unaligned)),
        ):
            yield _counter(name, text, ("scope", "boundary"), counts)

    def _by_scope(self, count: int) -> Samples:
        """Both scopes are there from the start, unless the policy is none. Rules: TM-50"""
        if self.merger.policy is Policy.NONE:
            return ()
        return [
            ((scope.value, "numa_node"), count if scope is self.merger.scope else 0)
            for scope in (Scope.CONTAINER, Scope.POD)
        ]


def metrics_of(kubelet: KubeletProcess) -> KubeletMetrics:
    """Returns the metrics of a kubelet process, which are read when somebody looks."""
    return KubeletMetrics(kubelet.profile, kubelet.state, kubelet.merger, kubelet.observed)


def exposition(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """The metrics as text, in the format that suits the `Accept` header best, and that format's content type."""
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _counter(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    kind = CounterMetricFamily if name.endswith(_TOTAL) else UnknownMetricFamily
    family = kind(name, _help(text), labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _histogram(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[tuple[tuple[str, ...], Histogram]]
) -> Metric:
    family = HistogramMetricFamily(name, _help(text), labels=labels)
    for values, histogram in samples:
        bounds = [*(f"{bound:g}" for bound in histogram.bounds), "+Inf"]
        family.add_metric(values, list(zip(bounds, histogram.up_to(), strict=True)), histogram.total)
    return family


def _sample_name(sample: Sample) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{labels}}}" if labels else sample.name


def _help(text: str) -> str:
    """All of them are of alpha stability. Rules: DM-161"""
    return f"[ALPHA] {text}"
