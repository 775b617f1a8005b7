"""What a scripted plugin does, as values: read from the script of a story, with every error naming its place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve, field, frozen

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.device import HEALTHY, Device
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.plugin import API_VERSION, DEVICE_PLUGIN_TYPE, PluginInfo, PluginOptions, Registration
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.records import read_by, record, spread
from kubelet_sim.scenario.story.values import Keys, ValueKind
from kubelet_sim.wire.status import go_name_of

Devices = tuple[Device, ...]
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_TEXTS_BY_NAME = values.mapping_of(values.text)


@values.kind(
    values.closed(
        {
            "id": values.text.schema,
            "health": values.text.schema,
            "numa": values.or_variable(values.list_of(values.integer).schema),
        },
        ("id",),
    )
)
def _device(value: object) -> Device:
    given = Keys(value, "a device")
    numa = given.take("numa", values.list_of(values.integer), None)
    topology = None if numa is None else tuple(map(NumaNode, numa))
    device = Device(DeviceID(given.take("id", values.text)), given.take("health", values.text, HEALTHY), topology)
    given.end()
    return device


read_devices = ValueKind(values.list_of(_device), {"$ref": "#/$defs/devices"})
"""Reads a list of `{"id", "health", "numa"}`; without `numa` a device has no topology. Raises `UsageError`."""
DEVICES_SCHEMA = values.list_of(_device).schema


@values.kind(values.list_of(values.text, minItems=2, maxItems=2).schema)
def read_status(value: object) -> RpcFailed:
    """A pair `[CODE, text]`. Raises `UsageError`."""
    match value:
        case [str(code), str(text)]:
            try:
                return RpcFailed(go_name_of(code), text)
            except ValueError as error:
                raise UsageError(str(error)) from error
    raise UsageError(f"expected [CODE, text], not {value!r}")


@values.kind(values.closed(dict.fromkeys(("preStart", "preferred"), values.or_variable(values.truth.schema))))
def _options(value: object) -> PluginOptions:
    given = Keys(value, "options")
    options = PluginOptions(
        given.take("preStart", values.truth, default=False), given.take("preferred", values.truth, default=False)
    )
    given.end()
    return options


@values.kind(
    values.closed({**dict.fromkeys(("type", "name", "endpoint"), values.text.schema), "versions": values.texts.schema})
)
def _info(value: object) -> Mapping[str, Any]:
    given = Keys(value, "info")
    texts = {name: given.take(name, values.text) for name in ("type", "name", "endpoint") if name in given.whole}
    versions = {"supported_versions": given.take("versions", values.texts)} if "versions" in given.whole else {}
    given.end()
    return MappingProxyType(texts | versions)


@values.kind({"type": "array", "minItems": 3, "maxItems": 3})
def _mount(value: object) -> tuple[str, str, bool]:
    match value:
        case [str(container), str(host), bool(read_only)]:
            return container, host, read_only
    raise UsageError(f"expected [container path, host path, read only], not {value!r}")


@values.kind({"type": "array", "minItems": 3, "maxItems": 3})
def _device_node(value: object) -> tuple[str, str, str]:
    match value:
        case [str(container), str(host), str(permissions)]:
            return container, host, permissions
    raise UsageError(f"expected [container path, host path, permissions], not {value!r}")


@frozen
class During:
    """What a plugin does while a call is open, before it answers, in this order."""

    sleep_s: float = field(default=0.0, metadata=read_by(values.seconds, "sleep"))
    push: Devices | None = field(default=None, metadata=read_by(read_devices))
    """Sends this list on its streams and waits until it must have arrived."""
    drop: bool = field(default=False, metadata=read_by(values.truth))
    """Ends its streams."""


@frozen
class AllocateScript:
    """How a plugin answers Allocate for one container request."""

    envs: Mapping[str, str] = field(default=_NOTHING, hash=False, metadata=read_by(_TEXTS_BY_NAME))
    """`{ids}` in a value stands for the sorted ids, joined by commas."""
    mounts: tuple[tuple[str, str, bool], ...] = field(default=(), metadata=read_by(values.list_of(_mount)))
    devices: tuple[tuple[str, str, str], ...] = field(default=(), metadata=read_by(values.list_of(_device_node)))
    device_per_id: bool = field(default=False, metadata=read_by(values.truth))
    """Whether `/dev/ID` is added, from `/dev/host-ID`."""
    annotations: Mapping[str, str] = field(default=_NOTHING, hash=False, metadata=read_by(_TEXTS_BY_NAME))
    cdi: tuple[str, ...] = field(default=(), metadata=read_by(values.texts))
    responses: int = field(default=1, metadata=read_by(values.integer))
    no_response: bool = field(default=False, metadata=read_by(values.truth))
    error: RpcFailed | None = field(default=None, metadata=read_by(read_status))
    during: During = field(default=During(), metadata=spread(During))


@frozen
class PreferredScript:
    """How a plugin answers GetPreferredAllocation."""

    ids: tuple[DeviceID, ...] = field(default=(), metadata=read_by(values.texts))
    no_response: bool = field(default=False, metadata=read_by(values.truth))
    error: RpcFailed | None = field(default=None, metadata=read_by(read_status))
    during: During = field(default=During(), metadata=spread(During))


@frozen
class PreStartScript:
    """How a plugin answers PreStartContainer."""

    error: RpcFailed | None = field(default=None, metadata=read_by(read_status))
    during: During = field(default=During(), metadata=spread(During))


@frozen
class RegistryScript:
    """What a plugin says and hears on its socket in `plugins_registry`. Rules: DM-148"""

    info: Mapping[str, Any] = field(default=_NOTHING, hash=False, metadata=read_by(_info))
    """Keys of GetInfo's answer that are not what is right."""
    socket: str | None = field(default=None, metadata=read_by(values.text, "registry_socket"))
    """The name there, if not that of its other socket; it may lie in a sub-directory."""
    info_error: RpcFailed | None = field(default=None, metadata=read_by(read_status))
    notify_error: RpcFailed | None = field(default=None, metadata=read_by(read_status))

    def answer(self, resource: ResourceName, endpoint: str) -> PluginInfo:
        """The answer to GetInfo of a plugin that serves a resource on that socket."""
        right = PluginInfo(DEVICE_PLUGIN_TYPE, resource, endpoint, (API_VERSION,))
        return evolve(right, **self.info)


@frozen
class Script:
    """A plugin's part in a story."""

    resource: ResourceName = field(metadata=read_by(values.text))
    socket: str = field(metadata=read_by(values.text))
    devices: Devices | None = field(default=None, metadata=read_by(read_devices))
    """`None`: its streams open and stay silent."""
    version: str = field(default=API_VERSION, metadata=read_by(values.text))
    endpoint: str | None = field(default=None, metadata=read_by(values.text))
    """The socket name that it registers, if not `socket`."""
    options: PluginOptions = field(factory=PluginOptions, metadata=read_by(_options))
    request_options: PluginOptions | None = field(default=None, metadata=read_by(_options))
    options_error: RpcFailed | None = field(default=None, metadata=read_by(read_status))
    options_during: During = field(default=During(), metadata=read_by(record(During, "options_during")))
    list_error: RpcFailed | None = field(default=None, metadata=read_by(read_status))
    allocate: AllocateScript = field(default=AllocateScript(), metadata=read_by(record(AllocateScript, "allocate")))
    preferred: PreferredScript = field(
        default=PreferredScript(), metadata=read_by(record(PreferredScript, "preferred"))
    )
    prestart: PreStartScript = field(default=PreStartScript(), metadata=read_by(record(PreStartScript, "prestart")))
    registry: RegistryScript = field(default=RegistryScript(), metadata=spread(RegistryScript))
    source: Mapping[str, Any] = field(default=_NOTHING, hash=False, repr=False, eq=False)
    """The mapping it was read from."""

    @property
    def registration(self) -> Registration:
        """The request with which the plugin calls Register."""
        endpoint = self.socket if self.endpoint is None else self.endpoint
        return Registration(self.version, endpoint, self.resource, self.request_options)

    def merged(self, changes: Mapping[str, Any]) -> Script:
        """The script with some keys replaced as a whole. Raises `UsageError`."""
        return read_script({**self.source, **changes})


@values.kind(record(Script, "the script", "A plugin that follows a script.").schema)
def read_script(source: object) -> Script:
    """The script that a mapping describes. Raises `UsageError` naming the key that is wrong."""
    script = record(Script, "the script")(source)
    return evolve(script, source=values.mapping(source))
