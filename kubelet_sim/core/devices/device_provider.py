"""The device manager as the topology manager sees it: the first provider of hints."""

from __future__ import annotations

from attrs import frozen

from kubelet_sim.core.devices.allocation import allocating
from kubelet_sim.core.devices.device_hints import container_hints, pod_hints
from kubelet_sim.core.effects import Walk
from kubelet_sim.core.state import Context
from kubelet_sim.core.topology.hints import HintsByResource
from kubelet_sim.model.pod import Container, Pod


@frozen
class DeviceProvider:
    """The hints of the device manager, and its allocations; fits `HintProvider`. Rules: DM-119, TM-10"""

    context: Context
    name: str = "devices"

    def hints(self, pod: Pod, container: Container) -> HintsByResource:
        """The hints for the devices that one container asks for."""
        return container_hints(self.context, pod, container)

    def pod_hints(self, pod: Pod) -> HintsByResource:
        """The hints for the devices that all containers of the pod ask for."""
        return pod_hints(self.context, pod)

    def allocating(self, pod: Pod, container: Container) -> Walk[None]:
        """The walk that allocates the devices of a container."""
        return allocating(self.context, pod, container)
