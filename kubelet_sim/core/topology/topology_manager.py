"""Admission by the topology manager: whom it asks, in which order, and what it stores."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kubelet_sim.core.effects import Walk
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import Hint, HintProvider, HintsByResource, rank
from kubelet_sim.core.topology.masks import nodes_of
from kubelet_sim.core.topology.settings import Scope
from kubelet_sim.errors import AllocationFailed, TopologyRefused
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.pod import Pod

SHOWN = 8
"""How many hints of one resource are told."""


@frozen
class TopologyManager:
    """One admission handler: alignment, and with it the allocation of every provider."""

    context: Context
    providers: Sequence[HintProvider]
    """In the order in which they are asked. Rules: TM-10"""

    def admitting(self, pod: Pod) -> Walk[Admission]:
        """The verdict; nothing is rolled back when it is a refusal.

        Rules: DM-78, DM-122, TM-36, TM-37, TM-41, TM-42, TM-43, TM-48, TM-49, TM-50
        """
        tally, merger = self.context.state.topology_tally, self.context.merger
        tally.requests += 1
        try:
            yield from self._allocating(pod)
        except TopologyRefused as refusal:
            tally.errors += 1
            tally.unaligned += merger.guarantees_alignment
            return Rejected(refusal.reason, refusal.text)
        except AllocationFailed as failure:
            tally.errors += merger.scope is not Scope.NONE
            return Rejected("UnexpectedAdmissionError", f"Allocate failed due to {failure}, which is unexpected")
        return Admitted()

    def _allocating(self, pod: Pod) -> Walk[None]:
        """Scope by scope; under policy none nobody is asked for hints. Rules: DM-75, TM-38, TM-39, TM-40, TM-60"""
        scope = self.context.merger.scope
        hint = Hint()
        if scope is Scope.POD:
            hint = self._merged(pod, "the pod", [provider.pod_hints(pod) for provider in self.providers])
        for container in pod.all_containers():
            if scope is Scope.CONTAINER:
                answers = [provider.hints(pod, container) for provider in self.providers]
                hint = self._merged(pod, container.name, answers)
            if scope is not Scope.NONE:
                self.context.state.affinities.store(pod.uid, container.name, hint)
            for provider in self.providers:
                yield from provider.allocating(pod, container)
            if scope is Scope.CONTAINER:
                self._count_aligned()
        if scope is Scope.POD:
            self._count_aligned()

    def _count_aligned(self) -> None:
        """Once a container or once a pod, as the scope is. Rules: TM-35, TM-50"""
        self.context.state.topology_tally.aligned += self.context.merger.guarantees_alignment

    def _merged(self, pod: Pod, whom: str, answers: Sequence[HintsByResource]) -> Hint:
        """The common hint. Raises the refusal if the policy does not admit it. Rules: TM-42"""
        merger = self.context.merger
        result = merger.result(answers)
        admits = merger.admits(result)
        text = f"{whom}: {_told(answers)}; together {_shown(result)}"
        say = self.context.say if admits else self.context.warn
        rules = "TM-21 TM-24 TM-27 TM-28" if merger.uses_distances else "TM-21 TM-28"
        say(rules, pod.key, f"{text}: {'admitted' if admits else 'refused'} by policy {merger.policy.value}")
        if not admits:
            raise TopologyRefused
        return result


def _told(answers: Sequence[HintsByResource]) -> str:
    parts = []
    for answer in answers:
        for resource, hints in sorted(answer.items()):
            if hints is None:
                parts.append(f"{resource} has no preference")
            elif not hints:
                parts.append(f"{resource} cannot be had")
            else:
                first = sorted(hints, key=rank)[:SHOWN]
                more = " …" if len(hints) > SHOWN else ""
                parts.append(f"{resource} could come from {', '.join(map(_shown, first))}{more}")
    return "; ".join(parts) or "nobody has a preference"


def _shown(hint: Hint) -> str:
    if hint.mask is None:
        return "any node" if hint.is_preferred else "no node"
    nodes = "{" + ",".join(map(str, nodes_of(hint.mask))) + "}"
    return f"{nodes} (preferred)" if hint.is_preferred else nodes
