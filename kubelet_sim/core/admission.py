"""Admitting a pod: its devices first, then whether it fits the node.

The other admission handlers of a kubelet (eviction, sysctls, AppArmor, node shutdown, …) have nothing to refuse on an
emulated node.
"""

from __future__ import annotations

from kubelet_sim.core.allocation import allocating
from kubelet_sim.core.effects import Walk
from kubelet_sim.core.predicate import fits
from kubelet_sim.core.state import Context
from kubelet_sim.errors import AllocationFailed
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.pod import Pod


def admitting(context: Context, pod: Pod) -> Walk[Admission]:
    """The verdict on a pod. The caller lets one admission run at a time (DM-74).

    The pod is active from the start, so it does not reclaim its own records; a refused one is inactive at once, and what
    it was given is reclaimed some time later (DM-101). Ephemeral containers are never considered.

    Rules: DM-72, DM-75, DM-77, DM-78, DM-79, DM-101, DM-108, DM-111, DM-117
    Follows: canAdmitPod, admitPolicyNone
    """
    context.state.active_pods[pod.uid] = pod
    verdict = yield from _judging(context, pod)
    if isinstance(verdict, Rejected):
        context.state.active_pods.pop(pod.uid, None)
        context.warn("DM-77", pod.key, f"rejected: {verdict.reason}: {verdict.message}")
    else:
        context.say("DM-72", pod.key, "admitted")
    return verdict


def _judging(context: Context, pod: Pod) -> Walk[Admission]:
    for container in pod.all_containers():
        try:
            yield from allocating(context, pod, container)
        except AllocationFailed as failure:
            return Rejected("UnexpectedAdmissionError", f"Allocate failed due to {failure}, which is unexpected")
    verdict = fits(context, pod)
    if isinstance(verdict, Admitted):
        _say_what_is_missing(context, pod)
    return verdict


def _say_what_is_missing(context: Context, pod: Pod) -> None:
    """A pod that asks for a resource that nobody serves runs without it: the surprise deserves a word. Rules: DM-81"""
    for container in pod.all_containers():
        records = context.state.books.of_container(pod.uid, container.name)
        for name in context.order.arrange("DM-81", container.limits):
            if "/" in name and container.limits[name].value and name not in records:
                text = f"{container.name} asks for {name}, but no plugin has listed it: it will run without the device"
                context.warn("DM-81", pod.key, text)
