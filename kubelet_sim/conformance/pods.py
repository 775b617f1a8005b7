"""Pods that a check puts on its node, looks at, and removes again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.errors import KubeletSimError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admission, Rejected
from kubelet_sim.model.ids import ContainerName
from kubelet_sim.model.life import Deletion
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec

CONTAINER = ContainerName("main")


def pod_of(name: str, limits: Mapping[str, int]) -> Pod:
    """A pod of one container that asks for so many of each resource."""
    quantities = {resource: str(count) for resource, count in limits.items()}
    container = {"name": CONTAINER, "image": "none", "resources": {"limits": quantities}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    return pod_from_mapping(document, api_checks=False)


@asynccontextmanager
async def admitted(ctx: CheckContext, pod: Pod) -> AsyncIterator[Admission]:
    """The verdict on a pod that is on the node for as long as the block lasts."""
    verdict = await ctx.node.admit(pod)
    try:
        yield verdict
    finally:
        await ctx.node.remove(pod.name, how=Deletion(grace_s=0.0, is_forced=True))


async def admitted_spec(ctx: CheckContext, limits: Mapping[str, int]) -> ContainerSpec:
    """What a container with these devices gets; the check is skipped if the pod is rejected, or the container not made."""
    pod = pod_of(ctx.check.id, limits)
    async with admitted(ctx, pod) as verdict:
        if isinstance(verdict, Rejected):
            ctx.skip(f"a pod with one device of each resource is rejected: {verdict.message}")
        try:
            spec = await ctx.node.prepare(pod.name, CONTAINER)
        except KubeletSimError as error:
            ctx.skip(f"a container with one device of each resource cannot be made: {error}")
    return spec or ContainerSpec()
