"""What a kubelet would decide about a pod, worked out on a core by itself: no plugin is called, and nothing changes.

For questions of the kind "what if the topology manager were stricter": what counts is what the plugin has listed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, TypeVar

from kubelet_sim.conformance.pods import pod_of
from kubelet_sim.core.effects import CallAllocate, CallGetDevicePluginOptions, Walk
from kubelet_sim.core.facts import DevicesListed, SourcesReadyChanged, StatusRoundDue
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.core.walks import AdmissionAsked, RegisterAsked
from kubelet_sim.errors import KubeletSimError
from kubelet_sim.model.admission import Admission
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.plugin import API_VERSION, AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.profiles import Profile
from kubelet_sim.transcript import Decision

R = TypeVar("R")


def verdict(
    profile: Profile, policy: str, numa_nodes: Sequence[int], resource: ResourceName, devices: tuple[Device, ...]
) -> Admission:
    """The verdict on a pod with one device of the resource, on an empty node whose plugin has listed these devices.

    Args:
        profile: which kubelet.
        policy: the topology manager's.
        numa_nodes: the machine's.
        resource: what the devices are of.
        devices: the list.
    """
    alignment = Alignment(TopologySettings(policy), tuple(NumaNodeInfo(node) for node in numa_nodes))
    manager = Kubelet(profile, _SilentJournal(), alignment=alignment)
    manager.apply(SourcesReadyChanged(True))
    _finished(manager.begin(RegisterAsked(Registration(API_VERSION, "p.sock", resource, PluginOptions()))))
    (client,) = manager.state.streams
    manager.apply(DevicesListed(client, devices))
    manager.apply(StatusRoundDue(0.0))
    return _finished(manager.begin(AdmissionAsked(pod_of("one-device", {resource: 1}))))


class _SilentJournal:
    """A journal that keeps nothing, for a core of which only the verdict counts."""

    def append(self, decision: Decision) -> None:
        """Forgets the decision."""


def _finished(walk: Walk[R]) -> R:
    """Walk to the end; a plugin would agree to everything."""
    answer: Any = None
    with contextlib.closing(walk):
        while True:
            try:
                answer = _agreed(walk.send(answer))
            except StopIteration as end:
                result: R = end.value
                return result
    raise KubeletSimError("a walk ends")


def _agreed(effect: object) -> object:
    match effect:
        case CallGetDevicePluginOptions():
            return PluginOptions()
        case CallAllocate():
            return AllocateAnswer((ContainerResponse(),))
    return None
