"""Looks at what a kubelet holds, and at what its pod resources API answers."""

from __future__ import annotations

from typing import Any

from kubelet_sim.core.devices.pod_device_health import allocated_resources_status
from kubelet_sim.core.topology.masks import nodes_of
from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod_resources import ApiVersion, DeviceEntry, PodResources
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.steps.phrases import about as about_text
from kubelet_sim.scenario.steps.pods import CONTAINER, NAMESPACE, POD
from kubelet_sim.scenario.steps.step_kind import Arguments, step
from kubelet_sim.scenario.story import values
from kubelet_sim.wire.pod_resources_client import PodResourcesClient
from kubelet_sim.wire.status import enum_name

_METHODS = {"list": "List", "get": "Get", "allocatable": "GetAllocatableResources"}


@step("Devices recorded for pod {pod}", POD, comes="ids by container, resource", is_look=True)
async def allocated(stage: StoryStage, pod: str) -> Any:
    """Devices that are recorded for a pod."""
    known = stage.pods.get(PodUID(pod))
    by_container: dict[str, dict[str, list[str]]] = {}
    for each in known.all_containers() if known else ():
        by_container[each.name] = {}
    for (of_pod, name, resource), record in stage.node.kubelet.state.allocations:
        if of_pod == pod:
            by_container.setdefault(name, {})[resource] = sorted(record.ids)
    return by_container


@step("Number of devices recorded for pod {pod}", POD, comes="by container, resource", is_look=True)
async def allocated_count(stage: StoryStage, pod: str) -> Any:
    """How many devices are recorded for a pod."""
    return {
        container: {resource: len(ids) for resource, ids in resources.items()}
        for container, resources in (await allocated.act(stage, pod)).items()
    }


@step("Number of devices in use", comes="by resource, zeros left out", is_look=True)
async def in_use(stage: StoryStage) -> Any:
    """How many devices are in use."""
    return {resource: len(ids) for resource, ids in stage.node.kubelet.state.allocations.in_use.items() if ids}


@step("Devices held healthy and unhealthy", comes="`healthy`, `unhealthy`", is_look=True)
async def state(stage: StoryStage) -> Any:
    """The ids held healthy and unhealthy."""
    held = stage.node.kubelet.state
    return {
        "healthy": {resource: sorted(ids) for resource, ids in held.healthy.items()},
        "unhealthy": {resource: sorted(ids) for resource, ids in held.unhealthy.items()},
    }


@step("Device health in the status of pod {pod}", POD, comes="by container, resource, id", is_look=True)
async def status(stage: StoryStage, pod: str) -> Any:
    """Device health in the status of a pod."""
    return allocated_resources_status(stage.node.kubelet.state, stage.pod(pod))


@step(
    lambda given: f"Metrics{about_text(given)}",
    takes={"about": values.text},
    comes="values by name and labels; of durations their `_count`",
    is_look=True,
)
async def metrics(stage: StoryStage, about: str = "") -> Any:
    """The kubelet's metrics whose name holds the text `about`."""
    from kubelet_sim.node.services.metrics import metrics_of

    return {name: number for name, number in metrics_of(stage.node.kubelet).numbers().items() if about in name}


@step("NUMA affinity of {container} of {pod}", CONTAINER, comes="`nodes`, `preferred`", is_look=True)
async def affinity(stage: StoryStage, pod: str, container: str) -> Any:
    """The NUMA affinity of a container."""
    if stage.pod(pod).container(container) is None:
        raise TransportError(f"pod {pod} has no container {container}")
    hint = stage.node.kubelet.state.affinities.of(PodUID(pod), ContainerName(container))
    return {"nodes": None if hint.mask is None else list(nodes_of(hint.mask)), "preferred": hint.is_preferred}


def _asks(given: Arguments) -> str:
    of = f" of {given.get('namespace', 'default')}/{given.get('pod', '')}" if given["call"] == "get" else ""
    return f"{_METHODS[given['call']]}{of} of the pod resources API {given.get('api', 'v1')}"


@step(
    _asks,
    {"call": values.one_of(tuple(_METHODS))},
    takes={"api": values.one_of(("v1", "v1alpha1")), "pod": values.text, **NAMESPACE},
    comes="`pods` or one, by container `[resource, id, NUMA node]`, without the node if there is no topology; `devices`; or "
    "`code`, `message`",
    is_look=True,
)
async def podresources(
    stage: StoryStage, call: str, api: str = ApiVersion.V1.value, pod: str = "", namespace: str = "default"
) -> Any:
    """What an exporter gets from the pod resources API; `get` is for one pod, by its name."""
    async with PodResourcesClient(stage.node.root.layout.pod_resources_socket) as client:
        try:
            match call:
                case "list":
                    return {"pods": [_pod_entry(each) for each in await client.list(ApiVersion(api))]}
                case "get":
                    return _pod_entry(await client.get(pod, namespace))
            return {"devices": [_device_entry(entry) for entry in (await client.allocatable()).devices]}
        except RpcFailed as failure:
            return {"code": enum_name(failure.code), "message": failure.description}


def _pod_entry(pod: PodResources) -> dict[str, Any]:
    """One pod with the devices of each container it shows. Rules: PR-14, PR-22"""
    containers = {each.name: [_device_entry(entry) for entry in each.devices] for each in pod.containers}
    return {"pod": f"{pod.namespace}/{pod.name}", "containers": containers}


def _device_entry(entry: DeviceEntry) -> list[str | int]:
    """`[resource, id, NUMA node]`, without the node if the message has no topology. Rules: PR-10, PR-22"""
    return [entry.resource, *entry.device_ids, *(entry.numa_nodes or ())]
