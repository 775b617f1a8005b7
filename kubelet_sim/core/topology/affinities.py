"""The hint that each container ended up with: what the choice of its devices goes by."""

from __future__ import annotations

from attrs import define, field

from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Pod


@define
class Affinities:
    """The hint that each container ended up with."""

    _stored: dict[tuple[PodUID, ContainerName], Hint] = field(factory=dict)

    def of(self, uid: PodUID, container: ContainerName) -> Hint:
        """The zero hint if nothing is stored. Rules: TM-45"""
        return self._stored.get((uid, container), Hint())

    def store(self, uid: PodUID, container: ContainerName, hint: Hint) -> None:
        """In place of what an earlier admission stored. Rules: TM-45"""
        self._stored[uid, container] = hint

    def forget(self, pod: Pod) -> None:
        """The pod's containers are gone for good. Rules: TM-46"""
        for container in pod.all_containers():
            self._stored.pop((pod.uid, container.name), None)
