"""What each switch means to people: a title, its rules, and a sentence for each value that it has in any release.

A sentence says what somebody notices who writes a plugin or uses a node, not how the kubelet is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, fields, frozen

from kubelet_sim.profiles.profile import Cdi, ClientKey, HealthNotices, Offer, Profile, Sidecars, Sweep

NOT_SWITCHES = ("version", "stands_for", "was_read")
"""Fields of a profile that name it."""


@frozen
class SwitchTexts:
    """What one switch of the profiles means, in words."""

    name: str
    title: str
    rules: tuple[str, ...]
    words: Mapping[Any, str] = field(hash=False)
    """A sentence for each value."""


@frozen
class SwitchMoved:
    """A switch that two releases have at different values."""

    switch: SwitchTexts
    before: Any
    after: Any

    @property
    def text(self) -> str:
        """What holds in the later of the two."""
        return self.switch.words[self.after]


def _truth(name: str, title: str, rules: str, yes: str, no: str) -> SwitchTexts:
    return SwitchTexts(name, title, tuple(rules.split()), MappingProxyType({True: yes, False: no}))


def _choice(name: str, title: str, rules: str, words: Mapping[Any, str]) -> SwitchTexts:
    return SwitchTexts(name, title, tuple(rules.split()), MappingProxyType(dict(words)))


_ALL = (
    _truth(
        "register_waits_for_plugin",
        "Register waits for the plugin",
        "DM-27 DM-163 DM-168",
        "Register is answered after the plugin was dialled and asked for its options: a plugin has to serve first, "
        "and learns from the answer if it could not be reached.",
        "Register is answered at once and the plugin is dialled afterwards, for up to 10 s: it may register first "
        "and serve later, and is not told if nobody could reach it.",
    ),
    _truth(
        "options_from_request",
        "options come from the Register request",
        "DM-28 DM-163 DM-168",
        "The options in the Register request count; GetDevicePluginOptions is not called for a plugin that registers.",
        "The options in the Register request are ignored; GetDevicePluginOptions is called and has to be served.",
    ),
    _truth(
        "register_context_reaches_plugin",
        "the Register caller's deadline reaches the plugin",
        "DM-30 DM-178",
        "A caller of Register that gives up, or whose deadline passes, ends the dial and the options call.",
        "The dial (10 s) and the options call (no limit) go on without the caller of Register.",
    ),
    _choice(
        "clients_by",
        "connected plugins are told apart by",
        "DM-33 DM-163 DM-168 DM-180",
        {
            ClientKey.ENDPOINT: "The end of an older stream of a resource does not touch a plugin that has registered "
            "since.",
            ClientKey.RESOURCE: "There is one client a resource name: the end of an older stream cuts off the plugin "
            "that has registered since, so end the old one before the new one registers.",
            ClientKey.SOCKET: "There is one client for each resource name and socket: the end of an older stream "
            "leaves a plugin on another socket alone.",
        },
    ),
    _truth(
        "authority_is_localhost",
        "calls to plugins have the authority `localhost`",
        "DM-40 DM-163 DM-169",
        "Calls to a plugin carry `localhost` as their authority.",
        "Calls to a plugin carry the path of its socket as their authority, which strict HTTP/2 servers refuse.",
    ),
    _truth(
        "disconnect_without_endpoint_crashes",
        "a disconnect without endpoint crashes",
        "DM-168 DM-172",
        "The kubelet crashes when a plugin of a resource that was removed meanwhile is disconnected.",
        "Disconnecting a plugin of a resource that was removed meanwhile is harmless.",
    ),
    _choice(
        "sweep",
        "what a start removes from the directory",
        "DM-8 DM-163 DM-164 DM-174 DM-176",
        {
            Sweep.SOCKETS: "A start removes sockets, and links to them, from the directory; regular files stay.",
            Sweep.NOT_DIRECTORIES: "A start removes whatever is no directory, regular files of plugins too; a link "
            "counts as what it leads to.",
            Sweep.NOT_DIRECTORIES_UNFOLLOWED: "A start removes whatever is no directory, regular files of plugins and "
            "every link too.",
        },
    ),
    _truth(
        "failed_sweep_is_fatal",
        "a failed sweep is fatal",
        "DM-9 DM-163 DM-168",
        "The kubelet does not start if an entry of the directory cannot be removed.",
        "An entry of the directory that cannot be removed is logged, and the kubelet starts.",
    ),
    _truth(
        "makes_deprecation_file",
        "there is a `DEPRECATION` file",
        "DM-15 DM-163 DM-168",
        "A file `DEPRECATION` appears in the directory at every start; plugins that look for it register by the "
        "watcher, too.",
        "No file `DEPRECATION` appears in the directory.",
    ),
    _choice(
        "rejection_prefix",
        "the pod's status begins a refusal with",
        "DM-77 DM-163 DM-169",
        {
            "Pod ": "The status of a refused pod begins with `Pod `.",
            "Pod was rejected: ": "The status of a refused pod begins with `Pod was rejected: `.",
        },
    ),
    _truth(
        "spares_running_containers",
        "running containers are not checked at a kubelet restart",
        "DM-90 DM-110 DM-163 DM-168",
        "A container that ran when the kubelet started is admitted again without a look at its devices, until the "
        "sources are ready.",
        "A container that ran when the kubelet started is treated like any other when its pod is admitted again.",
    ),
    _truth(
        "checks_device_health",
        "recorded devices have to be healthy",
        "DM-90 DM-163 DM-168",
        "A pod that is admitted again needs its recorded devices registered, listed and healthy, or it is rejected.",
        "A pod that is admitted again keeps its recorded devices whatever has become of them, and a limit of 0 is "
        "never refused.",
    ),
    _choice(
        "unregistered_text",
        "the text for a resource that is not registered begins with",
        "DM-90 DM-163 DM-168",
        {
            "can't allocate unregistered device": "The refusal for a resource without plugin reads `can't allocate "
            "unregistered device`.",
            "cannot allocate unregistered device": "The refusal for a resource without plugin reads `cannot allocate "
            "unregistered device`.",
        },
    ),
    _truth(
        "any_running_container_counts",
        "any running container of the name counts",
        "DM-110 DM-177",
        "A container counts as running at a kubelet restart if any that the runtime has of its name runs.",
        "Whether a container counts as running at a kubelet restart is looked up in an arbitrary one of those that "
        "the runtime has of its name: one that had been restarted can be misjudged, and its pod rejected.",
    ),
    _truth(
        "zero_limit_matters_at_creation",
        "a limit of 0 matters at container creation",
        "DM-84 DM-163 DM-164",
        "A container with a limit of 0 for a resource whose plugin requires PreStartContainer cannot be created.",
        "A limit of 0 is skipped when a container is created.",
    ),
    _truth(
        "late_allocation_for_active_only",
        "late allocation is for active pods only",
        "DM-106 DM-167",
        "Devices that are missing at container creation are allocated then, if the pod is active.",
        "Devices that are missing at container creation are allocated then, to any pod.",
    ),
    _truth(
        "unlisted_resources_dropped_for_init",
        "init containers may ask for unknown resources",
        "DM-80 DM-174",
        "A pod whose init container asks for a resource that the node does not list is admitted without it.",
        "A pod whose init container asks for a resource that the node does not list is refused with `OutOf` and its "
        "name; app containers are not.",
    ),
    _truth(
        "no_response_text_is_empty",
        "an Allocate answer without responses is printed as nothing",
        "DM-99 DM-177",
        "The refusal after an Allocate answer without container responses ends with the word `response`.",
        "The refusal after an Allocate answer without container responses shows the empty answer as a Go value.",
    ),
    _truth(
        "vanished_device_crashes",
        "a vanished device crashes",
        "DM-59 DM-177",
        "The kubelet crashes when a device is gone from the list at the moment it is recorded or gives hints.",
        "A device that is gone from the list when it is recorded or gives hints counts as one without topology.",
    ),
    _truth(
        "recount_while_asked_crashes",
        "a recount during GetPreferredAllocation crashes",
        "DM-97 DM-173",
        "The kubelet can crash when devices are freed while a plugin is asked for its preference.",
        "Devices may be freed while a plugin is asked for its preference.",
    ),
    _choice(
        "sidecars",
        "restartable init containers",
        "DM-87 DM-171 DM-172",
        {
            Sidecars.UNKNOWN: "An init container with `restartPolicy: Always` is an ordinary one: it runs to its end, "
            "and later containers take its devices over.",
            Sidecars.GIVE_AWAY: "A sidecar runs on, yet app containers are given its devices as well.",
            Sidecars.KEEP: "A sidecar keeps its devices.",
        },
    ),
    _truth(
        "skips_claimed_limits",
        "limits that a claim serves are skipped",
        "DM-85 DM-178 DM-179",
        "A limit that the pod's status maps to a resource claim is not allocated by the device manager.",
        "A limit is allocated by the device manager whatever resource claims the pod's status names.",
    ),
    _truth(
        "predicates_skip_claimed",
        "predicates skip requests that a claim serves",
        "DM-80 DM-179",
        "A request that the pod's status maps to a resource claim needs no room on the node.",
        "A request needs room on the node whatever resource claims the pod's status names.",
    ),
    _truth(
        "resizes_in_place",
        "pods are resized in place",
        "DM-114 DM-178",
        "The cpu and memory of a pod that runs can be changed: it passes admission again, and is refused if one of its "
        "devices is unhealthy or gone.",
        "The cpu and memory of a pod that runs stay as they are (there is a gate for it from 1.27 on, off by default).",
    ),
    _truth(
        "refused_resizes_are_deferred",
        "refused resizes are deferred",
        "DM-114",
        "A resize that admission refuses has the reason Deferred, which the kubelet tries again by itself.",
        "Where pods can be resized, a resize that admission refuses has the reason of the refusal, such as "
        "UnexpectedAdmissionError.",
    ),
    _truth(
        "pinned_pods_resize_memory",
        "guaranteed pods get other memory beside static cpus",
        "DM-114",
        "With the static CPU policy a guaranteed pod keeps its cpu, and can have another amount of memory.",
        "With the static CPU policy no resize of a guaranteed pod is feasible.",
    ),
    _choice(
        "numa_node_of_no_topology",
        "devices without topology are recorded under NUMA node",
        "DM-100 DM-163 DM-166",
        {
            0: "A device without topology is recorded under NUMA node 0 and shown there to users of pod resources.",
            -1: "A device without topology is recorded as such, and shown without topology.",
        },
    ),
    _truth(
        "empty_topology_is_impossible",
        "a topology without nodes counts as topology",
        "DM-56 DM-169",
        "A device whose topology lists no nodes can never be aligned: a policy that needs alignment refuses its pods.",
        "A device whose topology lists no nodes is one without topology.",
    ),
    _truth(
        "any_matching_node_aligns",
        "any matching node aligns a device",
        "DM-91 DM-166",
        "A device on several NUMA nodes is aligned if any of them is in the affinity.",
        "A device on several NUMA nodes is looked at under an arbitrary one of them, and may be taken for unaligned.",
    ),
    _truth(
        "hints_on_device_nodes_only",
        "hints name only nodes with devices",
        "DM-120 DM-178",
        "Hints name only NUMA nodes that host a device of the resource.",
        "Hints name every NUMA node of the machine, those without a device of the resource too.",
    ),
    _truth(
        "reads_checkpoint_before_1_20",
        "checkpoints of before 1.20 are read",
        "DM-144 DM-163 DM-165 DM-174",
        "A checkpoint that a kubelet before 1.20 wrote is read; its devices count as on NUMA node 0.",
        "A checkpoint that a kubelet before 1.20 wrote is taken for corrupt: pods lose their devices' records.",
    ),
    _choice(
        "node_status_stretch",
        "node status periods are stretched by up to",
        "DM-65 DM-163 DM-166",
        {
            0.0: "The node status is computed exactly every 10 s.",
            0.04: "The node status is computed every 10 s, each period stretched by up to 4 %.",
        },
    ),
    _choice(
        "cdi",
        "CDI devices reach the runtime",
        "DM-132 DM-133 DM-171 DM-172 DM-175",
        {
            Cdi.NEVER: "CDI names in an Allocate answer have no effect.",
            Cdi.FIELD_AND_ANNOTATION: "CDI names in an Allocate answer reach the runtime in the CRI field and in an "
            "annotation, which container names of over 12 characters do without.",
            Cdi.FIELD: "CDI names in an Allocate answer reach the runtime in the CRI field alone.",
        },
    ),
    _choice(
        "health_notices",
        "changes of device health reach the pod's status",
        "DM-154 DM-157 DM-158 DM-174 DM-175",
        {
            HealthNotices.NEVER: "The pod's status says nothing of the health of devices.",
            HealthNotices.BLOCK: "The pod's status shows the health of devices; a list is read only when the notice "
            "of the one before was taken.",
            HealthNotices.QUEUE: "The pod's status shows the health of devices; of many changes at once some are told "
            "late.",
        },
    ),
    _truth(
        "watcher_retries",
        "the plugin watcher tries again",
        "DM-151 DM-179",
        "A registration by a socket in `plugins_registry` that failed is tried again.",
        "A registration by a socket in `plugins_registry` that failed is left at that until the socket is made anew.",
    ),
    _truth(
        "has_device_plugin_check",
        "`healthz` has the check `device-plugin`",
        "DM-12 DM-175",
        "The kubelet's health endpoint has a check `device-plugin`, which fails when registration is not served.",
        "The kubelet's health endpoint says nothing of device plugins.",
    ),
    _truth(
        "counts_rejections",
        "rejections are counted",
        "DM-77 DM-161 DM-175",
        "Rejected pods are counted in `kubelet_admission_rejections_total`.",
        "Rejected pods are not counted.",
    ),
    _truth(
        "pod_resources_rate_limited",
        "pod resources are rate limited",
        "PR-6",
        "The pod resources API takes 100 calls a second, all clients together.",
        "The pod resources API takes any number of calls.",
    ),
    _choice(
        "pod_resources_get",
        "pod resources: `Get`",
        "PR-4 PR-7",
        {
            Offer.ABSENT: "The pod resources API has no method `Get`: a call fails with `Unimplemented`.",
            Offer.OFF: "The pod resources API has a method `Get`, which fails because its gate is off.",
            Offer.ON: "The pod resources API answers `Get`.",
        },
    ),
    _choice(
        "pod_resources_allocatable",
        "pod resources: `GetAllocatableResources`",
        "PR-4 PR-20 DM-164",
        {
            Offer.ABSENT: "The pod resources API has no method `GetAllocatableResources`: a call fails with "
            "`Unimplemented`.",
            Offer.OFF: "The pod resources API has a method `GetAllocatableResources`, which fails because its gate is "
            "off.",
            Offer.ON: "The pod resources API answers `GetAllocatableResources`.",
        },
    ),
    _truth(
        "allocatable_lists_unhealthy",
        "`GetAllocatableResources` lists unhealthy devices",
        "PR-26 DM-164 DM-166",
        "`GetAllocatableResources`, where it is answered, lists unhealthy devices, too.",
        "`GetAllocatableResources` lists healthy devices only.",
    ),
    _truth(
        "list_shows_active_pods_only",
        "`List` shows active pods only",
        "PR-7 PR-11",
        "`List` of the pod resources API shows active pods only.",
        "`List` of the pod resources API shows ended and rejected pods, too.",
    ),
)

SWITCHES: Mapping[str, SwitchTexts] = MappingProxyType({switch.name: switch for switch in _ALL})
"""In the order in which a profile has them."""


def moved(before: Profile, after: Profile) -> tuple[SwitchMoved, ...]:
    """The switches at which two releases differ, in the order of the profile."""
    return tuple(_moved(before, after))


def _moved(before: Profile, after: Profile) -> Iterator[SwitchMoved]:
    for each in fields(Profile):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if each.name not in NOT_SWITCHES and old != new:
            yield SwitchMoved(SWITCHES[each.name], old, new)


def value_text(value: object) -> str:
    """A switch's value as a table shows it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case Cdi() | ClientKey() | HealthNotices() | Offer() | Sidecars() | Sweep():
            return str(value.value)
        case str():
            return f"`{value}`"
    return str(value)
