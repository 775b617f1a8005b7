"""What the kubelet and a plugin say to each other, as values."""

from __future__ import annotations

from posixpath import dirname, normpath

from attrs import frozen

from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.response import ContainerResponse

DIRECTORY = "/var/lib/kubelet/device-plugins"
"""The device-plugin directory of a kubelet, whatever stands for it on a node of ours. Rules: DM-1"""
API_VERSION = "v1beta1"
"""The only version of the device plugin API. Rules: DM-22"""
DIAL_TIMEOUT_S = 10.0
"""Rules: DM-40"""
PRE_START_TIMEOUT_S = 30.0
"""Rules: DM-103"""
GET_INFO_TIMEOUT_S = 1.0
"""Rules: DM-148"""
NOTIFY_TIMEOUT_S = 5.0
"""Rules: DM-148"""
GRACE_PERIOD_S = 300.0
"""How long a lost plugin's resource keeps its capacity; expired when strictly more has passed. Rules: DM-47, DM-70"""
DEVICE_PLUGIN_TYPE = "DevicePlugin"
"""The type of a watched plugin that is ours, to the letter. Rules: DM-148"""
SOCKET_NAME = "kubelet.sock"
CHECKPOINT_NAME = "kubelet_internal_checkpoint"
"""Rules: CP-1, DM-135"""


@frozen
class PluginOptions:
    """What a plugin asks the kubelet to call. Rules: DM-28"""

    pre_start_required: bool = False
    get_preferred_allocation_available: bool = False


@frozen
class Registration:
    """A Register request, kept as it was sent. Rules: DM-21"""

    version: str
    socket_name: str
    """The proto's `endpoint`: a file name, joined to the device-plugin directory without any check. Rules: DM-25"""
    resource: ResourceName
    options: PluginOptions | None = None
    """Sent by some plugins, never looked at. Rules: DM-28"""


@frozen
class SocketName:
    """A socket by its name, joined to the device-plugin directory without any check: what Register says. Rules: DM-25"""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def place(self) -> str:
        """Which file it is, as a kubelet names it: joined and cleaned. Rules: DM-25, DM-180"""
        return normpath(f"{DIRECTORY}/{self.name}")


@frozen
class SocketPath:
    """A socket by its path, taken as it is: what a plugin says that the watcher found. Rules: DM-150"""

    path: str
    """Absolute, if the plugin is sane; otherwise it counts from the working directory."""
    directory: str = DIRECTORY
    """The device-plugin directory of whoever wrote that path: a node of ours has it elsewhere."""

    def __str__(self) -> str:
        return self.path

    @property
    def place(self) -> str:
        """Which file it is, as a kubelet names it, cleaned. Rules: DM-150, DM-180"""
        path, root = normpath(self.path), dirname(self.directory)
        return f"{dirname(DIRECTORY)}{path.removeprefix(root)}" if path.startswith(f"{root}/") else path


PluginSocket = SocketName | SocketPath
"""Where a plugin serves the device plugin API."""


@frozen
class PluginInfo:
    """What a plugin says of itself on a socket in `plugins_registry`: the answer to GetInfo. Rules: DM-148"""

    type: str
    name: str
    """For a device plugin: the resource."""
    endpoint: str = ""
    """The path of the socket where it serves; empty: the socket that was asked. Rules: DM-148, DM-150"""
    supported_versions: tuple[str, ...] = ()


@frozen
class AllocateAnswer:
    """A plugin's answer to one Allocate call."""

    responses: tuple[ContainerResponse, ...]
    """In the order sent; only the first counts, and there may be none. Rules: DM-99"""


@frozen
class PreferredAllocationRequest:
    """What GetPreferredAllocation asks for one container. Rules: DM-94"""

    available: tuple[DeviceID, ...]
    """The ids to choose from, those of `must_include` among them."""
    must_include: tuple[DeviceID, ...]
    size: int
    """How many ids the answer should have, all told."""
