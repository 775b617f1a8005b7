"""A container as the kubelet hands it to the runtime, each entry with where it came from. Values only.

How it is put together is `builder`; what becomes of it in the two formats of the ecosystem is `cri` and `oci`.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from attrs import field, frozen


class Giver(Enum):
    """Who put an entry into a container's configuration."""

    PLUGIN = "plugin"
    POD = "pod"
    KUBELET = "kubelet"
    CDI = "CDI"
    RUNTIME = "runtime"


@frozen
class Origin:
    """Where an entry came from, and by which rules."""

    giver: Giver
    name: str = ""
    """The resource of a plugin's answer, the field of the pod, the CDI device, …"""
    rules: tuple[str, ...] = ()
    note: str = ""
    """What a reader should know of this one entry."""

    def __str__(self) -> str:
        return f"{self.giver.value} {self.name}" if self.name else self.giver.value


@frozen
class Env:
    """One environment variable. A name may occur twice. Rules: DM-128"""

    name: str
    value: str
    origin: Origin


class Propagation(IntEnum):
    """How mounts made later travel between host and container; the numbers are CRI's."""

    PRIVATE = 0
    HOST_TO_CONTAINER = 1
    BIDIRECTIONAL = 2


class MadeByKubelet(Enum):
    """What the kubelet itself makes at a host path before the container is created."""

    NOTHING = ""
    DIRECTORY = "directory"
    FILE = "file"


@frozen
class Bind:
    """A mount of a container. Rules: DM-126, DM-127"""

    container_path: str
    host_path: str
    read_only: bool
    origin: Origin
    propagation: Propagation = Propagation.PRIVATE
    recursive_read_only: bool = False
    made: MadeByKubelet = MadeByKubelet.NOTHING
    volume_path: str = ""
    """For a sub-path: the path below the volume that the kubelet binds to `host_path`."""


@frozen
class ContainerDevice:
    """A device node of a container. Rules: DM-126"""

    container_path: str
    host_path: str
    permissions: str
    origin: Origin


@frozen
class Annotation:
    """One annotation of the container; a key occurs once. Rules: DM-131"""

    key: str
    value: str
    origin: Origin


@frozen
class CdiName:
    """The name of a CDI device, as sent. Rules: DM-132"""

    name: str
    origin: Origin


@frozen
class LostEntry:
    """Something that did not get into the container, and why."""

    part: str
    """`env`, `mount`, `device`, `annotation` or `CDI device`."""
    key: str
    value: str
    origin: Origin
    why: str
    is_conflict: bool = False
    """Whether two givers said different things, so that it matters who won."""


@frozen
class NotSimulated:
    """Something of the pod that an emulated node does not have."""

    what: str
    why: str


@frozen
class PodFacts:
    """What containers of one pod share."""

    name: str
    namespace: str
    uid: str
    hostname: str
    host_network: bool = False


@frozen
class IdMapping:
    """Which ids of the host stand behind those from 0 on in a pod with a user namespace of its own. Rules: DM-130"""

    host_id: int = 65_536
    """A kubelet picks a range for each pod; this one stands for it."""
    length: int = 65_536


@frozen
class Security:
    """What the pod's security contexts come to, without what an image would add."""

    privileged: bool = False
    run_as_user: int | None = None
    run_as_group: int | None = None
    supplemental_groups: tuple[int, ...] = ()
    read_only_root: bool = False
    no_new_privileges: bool = False
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    masked_paths: tuple[str, ...] = ()
    read_only_paths: tuple[str, ...] = ()
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    shares_pid: bool = False
    """Whether the containers of the pod see each other's processes."""
    user_namespace: IdMapping | None = None
    """`None`: users are those of the host."""


@frozen
class Limits:
    """What the pod's cpu and memory come to; 0 is not set."""

    cpu_period: int = 100_000
    cpu_quota: int = 0
    cpu_shares: int = 2
    memory_bytes: int = 0
    oom_score_adjust: int | None = None
    """`None`: it depends on the memory of the machine, which an emulated node has not."""


@frozen
class ContainerConfig:
    """A container as the kubelet hands it to the runtime. Lists are in the order of the CRI message.

    Rules: DM-127, DM-128, DM-131, DM-132
    """

    pod: PodFacts
    name: str
    image: str = ""
    attempt: int = 0
    """How often it was created before."""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    envs: tuple[Env, ...] = ()
    mounts: tuple[Bind, ...] = ()
    devices: tuple[ContainerDevice, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[Annotation, ...] = ()
    cdi_devices: tuple[CdiName, ...] = ()
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    security: Security = Security()
    limits: Limits = Limits()
    lost: tuple[LostEntry, ...] = field(default=(), repr=False)
    not_simulated: tuple[NotSimulated, ...] = field(default=(), repr=False)

    def env_values(self) -> dict[str, str]:
        """The variables by name; of a name that occurs twice the later one, as the kubelet reads it. Rules: DM-128"""
        return {each.name: each.value for each in self.envs}
