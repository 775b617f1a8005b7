"""The frozen profile of one kubelet release: named switches, each with its rule. The releases themselves are `releases`.

The defaults are v1.36.2, so that another release says only what is different there.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen


class ClientKey(Enum):
    """What the table of connected plugins is keyed by, and so whom the end of a stream disconnects."""

    ENDPOINT = "endpoint"
    """No table: a stream's end counts if its own endpoint is still the registered one. Rules: DM-163"""
    RESOURCE = "resource"
    """One client a resource name, whoever it is. Rules: DM-26, DM-33, DM-35"""
    SOCKET = "socket"
    """One client for each resource name and socket path. Rules: DM-180"""


class Sweep(Enum):
    """What a starting kubelet removes from the device-plugin directory, the checkpoint always excepted."""

    SOCKETS = "sockets"
    """Sockets only, and links to sockets. Rules: DM-8, DM-176"""
    NOT_DIRECTORIES = "not directories"
    """Whatever is no directory; a link is what it leads to. Rules: DM-163"""
    NOT_DIRECTORIES_UNFOLLOWED = "not directories, links unfollowed"
    """Whatever is no directory itself: links go, wherever they lead. Rules: DM-164"""


class Sidecars(Enum):
    """What an init container with `restartPolicy: Always` is."""

    UNKNOWN = "unknown"
    """The field does not exist: an ordinary init container. Rules: DM-171"""
    GIVE_AWAY = "give away"
    """It runs on, yet the app containers take its devices over. Rules: DM-171"""
    KEEP = "keep"
    """It keeps its devices. Rules: DM-87, DM-172"""


class HealthNotices(Enum):
    """How a change of device health reaches the pod's status."""

    NEVER = "never"
    """The pod status has no device health. Rules: DM-154"""
    BLOCK = "block"
    """The reader of the stream waits until the main loop has taken the notice. Rules: DM-174"""
    QUEUE = "queue"
    """A queue of 100; a notice that does not fit is dropped. Rules: DM-158, DM-175"""


class Cdi(Enum):
    """How CDI device names reach the runtime."""

    NEVER = "never"
    """Plugins cannot name any: the field of their answer is not read. Rules: DM-171, DM-181"""
    FIELD_AND_ANNOTATION = "field and annotation"
    """Rules: DM-133"""
    FIELD = "field"
    """Rules: DM-132"""


class Offer(Enum):
    """Whether a method of an API is there, and answers."""

    ABSENT = "absent"
    """There is no such method yet: code `Unimplemented`. Rules: PR-4, DM-164"""
    OFF = "off"
    """It is there, behind a gate that is off: a plain error says so. Rules: PR-7"""
    ON = "on"
    """It answers."""


@frozen
class Profile:
    """The named switches of one kubelet release, with its default feature gates unless `with_gates` changed them."""

    version: str = "1.36"
    """As people write it: `1.36`, `1.25.10` or `next`."""
    stands_for: str = "v1.36.2"
    """The patch release that was read or run."""
    was_read: bool = True
    """Whether its sources were read; otherwise its neighbours and threads speak for it. Rules: DM-165"""

    # Registration and connections
    register_waits_for_plugin: bool = True
    """Whether the dial and GetDevicePluginOptions come before the answer to Register. Rules: DM-27, DM-163, DM-168"""
    options_from_request: bool = False
    """Whether the options in the Register request count, and the plugin is not asked. Rules: DM-28, DM-163, DM-168"""
    register_context_reaches_plugin: bool = True
    """Whether the caller's deadline and departure end the dial and the options call. Rules: DM-30"""
    clients_by: ClientKey = ClientKey.RESOURCE
    """Whom the end of a stream, or of a registration, reaches. Rules: DM-33, DM-163, DM-168, DM-180"""
    authority_is_localhost: bool = True
    """Otherwise the socket's path is the authority of calls to plugins. Rules: DM-40, DM-163, DM-169"""
    disconnect_without_endpoint_crashes: bool = False
    """Whether a real kubelet ends when a client of a resource without endpoint is disconnected. Rules: DM-168, DM-172"""

    # The directory
    sweep: Sweep = Sweep.SOCKETS
    """What a start removes from the directory. Rules: DM-8, DM-163, DM-164, DM-174, DM-176"""
    failed_sweep_is_fatal: bool = True
    """Otherwise a failure to clean the directory is only logged. Rules: DM-9, DM-163, DM-168"""
    makes_deprecation_file: bool = False
    """Whether a file `DEPRECATION` appears beside `kubelet.sock`. Rules: DM-15, DM-163, DM-168"""

    # Admission and allocation
    rejection_prefix: str = "Pod was rejected: "
    """What precedes the message in the pod's status. Rules: DM-77"""
    spares_running_containers: bool = True
    """Check (2) of DM-90: a container that ran when the kubelet started is not checked. Rules: DM-163, DM-168"""
    checks_device_health: bool = True
    """Checks (4) and (5) of DM-90, before check (6). Rules: DM-163, DM-168"""
    unregistered_text: str = "cannot allocate unregistered device"
    """The beginning of the text of check (3). Rules: DM-90, DM-163, DM-168"""
    any_running_container_counts: bool = True
    """Otherwise one arbitrary container of the name speaks for all that the runtime still has. Rules: DM-110, DM-177"""
    zero_limit_matters_at_creation: bool = False
    """Whether a limit of 0 is looked at when a container is created, as any other limit. Rules: DM-84, DM-163, DM-164"""
    late_allocation_for_active_only: bool = True
    """Otherwise a container of any pod gets missing devices at its creation. Rules: DM-106, DM-167"""
    unlisted_resources_dropped_for_init: bool = True
    """Whether predicates drop init containers' requests for resources that the node does not list, too. Rules: DM-80, DM-174"""
    no_response_text_is_empty: bool = True
    """Otherwise an Allocate answer without responses is printed as the older protobuf library did. Rules: DM-99, DM-177"""
    vanished_device_crashes: bool = True
    """Whether a real kubelet ends when a device it needs is not listed any more. Rules: DM-59, DM-177"""
    recount_while_asked_crashes: bool = False
    """Whether a real kubelet ends when devices are recounted during GetPreferredAllocation. Rules: DM-173"""
    sidecars: Sidecars = Sidecars.KEEP
    """What a restartable init container is, and does with its devices. Rules: DM-87, DM-171, DM-172"""
    skips_claimed_limits: bool = True
    """Whether a limit that a resource claim serves (`extendedResourceClaimStatus`) is skipped. Rules: DM-85, DM-178"""
    predicates_skip_claimed: bool = True
    """Whether predicates drop such a request, too. Rules: DM-80, DM-179"""

    resizes_in_place: bool = True
    """Whether the cpu and memory of a pod that runs can be changed. Rules: DM-114, DM-178"""
    refused_resizes_are_deferred: bool = False
    """Whether a resize that admission refuses has the reason Deferred, whatever the refusal is for. Rules: DM-114"""
    pinned_pods_resize_memory: bool = True
    """Whether the static CPU policy lets the memory of a guaranteed pod be changed. Rules: DM-114"""

    # Topology
    numa_node_of_no_topology: int = -1
    """Under which node a device without topology is recorded. Rules: DM-100, DM-163, DM-166"""
    empty_topology_is_impossible: bool = False
    """Whether a topology without nodes counts as topology for alignment. Rules: DM-56, DM-169"""
    any_matching_node_aligns: bool = True
    """Otherwise a device on several nodes is filed under an arbitrary one of them. Rules: DM-91, DM-166"""
    hints_on_device_nodes_only: bool = True
    """Otherwise every node of the machine is considered. Rules: DM-120, DM-178"""

    # The checkpoint and the node status
    reads_checkpoint_before_1_20: bool = False
    """Whether a file with plain lists of ids, as written before 1.20, is read. Rules: DM-144, DM-163, DM-165, DM-174"""
    node_status_stretch: float = 0.04
    """Each node status period is stretched by a random part of itself, up to this. Rules: DM-65, DM-163, DM-166"""

    # What containers get
    cdi: Cdi = Cdi.FIELD
    """How CDI names of an Allocate answer reach the runtime. Rules: DM-132, DM-133, DM-171, DM-175"""

    # What others see
    health_notices: HealthNotices = HealthNotices.QUEUE
    """How a change of health reaches the pod's status. Rules: DM-154, DM-158, DM-174, DM-175"""
    watcher_retries: bool = True
    """Whether a failed registration by the watcher, or one whose success cannot be told, is tried again. Rules: DM-151, DM-179"""
    has_device_plugin_check: bool = True
    """Whether `healthz` has the check `device-plugin`. Rules: DM-12, DM-175"""
    counts_rejections: bool = True
    """Whether there is `kubelet_admission_rejections_total`. Rules: DM-161, DM-175"""

    # Pod resources
    pod_resources_rate_limited: bool = True
    """Whether the server takes at most 100 calls a second. Rules: PR-6"""
    pod_resources_get: Offer = Offer.ON
    """Whether there is v1 `Get`, and answers. Rules: PR-7"""
    pod_resources_allocatable: Offer = Offer.ON
    """Whether there is v1 `GetAllocatableResources`, and answers. Rules: PR-20, DM-164"""
    allocatable_lists_unhealthy: bool = False
    """Whether `GetAllocatableResources` lists unhealthy devices, too. Rules: PR-26, DM-164, DM-166"""
    list_shows_active_pods_only: bool = True
    """Otherwise v1 `List` shows every pod that the kubelet knows. Rules: PR-7, PR-11"""


V1_36 = Profile()
