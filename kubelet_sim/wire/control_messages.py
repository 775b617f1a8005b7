"""Between what users see of a node (`kubelet_sim.model.views`, container specs, records) and the control API's messages.

The two sides of the socket are one program, so nothing is judged: a value comes out as it went in. The one exception is
text that is no Unicode, such as a path of other bytes; it arrives with its odd bytes written out, since no message could
carry it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kubelet_sim.model.faults import FaultView
from kubelet_sim.model.life import Comeback
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Dropped, Mount, Provenance
from kubelet_sim.model.views import (
    AllocationView,
    ContainerView,
    DeviceView,
    EventView,
    NodeSnapshot,
    PluginView,
    PodView,
    ResourceView,
)
from kubelet_sim.transcript import Record, RecordLevel
from kubelet_sim.wire.pb import control_v1_pb2 as pb


def snapshot_message(snapshot: NodeSnapshot) -> pb.NodeSnapshot:
    """Return the message of a snapshot."""
    return pb.NodeSnapshot(
        kubelet_version=snapshot.kubelet_version,
        root=sendable(snapshot.root),
        clock=snapshot.clock,
        now_s=snapshot.now_s,
        incarnation=snapshot.incarnation,
        sources_ready=snapshot.sources_ready,
        capacity=_pair_messages(snapshot.capacity),
        allocatable=_pair_messages(snapshot.allocatable),
        resources=[_resource_message(view) for view in snapshot.resources],
        plugins=[_plugin_message(view) for view in snapshot.plugins],
        pods=[_pod_message(view) for view in snapshot.pods],
        allocations=[_allocation_message(view) for view in snapshot.allocations],
        has_kubelet=snapshot.has_kubelet,
        cdi=snapshot.cdi,
    )


def snapshot_value(message: pb.NodeSnapshot) -> NodeSnapshot:
    """Return the snapshot of a message."""
    return NodeSnapshot(
        kubelet_version=message.kubelet_version,
        root=message.root,
        clock=message.clock,
        now_s=message.now_s,
        incarnation=message.incarnation,
        sources_ready=message.sources_ready,
        capacity=_pair_values(message.capacity),
        allocatable=_pair_values(message.allocatable),
        resources=tuple(_resource_value(each) for each in message.resources),
        plugins=tuple(_plugin_value(each) for each in message.plugins),
        pods=tuple(_pod_value(each) for each in message.pods),
        allocations=tuple(_allocation_value(each) for each in message.allocations),
        has_kubelet=message.has_kubelet,
        cdi=message.cdi,
    )


def spec_message(spec: ContainerSpec) -> pb.ContainerSpec:
    """Return the message of a container spec."""
    return pb.ContainerSpec(
        envs=_pair_messages(spec.envs),
        mounts=[
            pb.Mount(container_path=m.container_path, host_path=m.host_path, read_only=m.read_only) for m in spec.mounts
        ],
        devices=[
            pb.DeviceNode(container_path=d.container_path, host_path=d.host_path, permissions=d.permissions)
            for d in spec.devices
        ],
        annotations=_pair_messages(spec.annotations),
        cdi_devices=spec.cdi_devices,
        provenance=_provenance_message(spec.provenance),
    )


def spec_value(message: pb.ContainerSpec) -> ContainerSpec:
    """Return the container spec of a message."""
    return ContainerSpec(
        envs=_pair_values(message.envs),
        mounts=tuple(Mount(m.container_path, m.host_path, m.read_only) for m in message.mounts),
        devices=tuple(DeviceNode(d.container_path, d.host_path, d.permissions) for d in message.devices),
        annotations=_pair_values(message.annotations),
        cdi_devices=tuple(message.cdi_devices),
        provenance=_provenance_value(message.provenance),
    )


def record_message(record: Record) -> pb.Record:
    """Return the message of a record."""
    return pb.Record(
        number=record.number,
        at_s=record.at_s,
        kind=record.kind,
        subject=sendable(record.subject),
        text=sendable(record.text),
        rules=record.rules,
        level=record.level.value,
        walk=record.walk,
        incarnation=record.incarnation,
        details=json.dumps(dict(record.details)) if record.details else "",
    )


def record_value(message: pb.Record) -> Record:
    """Return the record of a message."""
    return Record(
        number=message.number,
        at_s=message.at_s,
        kind=message.kind,
        subject=message.subject,
        text=message.text,
        rules=tuple(message.rules),
        level=RecordLevel(message.level),
        walk=message.walk if message.HasField("walk") else None,
        incarnation=message.incarnation,
        details=json.loads(message.details) if message.details else {},
    )


def event_message(event: EventView) -> pb.Event:
    """Return the message of an event."""
    return pb.Event(
        type=event.type,
        reason=sendable(event.reason),
        object=sendable(event.object),
        message=sendable(event.message),
        at_s=event.at_s,
        first_at_s=event.first_at_s,
        count=event.count,
        field_path=event.field_path,
    )


def event_value(message: pb.Event) -> EventView:
    """Return the event of a message."""
    return EventView(
        type=message.type,
        reason=message.reason,
        object=message.object,
        message=message.message,
        at_s=message.at_s,
        first_at_s=message.first_at_s,
        count=message.count,
        field_path=message.field_path,
    )


def comeback_message(how: Comeback) -> pb.Comeback:
    """Return the message that says how a kubelet comes back."""
    return pb.Comeback(
        socket_after_s=how.socket_after_s,
        loses_checkpoint=not how.keeps_checkpoint,
        loses_directory=not how.keeps_directory,
        same_inode=how.same_inode,
        runtime_after_s=how.runtime_after_s,
    )


def comeback_value(message: pb.Comeback) -> Comeback:
    """Return what a message says of how a kubelet comes back."""
    return Comeback(
        message.socket_after_s,
        keeps_checkpoint=not message.loses_checkpoint,
        keeps_directory=not message.loses_directory,
        same_inode=message.same_inode,
        runtime_after_s=message.runtime_after_s,
    )


def sendable(text: str) -> str:
    """Return the text without halves of characters, which stand for bytes that are no UTF-8 in paths."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _pair_messages(pairs: Iterable[tuple[str, str]]) -> list[pb.Pair]:
    return [pb.Pair(name=name, value=value) for name, value in pairs]


def _pair_values(messages: Iterable[pb.Pair]) -> tuple[tuple[str, str], ...]:
    return tuple((message.name, message.value) for message in messages)


def _provenance_message(provenance: Provenance) -> pb.Provenance:
    return pb.Provenance(
        envs=provenance.envs,
        mounts=provenance.mounts,
        devices=provenance.devices,
        annotations=provenance.annotations,
        cdi_devices=provenance.cdi_devices,
        dropped=[
            pb.Dropped(
                part=each.part,
                key=each.key,
                resource=each.resource,
                value=each.value,
                kept_value=each.kept_value,
                kept_resource=each.kept_resource,
            )
            for each in provenance.dropped
        ],
    )


def _provenance_value(message: pb.Provenance) -> Provenance:
    return Provenance(
        tuple(message.envs),
        tuple(message.mounts),
        tuple(message.devices),
        tuple(message.annotations),
        tuple(message.cdi_devices),
        tuple(
            Dropped(each.part, each.key, each.resource, each.value, each.kept_value, each.kept_resource)
            for each in message.dropped
        ),
    )


def _resource_message(view: ResourceView) -> pb.Resource:
    return pb.Resource(
        name=view.name,
        healthy=view.healthy,
        unhealthy=view.unhealthy,
        allocated=view.allocated,
        endpoint=view.endpoint,
        node_capacity=view.node_capacity,
        node_allocatable=view.node_allocatable,
        devices=[
            pb.Device(
                id=device.id,
                health=device.health,
                is_healthy=device.is_healthy,
                is_allocated=device.is_allocated,
                numa_nodes=device.numa_nodes,
                holders=device.holders,
            )
            for device in view.devices
        ],
        stopped_at_s=view.stopped_at_s,
    )


def _resource_value(message: pb.Resource) -> ResourceView:
    return ResourceView(
        name=message.name,
        healthy=message.healthy,
        unhealthy=message.unhealthy,
        allocated=message.allocated,
        endpoint=message.endpoint,
        node_capacity=message.node_capacity if message.HasField("node_capacity") else None,
        node_allocatable=message.node_allocatable if message.HasField("node_allocatable") else None,
        devices=tuple(
            DeviceView(
                id=device.id,
                health=device.health,
                is_healthy=device.is_healthy,
                is_allocated=device.is_allocated,
                numa_nodes=tuple(device.numa_nodes),
                holders=tuple(device.holders),
            )
            for device in message.devices
        ),
        stopped_at_s=message.stopped_at_s if message.HasField("stopped_at_s") else None,
    )


def _plugin_message(view: PluginView) -> pb.Plugin:
    return pb.Plugin(
        client=view.client,
        resource=view.resource,
        socket_name=view.socket_name,
        state=view.state,
        has_stream=view.has_stream,
        pre_start_required=view.pre_start_required,
        get_preferred_allocation_available=view.get_preferred_allocation_available,
        registered_at_s=view.registered_at_s,
        socket_path=view.socket_path,
        registration_socket=view.registration_socket,
    )


def _plugin_value(message: pb.Plugin) -> PluginView:
    return PluginView(
        client=message.client,
        resource=message.resource,
        socket_name=message.socket_name,
        state=message.state,
        has_stream=message.has_stream,
        pre_start_required=message.pre_start_required,
        get_preferred_allocation_available=message.get_preferred_allocation_available,
        registered_at_s=message.registered_at_s,
        socket_path=message.socket_path,
        registration_socket=message.registration_socket,
    )


def _pod_message(view: PodView) -> pb.Pod:
    return pb.Pod(
        name=view.name,
        namespace=view.namespace,
        uid=view.uid,
        phase=view.phase,
        reason=sendable(view.reason),
        message=sendable(view.message),
        containers=[
            pb.Container(
                name=each.name,
                kind=each.kind,
                state=each.state,
                reason=sendable(each.reason),
                message=sendable(each.message),
                exit_code=each.exit_code,
                restart_count=each.restart_count,
                is_ready=each.is_ready,
                last_reason=each.last_reason,
                last_exit_code=each.last_exit_code,
                last_finished_at_s=each.last_finished_at_s,
                id=each.id,
            )
            for each in view.containers
        ],
        is_active=view.is_active,
        created_at_s=view.created_at_s,
        missing=view.missing,
        is_deleting=view.is_deleting,
        requests=_pair_messages(view.requests),
        limits=_pair_messages(view.limits),
    )


def _pod_value(message: pb.Pod) -> PodView:
    return PodView(
        name=message.name,
        namespace=message.namespace,
        uid=message.uid,
        phase=message.phase,
        reason=message.reason,
        message=message.message,
        containers=tuple(map(_container_value, message.containers)),
        is_active=message.is_active,
        created_at_s=message.created_at_s,
        missing=tuple(message.missing),
        is_deleting=message.is_deleting,
        requests=_pair_values(message.requests),
        limits=_pair_values(message.limits),
    )


def _container_value(message: pb.Container) -> ContainerView:
    return ContainerView(
        message.name,
        message.kind,
        message.state,
        message.reason,
        message.message,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        restart_count=message.restart_count,
        is_ready=message.is_ready,
        last_reason=message.last_reason,
        last_exit_code=message.last_exit_code if message.HasField("last_exit_code") else None,
        last_finished_at_s=message.last_finished_at_s if message.HasField("last_finished_at_s") else None,
        id=message.id,
    )


def _allocation_message(view: AllocationView) -> pb.Allocation:
    return pb.Allocation(
        pod_uid=view.pod_uid,
        pod=view.pod,
        container=view.container,
        resource=view.resource,
        devices=[pb.NumaDevices(numa_node=node, ids=ids) for node, ids in view.devices],
        health=_pair_messages(view.health),
    )


def _allocation_value(message: pb.Allocation) -> AllocationView:
    return AllocationView(
        pod_uid=message.pod_uid,
        pod=message.pod,
        container=message.container,
        resource=message.resource,
        devices=tuple((each.numa_node, tuple(each.ids)) for each in message.devices),
        health=_pair_values(message.health),
    )


def fault_message(view: FaultView) -> pb.Fault:
    """Return the message for a fault."""
    return pb.Fault(
        id=view.id,
        name=view.name,
        arguments=json.dumps(dict(view.arguments)),
        did=view.did,
        undo=view.undo,
        at_s=view.at_s,
        applied=view.applied,
        is_active=view.is_active,
    )


def fault_value(message: pb.Fault) -> FaultView:
    """Return the fault of a message."""
    return FaultView(
        message.id,
        message.name,
        json.loads(message.arguments),
        message.did,
        message.undo,
        message.at_s,
        message.applied,
        message.is_active,
    )
