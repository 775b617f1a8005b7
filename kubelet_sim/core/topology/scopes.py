"""Admission by the topology manager: whom it asks, in which order, and what it stores."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kubelet_sim.core.effects import Walk
from kubelet_sim.core.topology.affinities import Affinities
from kubelet_sim.core.topology.hints import Hint, HintProvider, HintsByResource
from kubelet_sim.core.topology.settings import Merger, Scope
from kubelet_sim.errors import AllocationFailed, TopologyRefused
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.pod import Pod

@frozen
class TopologyManager:
    """One admission handler: alignment, and with it the allocation of every provider."""

    merger: Merger
    providers: Sequence[HintProvider]
    affinities: Affinities

    def admitting(self, pod: Pod) -> Walk[Admission]:
        """The verdict; nothing is rolled back when it is a refusal.

        Rules: TM-36, TM-37, TM-41, TM-42, TM-43, TM-48, TM-49, DM-78, DM-122
        """
        try:
            yield from self._allocating(pod)
        except TopologyRefused as refusal:
            return Rejected(refusal.reason, refusal.text)
        except AllocationFailed as failure:
            return Rejected("UnexpectedAdmissionError", f"Allocate failed due to {failure}, which is unexpected")
        return Admitted()

    def _allocating(self, pod: Pod) -> Walk[None]:
        """Scope by scope. Rules: TM-38, TM-39, TM-40, DM-75"""
        if self.merger.scope is Scope.POD:
            pod_hint = self._merged([provider.pod_hints(pod) for provider in self.providers])
        for container in pod.all_containers():
            if self.merger.scope is Scope.CONTAINER:
                hint = self._merged([provider.hints(pod, container) for provider in self.providers])
                self.affinities.store(pod.uid, container.name, hint)
            elif self.merger.scope is Scope.POD:
                self.affinities.store(pod.uid, container.name, pod_hint)
            for provider in self.providers:
                yield from provider.allocating(pod, container)

    def _merged(self, answers: Sequence[HintsByResource]) -> Hint:
        """The common hint. Raises the refusal if the policy does not admit it. Rules: TM-42"""
        result = self.merger.result(answers)
        if not self.merger.admits(result):
            raise TopologyRefused
        return result
