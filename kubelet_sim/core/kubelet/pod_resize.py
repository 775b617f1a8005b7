"""Changing the cpu and memory of a pod that runs: it passes admission once more, and stays as it is if that fails."""

from __future__ import annotations

from collections.abc import Sequence

from kubelet_sim.core.cpus.cpu_manager import is_guaranteed
from kubelet_sim.core.devices.device_provider import DeviceProvider
from kubelet_sim.core.effects import Walk
from kubelet_sim.core.kubelet.node_fit import fits
from kubelet_sim.core.kubelet.pod_requests import counted, requested
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import HintProvider
from kubelet_sim.core.topology.topology_manager import TopologyManager
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.pod import ContainerKind, Pod

_INFEASIBLE, _DEFERRED = "Infeasible", "Deferred"


def resizing(context: Context, pod: Pod, further: Sequence[HintProvider] = ()) -> Walk[Admission]:
    """The verdict on a pod of a new size. A refused one is active as before, with its devices and its old size.

    What can never be is `Infeasible`, and no device is looked at for it. Otherwise the pod passes admission: a container
    that has its devices gets no others, but one of them that is broken or gone refuses the resize, whatever the size has to
    do with it. A device that the container runs without, for it was created before the plugin came, is allocated now.

    That the reason of a refusal reaches the condition as it is, since 1.36, follows from the resize being one more
    admission; up to 1.35 it is `Deferred`.

    Args:
        context: of the device manager.
        pod: as it is to be; its uid is that of an active pod.
        further: as for an admission.

    Rules: DM-90, DM-114
    Follows: handlePodResourcesResize, canAdmitPod
    """
    verdict = yield from _deciding(context, pod, further)
    if isinstance(verdict, Rejected):
        text = f"resize refused, the pod stays as it is: {verdict.reason}: {verdict.message}"
        context.warn("DM-114", pod.key, text)
        return verdict
    if pod.uid in context.state.active_pods:  # else it was deleted while a plugin was called
        context.state.active_pods[pod.uid] = pod
    context.say("DM-114", pod.key, "resized")
    return verdict


def _deciding(context: Context, pod: Pod, further: Sequence[HintProvider]) -> Walk[Admission]:
    why_never = (_pinned(context, pod) if further else "") or _beyond_node(context, pod)
    if why_never:
        return Rejected(_INFEASIBLE, why_never)
    verdict = yield from TopologyManager(context, (DeviceProvider(context), *further)).admitting(pod)
    if isinstance(verdict, Admitted):
        verdict = fits(context, pod)
    if isinstance(verdict, Rejected) and context.profile.refused_resizes_are_deferred:
        return Rejected(_DEFERRED, verdict.message)
    return verdict


def _pinned(context: Context, pod: Pod) -> str:
    """Why the static CPU policy refuses the resize: a guaranteed pod keeps its cpus; empty if it does not.

    Rules: DM-114
    """
    if not is_guaranteed(pod):
        return ""
    if not context.profile.pinned_pods_resize_memory:
        return "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"
    if _has_other_cpu(context.state.active_pods.get(pod.uid), pod):
        return 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
    return ""


def _has_other_cpu(before: Pod | None, after: Pod) -> bool:
    """Whether a container that can be resized asks for another amount of cpu; requests are the limits here."""
    for container in after.all_containers():
        known = None if before is None or container.kind is ContainerKind.INIT else before.container(container.name)
        if known is not None and known.requests.get("cpu") != container.requests.get("cpu"):
            return True
    return False


def _beyond_node(context: Context, pod: Pod) -> str:
    """Why the pod would not even fit an empty node; empty if it would. Rules: DM-114"""
    asked, machine = requested(pod), context.machine
    for name in ("memory", "cpu"):
        capacity = counted(name, machine[name].amount) if name in machine else 0
        if asked.get(name, 0) > capacity:
            return f"Node didn't have enough capacity: {name}, requested: {asked[name]}, capacity: {capacity}"
    return ""
