"""Faults of the pod resources API, for monitoring agents: refused, limited, moved, telling of pods that have ended."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import choice, text
from kubelet_sim.node.faults.kinds import POD, kind
from kubelet_sim.node.faults.streams import CODES
from kubelet_sim.node.faults.through import FaultHook, lasting
from kubelet_sim.node.services.pod_resources import PodResourcesApi


@define(eq=False)
class _RefusedQuestion(FaultHook):
    failure: RpcFailed

    async def pod_resources_called(self, method: str) -> None:
        if self.active.once("pod resources", f"{method} fails: {self.failure}"):
            raise RpcFailed(self.failure.code, self.failure.description)


@kind(
    "refuse-pod-resources",
    "pod-resources",
    "Calls of the pod resources API fail.",
    undo="and they are answered again",
    arguments=(
        choice("code", CODES, "Unavailable", "The status."),
        text("text", "error reading from server: EOF", "The text of the status."),
    ),
    rules=("PR-5",),
    counts=True,
)
async def _refuse(active: ActiveFault) -> str:
    active.hook(_RefusedQuestion(active, RpcFailed(active.arguments["code"], active.arguments["text"])))
    return "calls of the pod resources API fail from now on"


@kind(
    "limit-pod-resources",
    "pod-resources",
    "The bucket of the rate limit is empty, as when somebody else asks all the time: calls are refused.",
    undo="and the bucket fills as usual",
    rules=("PR-6",),
    counts=True,
)
async def _limit(active: ActiveFault) -> str:
    active.hook(_RefusedQuestion(active, RpcFailed("ResourceExhausted", "rejected by rate limit")))
    return "calls of the pod resources API are over the rate limit from now on"


@kind(
    "replace-pod-resources-socket",
    "pod-resources",
    "The socket of the pod resources API is made anew, and connections to the old one are cut: an agent that mounted the"
    " file instead of its directory finds nobody.",
    rules=("PR-2",),
)
async def _replace(active: ActiveFault) -> str:
    api = next((part for part in active.reach.node.kubelet.parts if isinstance(part, PodResourcesApi)), None)
    if api is None:
        raise UsageError("this node does not serve the pod resources API")
    await api.reopen()
    active.once("pod resources", "its socket is made anew")
    return "the pod resources API is served on a new socket file"


@lasting(
    "list-ended-pods",
    "pod-resources",
    "List tells of pods that have ended, too, as kubelets did for years: an agent that takes each listed pod for one that runs"
    " counts them. Their devices are free by then, so that their containers have none.",
    "pods that have ended are listed from now on",
    undo="and only active pods are listed",
    rules=("PR-12", "PR-13"),
    filters=(POD,),
)
class _Ended(FaultHook):
    def pods_listed(self, pods: Sequence[Pod], known: Sequence[Pod]) -> Sequence[Pod]:
        wanted = self.active.fault.pod
        active = {pod.uid for pod in pods}
        ended = [pod for pod in known if pod.uid not in active and wanted in {"", pod.name, pod.key}]
        if ended:
            self.active.once("pod resources", f"pods that have ended are listed: {len(ended)}")
        return (*pods, *ended)
