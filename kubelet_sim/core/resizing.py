"""Changing the cpu and memory of a pod that runs: it passes admission once more, and stays as it is if that fails."""

from __future__ import annotations

from collections.abc import Sequence

from kubelet_sim.core.cpu_provider import is_guaranteed
from kubelet_sim.core.device_provider import DeviceProvider
from kubelet_sim.core.effects import Walk
from kubelet_sim.core.predicate import fits
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import HintProvider
from kubelet_sim.core.topology.scopes import TopologyManager
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.pod import Pod

_PINNED = Rejected("Infeasible", "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy")


def resizing(context: Context, pod: Pod, further: Sequence[HintProvider] = ()) -> Walk[Admission]:
    """The verdict on a pod of a new size. A refused one is active as before, with its devices and its old size.

    A container that has its devices gets no others, but they are looked at as at any admission: one that is broken or gone
    refuses the resize, whatever the size has to do with it.

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
    if further and is_guaranteed(pod):
        return _PINNED
    verdict = yield from TopologyManager(context, (DeviceProvider(context), *further)).admitting(pod)
    return fits(context, pod) if isinstance(verdict, Admitted) else verdict
