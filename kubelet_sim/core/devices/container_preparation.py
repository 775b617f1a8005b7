"""What happens to devices each time a container is about to be created, and what the container gets."""

from __future__ import annotations

from kubelet_sim.core.devices.allocation import allocating
from kubelet_sim.core.devices.endpoint import live_client
from kubelet_sim.core.devices.response_merge import merged, without_cdi
from kubelet_sim.core.effects import CallPreStartContainer, TakeAdmissionTurn, Walk, ask
from kubelet_sim.core.state import Context
from kubelet_sim.errors import AllocationFailed, PreparationFailed, RpcFailed
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.profiles import Cdi


def preparing(context: Context, pod: Pod, container: Container) -> Walk[ContainerSpec | None]:
    """The container spec from the cached responses, healthy devices or not; `None` if the container has no record.

    Every plugin that wants it gets PreStartContainer first, at every creation. A resource without a record is allocated
    now, as long as the pod is active: it was not known when the pod was admitted. A limit of 0 is skipped (DM-84). Earlier
    releases are less choosy in both. That a claim serves a limit makes no difference here (DM-85).

    Raises:
        PreparationFailed: the container is not created for now; the pod stays (DM-104).

    Rules: DM-84, DM-85, DM-103, DM-105, DM-106, DM-107, DM-123, DM-134, DM-163, DM-164, DM-167
    Follows: GetDeviceRunContainerOptions
    """
    state, profile = context.state, context.profile
    is_incomplete = False
    for name in context.order.arrange("DM-103", container.limits):
        resource = ResourceName(name)
        if not state.is_device_plugin_resource(resource):
            continue
        if not container.limits[resource].value and not profile.zero_limit_matters_at_creation:
            continue
        yield from _starting(context, pod, container, resource)
        may_be_late = pod.uid in state.active_pods or not profile.late_allocation_for_active_only
        if may_be_late and state.allocations.record(pod.uid, container.name, resource) is None:
            is_incomplete = True
    if is_incomplete:
        yield from _allocating_late(context, pod, container)
    records = state.allocations.of_container(pod.uid, container.name)
    if not records:
        return None
    responses = {resource: record.response for resource, record in records.items()}
    spec = merged(context, f"{pod.key} {container.name}", responses)
    # A kubelet that knows no CDI names from plugins does not read them. Rules: DM-171, DM-181
    return without_cdi(spec) if profile.cdi is Cdi.NEVER else spec


def _starting(context: Context, pod: Pod, container: Container, resource: ResourceName) -> Walk[None]:
    """PreStartContainer, if the plugin wants it; a placeholder wants nothing, a stopped endpoint still does.

    Rules: DM-46, DM-103, DM-105
    Follows: callPreStartContainerIfNeeded
    """
    endpoint = context.state.endpoints.get(resource)
    if endpoint is None:
        raise _failed(context, pod, container, f"endpoint not found in cache for a registered resource: {resource}")
    if endpoint.options is None or not endpoint.options.pre_start_required:
        return
    record = context.state.allocations.record(pod.uid, container.name, resource)
    if record is None:
        whose = f"pod {pod.uid}, container {container.name}, resource {resource}"
        raise _failed(context, pod, container, f"no devices found allocated in local cache for {whose}")
    ids = tuple(context.order.arrange("DM-103", record.ids))
    try:
        yield from ask(CallPreStartContainer(live_client(endpoint), ids))
    except (RpcFailed, AllocationFailed) as failure:
        text = f"device plugin PreStartContainer rpc failed with err: {failure}"
        raise _failed(context, pod, container, text) from failure


def _allocating_late(context: Context, pod: Pod, container: Container) -> Walk[None]:
    """The whole allocation of the container, in turn with admissions: in the kubelet they overlap, and it may crash.

    Rules: DM-86, DM-106
    """
    context.say("DM-106", pod.key, f"{container.name} lacks devices of a resource that is known by now: allocated late")
    has_waited = yield from ask(TakeAdmissionTurn())
    if has_waited:
        context.warn("DM-86", pod.key, "an admission was under way: a kubelet of this version may crash here")
    try:
        yield from allocating(context, pod, container)
    except AllocationFailed as failure:
        cause = failure.__cause__
        shown = cause.description if isinstance(cause, RpcFailed) and failure.rule == "DM-98" else None
        raise _failed(context, pod, container, str(failure), shown) from failure


def _failed(context: Context, pod: Pod, container: Container, text: str, shown: str | None = None) -> PreparationFailed:
    """Of a bare gRPC status the pod's status shows the description only. Rules: DM-104"""
    context.warn("DM-103 DM-104", pod.key, f"{container.name} cannot be created: {text}")
    return PreparationFailed(text, rule="DM-103", shown=shown)
