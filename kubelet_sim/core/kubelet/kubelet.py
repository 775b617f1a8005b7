"""The device manager of one kubelet process: its one way in for facts, and its walks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kubelet_sim.core.cpus.cpu_manager import CpuProvider
from kubelet_sim.core.devices.container_preparation import preparing
from kubelet_sim.core.devices.device_checkpoint import checkpoint_restored
from kubelet_sim.core.devices.plugin_stream import devices_listed, stream_ended
from kubelet_sim.core.devices.reclaim import reclaim
from kubelet_sim.core.devices.registration import registering
from kubelet_sim.core.devices.watched_plugins import registering_watched, watched_plugin_gone
from kubelet_sim.core.effects import Walk
from kubelet_sim.core.facts import (
    Applied,
    CheckpointRestored,
    ContainersRemoved,
    DevicesListed,
    Fact,
    PodActivated,
    PodDeactivated,
    ReclaimAsked,
    RuntimeListed,
    SourcesReadyChanged,
    StatusRoundDue,
    StreamEnded,
    WatchedPluginGone,
)
from kubelet_sim.core.kubelet.node_status import status_round
from kubelet_sim.core.kubelet.pod_admission import admitting
from kubelet_sim.core.kubelet.pod_resize import resizing
from kubelet_sim.core.kubelet.runtime_at_start import runtime_listed
from kubelet_sim.core.kubelet.sidecars import as_known
from kubelet_sim.core.ports import Journal, Order, Sorted
from kubelet_sim.core.state import Context, State
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.topology.settings import merger
from kubelet_sim.core.walks import AdmissionAsked, Asked, PreparationAsked, RegisterAsked, ResizeAsked, WatchedAsked
from kubelet_sim.errors import UsageError
from kubelet_sim.model.admission import Admission
from kubelet_sim.model.ids import ClientID
from kubelet_sim.model.node import DEFAULT_MACHINE, NodeObject
from kubelet_sim.model.plugin import DIRECTORY, PluginInfo, Registration
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.profiles import Profile

A = TypeVar("A")
R = TypeVar("R")


class Kubelet:
    """Decides; whoever holds it performs the effects.

    Facts may be applied at any time between two steps of any walk. Admissions run one after the other (DM-74);
    registrations and preparations overlap anything.

    Args:
        profile: which kubelet it is.
        journal: takes its decisions down.
        order: picks where the kubelet's order is open.
        node: the node object that an earlier kubelet process left behind.
        machine: the resources that are no plugin's.
        alignment: policy none on one NUMA node if not given.

    Raises:
        UsageError: the topology settings do not fit the machine, in the kubelet's words (TM-12).
    """

    def __init__(
        self,
        profile: Profile,
        journal: Journal,
        *,
        order: Order | None = None,
        node: NodeObject | None = None,
        machine: Mapping[str, Quantity] = DEFAULT_MACHINE,
        alignment: Alignment | None = None,
    ) -> None:
        state = State(node=node or NodeObject())
        given = alignment or Alignment()
        policy, nodes = merger(given.topology, given.numa), tuple(node.id for node in given.numa)
        self.context = Context(state, profile, order or Sorted(), journal, machine, policy, nodes)
        self._further = () if given.cpus is None else (CpuProvider(self.context, given.cpus),)

    @property
    def state(self) -> State:
        """For looking, not for changing."""
        return self.context.state

    def apply(self, fact: Fact[A]) -> Applied[A]:
        """Take a fact in; the caller performs the effects before it goes on.

        Raises:
            UsageError: the fact cannot be; nothing has changed.
        """
        applied: Applied[A] = self._apply(fact)
        return applied

    def _apply(self, fact: object) -> Applied[Any]:
        match fact:
            case DevicesListed():
                return devices_listed(self.context, fact)
            case StreamEnded():
                return stream_ended(self.context, fact)
            case WatchedPluginGone():
                return watched_plugin_gone(self.context, fact)
            case StatusRoundDue():
                return status_round(self.context, fact)
            case CheckpointRestored():
                return checkpoint_restored(self.context, fact)
            case PodActivated(pod):
                self.state.active_pods[pod.uid] = as_known(self.context.profile, pod)
            case PodDeactivated(uid):
                self.state.active_pods.pop(uid, None)
            case ContainersRemoved(pod):
                self.state.affinities.forget(pod)
            case SourcesReadyChanged(ready):
                self.state.sources_ready = ready
            case ReclaimAsked():
                reclaim(self.context)
            case RuntimeListed():
                runtime_listed(self.state, fact)
            case _:
                raise UsageError(f"{fact!r} is no fact that a device manager knows")
        return Applied(None)

    def begin(self, asked: Asked[R]) -> Walk[R]:
        """The walk that answers; nothing has been done of it yet."""
        walk: Walk[R] = self._begin(asked)
        return walk

    def _begin(self, asked: object) -> Walk[Any]:
        match asked:
            case RegisterAsked(request):
                return self.register(request)
            case WatchedAsked(info, registration_socket, directory):
                return self.register_watched(info, registration_socket, directory)
            case AdmissionAsked(pod):
                return self.admit(pod)
            case ResizeAsked(pod):
                return resizing(self.context, as_known(self.context.profile, pod), self._further)
            case PreparationAsked(pod, name) if (container := pod.container(name)) is not None:
                return self.prepare(pod, container)
        raise UsageError(f"{asked!r} is nothing that a device manager answers")

    def register(self, request: Registration) -> Walk[ClientID]:
        """See `registering`."""
        return registering(self.context, request)

    def register_watched(
        self, info: PluginInfo, registration_socket: str, directory: str = DIRECTORY
    ) -> Walk[ClientID]:
        """See `registering_watched`."""
        return registering_watched(self.context, info, registration_socket, directory)

    def admit(self, pod: Pod) -> Walk[Admission]:
        """See `admitting`."""
        return admitting(self.context, as_known(self.context.profile, pod), self._further)

    def prepare(self, pod: Pod, container: Container) -> Walk[ContainerSpec | None]:
        """See `preparing`."""
        known = as_known(self.context.profile, pod)
        return preparing(self.context, known, known.container(container.name) or container)
