"""Admitting a pod: its devices first, then whether it fits the node.

The other admission handlers of a kubelet (eviction, sysctls, AppArmor, node shutdown, …) have nothing to refuse on an
emulated node.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubelet_sim.core.devices.device_provider import DeviceProvider
from kubelet_sim.core.effects import Walk
from kubelet_sim.core.kubelet.node_fit import fits
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import HintProvider
from kubelet_sim.core.topology.topology_manager import TopologyManager
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.pod import Pod


def admitting(context: Context, pod: Pod, further: Sequence[HintProvider] = ()) -> Walk[Admission]:
    """The verdict on a pod. The caller lets one admission run at a time (DM-74).

    The pod is active from the start, so it does not reclaim its own records; a refused one is inactive at once, and what
    it was given is reclaimed some time later (DM-101). Ephemeral containers are never considered.

    Args:
        further: who is asked for hints and allocates after the device manager, in this order.

    Rules: DM-72, DM-75, DM-77, DM-79, DM-101, DM-108, DM-111, DM-117
    Follows: canAdmitPod
    """
    context.state.active_pods[pod.uid] = pod
    topology = TopologyManager(context, (DeviceProvider(context), *further))
    verdict = yield from topology.admitting(pod)
    if isinstance(verdict, Admitted):
        verdict = fits(context, pod)
    if isinstance(verdict, Rejected):
        context.state.active_pods.pop(pod.uid, None)
        context.warn("DM-77", pod.key, f"rejected: {verdict.reason}: {verdict.message}")
    else:
        _say_what_is_missing(context, pod)
        context.say("DM-72", pod.key, "admitted")
    return verdict


def _say_what_is_missing(context: Context, pod: Pod) -> None:
    """A pod that asks for a resource that nobody serves runs without it: the surprise deserves a word. Rules: DM-81"""
    for container in pod.all_containers():
        records = context.state.allocations.of_container(pod.uid, container.name)
        for name in context.order.arrange("DM-81", container.limits):
            if "/" in name and container.limits[name].value and name not in records:
                text = f"{container.name} asks for {name}, but no plugin has listed it: it will run without the device"
                context.warn("DM-81", pod.key, text)
