"""What a user sees of a node: one snapshot, made by the node, carried by the control API, rendered by the command line.

Every tuple is sorted by name (id, number) so that two looks at the same state are equal.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class DeviceView:
    """What a user sees of one device of a resource."""

    id: str
    health: str
    """As the plugin sent it last."""
    is_healthy: bool
    """Whether it is in the healthy set; false for every device of a lost plugin, whatever it sent. Rules: DM-44, DM-52"""
    is_allocated: bool
    """Whether the id counts as in use. Rules: DM-90"""
    numa_nodes: tuple[int, ...] = ()
    holders: tuple[str, ...] = ()
    """`namespace/name/container` of every record that holds it."""


@frozen
class ResourceView:
    """One resource: the device manager's books beside the node object as last computed."""

    name: str
    healthy: int
    unhealthy: int
    allocated: int
    """Ids in use, whatever their health."""
    endpoint: str
    """`live`, `stopped`, `placeholder` (from the checkpoint) or `none`."""
    node_capacity: str | None
    """In the node object, as last computed; `None` if it does not list the resource. Rules: DM-64"""
    node_allocatable: str | None
    devices: tuple[DeviceView, ...] = ()
    stopped_at_s: float | None = None
    """When its endpoint stopped, on the clock of `NodeSnapshot.now_s`; `None` as long as it has not. Rules: DM-45, DM-47"""

    @property
    def words(self) -> str:
        """How it stands, for whoever waited for something else."""
        return f"{self.healthy} healthy and {self.unhealthy} unhealthy devices, endpoint {self.endpoint}"


@frozen
class PluginView:
    """One connection to a plugin of this kubelet process, in order of registration."""

    client: int
    resource: str
    socket_name: str
    """As it registered it: below the device-plugin directory, or the whole path if the plugin watcher found it."""
    socket_path: str
    """Where it was dialled. Rules: DM-25, DM-150"""
    state: str
    """`connecting`, `live` (its endpoint serves the resource), `replaced` (a newer one does), `stopped` or `failed`."""
    has_stream: bool
    pre_start_required: bool
    get_preferred_allocation_available: bool
    registered_at_s: float
    registration_socket: str = ""
    """By which socket the plugin watcher found it; empty: the plugin called Register. Rules: DM-146"""


@frozen
class ContainerView:
    """One container of a pod, in the simulated runtime."""

    name: str
    kind: str
    """`init`, `sidecar` or `app`."""
    state: str
    """`waiting`, `created`, `running` or `exited`."""
    reason: str = ""
    """Why it waits, or how it ended: `CrashLoopBackOff`, `Completed`."""
    message: str = ""
    exit_code: int | None = None
    """Of one that has ended."""
    restart_count: int = 0
    is_ready: bool = False
    """Whether it runs; of an init container, whether it has ended well."""
    last_reason: str = ""
    """How the attempt before ended; empty if there was none."""
    last_exit_code: int | None = None
    last_finished_at_s: float | None = None
    """When that one ended, on the clock of `NodeSnapshot.now_s`."""
    id: str = ""
    """Of the last attempt, in the runtime."""


@frozen
class PodView:
    """One pod that the node knows."""

    name: str
    namespace: str
    uid: str
    phase: str
    """`Pending`, `Running`, `Succeeded` or `Failed`."""
    reason: str = ""
    message: str = ""
    containers: tuple[ContainerView, ...] = ()
    """In spec order, init containers first."""
    is_active: bool = True
    """Whether its devices are safe from reclaim. Rules: DM-116"""
    created_at_s: float = 0.0
    """When the node got to know it, on the clock of `NodeSnapshot.now_s`."""
    missing: tuple[str, ...] = ()
    """Resources that it asks for and runs without, sorted: nobody had listed them. Rules: DM-81"""
    is_deleting: bool = False
    """Whether it was deleted, and its containers are still stopping."""
    requests: tuple[tuple[str, str], ...] = ()
    """What it asks of the node, all containers together: by resource, sorted, with its overhead."""
    limits: tuple[tuple[str, str], ...] = ()


@frozen
class AllocationView:
    """Devices bound to (pod, container, resource)."""

    pod_uid: str
    pod: str
    """`namespace/name`; the uid where the node does not know the pod any more."""
    container: str
    resource: str
    devices: tuple[tuple[int, tuple[str, ...]], ...]
    """(NUMA node, ids), −1 for devices without topology."""
    health: tuple[tuple[str, str], ...] = ()
    """(id, `Healthy` or `Unhealthy`) of each, as the next status of the pod would show it; sorted by id. Rules: DM-156"""


@frozen
class EventView:
    """Something that the kubelet tells the API server of a pod or of the node. Rules: DM-77, DM-104"""

    type: str
    """`Normal` or `Warning`."""
    reason: str
    object: str
    """`pod/NAMESPACE/NAME`, or `node/NAME`."""
    message: str
    at_s: float
    """The last time, in seconds since the node started."""
    first_at_s: float
    count: int = 1
    """How often the same was said."""
    field_path: str = ""
    """The part of the object that it is about, such as `spec.containers{main}`; empty for all of it."""


@frozen
class NodeSnapshot:
    """What a user sees of a node at one moment."""

    kubelet_version: str
    root: str
    clock: str
    """`real` or `manual`."""
    now_s: float
    """Seconds since the node started, on its clock."""
    incarnation: int
    """Which kubelet process this is, counted from 1."""
    sources_ready: bool
    capacity: tuple[tuple[str, str], ...]
    """The node object's, every resource with its quantity. Rules: DM-64"""
    allocatable: tuple[tuple[str, str], ...]
    resources: tuple[ResourceView, ...] = ()
    plugins: tuple[PluginView, ...] = ()
    pods: tuple[PodView, ...] = ()
    allocations: tuple[AllocationView, ...] = ()
    has_kubelet: bool = True
    """Whether a kubelet runs. Without one, what only a kubelet knows is empty: plugins, devices, allocations."""
    cdi: str = "field"
    """How CDI names reach the runtime, by the release and its gates: `never`, `field`, `field and annotation`. Rules: DM-132, DM-133"""
