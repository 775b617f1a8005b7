"""Calls to a plugin that no kubelet makes, for faults: what is odd about them cannot be said through `PluginConnection`."""

from __future__ import annotations

from collections.abc import Sequence

from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.wire import messages
from kubelet_sim.wire.pb import deviceplugin_v1beta1_pb2 as pb
from kubelet_sim.wire.plugin_client import GrpcPluginConnection


async def allocate_containers(socket_path: str, requests: Sequence[Sequence[DeviceID]]) -> AllocateAnswer:
    """Return the answer to one Allocate for several containers, on a connection of its own. Raises `RpcFailed`.

    A kubelet asks for one container at a time. Rules: DM-98
    """
    message = pb.AllocateRequest(container_requests=[pb.ContainerAllocateRequest(devices_ids=ids) for ids in requests])
    connection = GrpcPluginConnection(socket_path)
    try:
        path = f"/{messages.PLUGIN_SERVICE}/Allocate"
        return await connection.call(path, message.SerializeToString(), messages.decode_allocate_answer)
    finally:
        await connection.close()
