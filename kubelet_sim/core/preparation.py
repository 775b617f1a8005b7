"""What happens to devices each time a container is about to be created, and what the container gets.

A walk, though nothing is asked of a plugin yet: PreStartContainer (DM-103, steps 2 to 4) and the late allocation of
DM-106 come with admission, in the loop below.
"""

from __future__ import annotations

from kubelet_sim.core.effects import Walk
from kubelet_sim.core.merge import merged
from kubelet_sim.core.state import Context
from kubelet_sim.errors import PreparationFailed
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerSpec


def preparing(context: Context, pod: Pod, container: Container) -> Walk[ContainerSpec | None]:
    """The container spec from the cached responses, healthy devices or not; `None` if the container has no record.

    A limit of 0 is skipped here, though not at admission (DM-84). There is no Allocate call (DM-107).

    Raises:
        PreparationFailed: the container is not created for now; the pod stays (DM-104).

    Rules: DM-84, DM-103, DM-107, DM-123, DM-134
    Follows: GetDeviceRunContainerOptions
    """
    state = context.state
    for name in context.order.arrange("DM-103", container.limits):
        if not state.is_device_plugin_resource(name) or not container.limits[name].value:
            continue
        if name not in state.endpoints:
            text = f"endpoint not found in cache for a registered resource: {name}"
            context.warn("DM-103", pod.key, f"{container.name} cannot be created: {text}")
            raise PreparationFailed(text, rule="DM-103")
    yield from ()
    records = state.books.of_container(pod.uid, container.name)
    if not records:
        return None
    responses = {resource: record.response for resource, record in records.items()}
    return merged(context, f"{pod.key} {container.name}", responses)
