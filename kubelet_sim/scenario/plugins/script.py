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
from kubelet_sim.scenario.story.values import Keys
from kubelet_sim.wire.status import go_name_of

Devices = tuple[Device, ...]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@frozen
class During:
    """What a plugin does while a call is open, before it answers, in this order."""

    sleep_s: float = 0.0
    push: Devices | None = None
    """Sends this list on its streams and waits until it must have arrived."""
    drop: bool = False
    """Ends its streams."""


@frozen
class AllocateScript:
    """How one container request is answered."""

    envs: Mapping[str, str] = field(default=_NOTHING, hash=False)
    """`{ids}` in a value stands for the sorted ids, joined by commas."""
    mounts: tuple[tuple[str, str, bool], ...] = ()
    devices: tuple[tuple[str, str, str], ...] = ()
    device_per_id: bool = False
    """Whether `/dev/ID` is added, from `/dev/host-ID`."""
    annotations: Mapping[str, str] = field(default=_NOTHING, hash=False)
    cdi: tuple[str, ...] = ()
    responses: int = 1
    no_response: bool = False
    error: RpcFailed | None = None
    during: During = During()


@frozen
class PreferredScript:
    """How a preferred allocation is answered."""

    ids: tuple[DeviceID, ...] = ()
    no_response: bool = False
    error: RpcFailed | None = None
    during: During = During()


@frozen
class PreStartScript:
    """How PreStartContainer is answered."""

    error: RpcFailed | None = None
    during: During = During()


@frozen
class RegistryScript:
    """What a plugin says and hears on its socket in `plugins_registry`. Rules: DM-148"""

    info: Mapping[str, Any] = field(default=_NOTHING, hash=False)
    """Keys of GetInfo's answer that are not what is right."""
    socket: str | None = None
    """The name there, if not that of its other socket; it may lie in a sub-directory."""
    info_error: RpcFailed | None = None
    notify_error: RpcFailed | None = None

    def answer(self, resource: ResourceName, endpoint: str) -> PluginInfo:
        """The answer to GetInfo of a plugin that serves a resource on that socket."""
        right = PluginInfo(DEVICE_PLUGIN_TYPE, resource, endpoint, (API_VERSION,))
        return evolve(right, **self.info)


@frozen
class Script:
    """A plugin's part in a story."""

    resource: ResourceName
    socket: str
    devices: Devices | None = None
    """`None`: its streams open and stay silent."""
    version: str = API_VERSION
    endpoint: str | None = None
    """The socket name that it registers, if not `socket`."""
    options: PluginOptions = field(factory=PluginOptions)
    request_options: PluginOptions | None = None
    options_error: RpcFailed | None = None
    options_during: During = During()
    list_error: RpcFailed | None = None
    allocate: AllocateScript = AllocateScript()
    preferred: PreferredScript = PreferredScript()
    prestart: PreStartScript = PreStartScript()
    registry: RegistryScript = RegistryScript()
    source: Mapping[str, Any] = field(default=_NOTHING, hash=False, repr=False, eq=False)
    """The mapping it was read from."""

    @property
    def registration(self) -> Registration:
        """The Register request."""
        endpoint = self.socket if self.endpoint is None else self.endpoint
        return Registration(self.version, endpoint, self.resource, self.request_options)

    def merged(self, changes: Mapping[str, Any]) -> Script:
        """The script with some keys replaced as a whole. Raises `UsageError`."""
        return read_script({**self.source, **changes})


def read_script(source: object) -> Script:
    """The script that a mapping describes. Raises `UsageError` naming the key that is wrong."""
    given = Keys(source, "the script")
    script = Script(
        resource=ResourceName(given.take("resource", values.text)),
        socket=given.take("socket", values.text),
        devices=given.take("devices", read_devices, None),
        version=given.take("version", values.text, API_VERSION),
        endpoint=given.take("endpoint", values.text, None),
        options=given.take("options", _options, PluginOptions()),
        request_options=given.take("request_options", _options, None),
        options_error=given.take("options_error", read_status, None),
        options_during=given.take("options_during", _only_during, During()),
        list_error=given.take("list_error", read_status, None),
        allocate=given.take("allocate", _allocate, AllocateScript()),
        preferred=given.take("preferred", _preferred, PreferredScript()),
        prestart=given.take("prestart", _prestart, PreStartScript()),
        registry=RegistryScript(
            given.take("info", _info, _NOTHING),
            given.take("registry_socket", values.text, None),
            given.take("info_error", read_status, None),
            given.take("notify_error", read_status, None),
        ),
        source=MappingProxyType(dict(given.whole)),
    )
    given.end()
    return script


def read_devices(value: object) -> Devices:
    """A list of `{"id", "health", "numa"}`; without `numa` a device has no topology. Raises `UsageError`."""
    return values.each(_device, value)


def read_status(value: object) -> RpcFailed:
    """A pair `[CODE, text]`. Raises `UsageError`."""
    match value:
        case [str(code), str(text)]:
            try:
                return RpcFailed(go_name_of(code), text)
            except ValueError as error:
                raise UsageError(str(error)) from error
    raise UsageError(f"expected [CODE, text], not {value!r}")


def _device(value: object) -> Device:
    given = Keys(value, "a device")
    numa = given.take("numa", values.items, None)
    topology = None if numa is None else tuple(NumaNode(values.integer(node)) for node in numa)
    device = Device(DeviceID(given.take("id", values.text)), given.take("health", values.text, HEALTHY), topology)
    given.end()
    return device


def _info(value: object) -> Mapping[str, Any]:
    given = Keys(value, "info")
    texts = {name: given.take(name, values.text) for name in ("type", "name", "endpoint") if name in given.whole}
    versions = {"supported_versions": given.take("versions", values.texts)} if "versions" in given.whole else {}
    given.end()
    return MappingProxyType(texts | versions)


def _options(value: object) -> PluginOptions:
    given = Keys(value, "options")
    options = PluginOptions(
        given.take("preStart", values.truth, default=False), given.take("preferred", values.truth, default=False)
    )
    given.end()
    return options


def _during(given: Keys) -> During:
    return During(
        given.take("sleep", values.seconds, 0.0),
        given.take("push", read_devices, None),
        given.take("drop", values.truth, default=False),
    )


def _only_during(value: object) -> During:
    given = Keys(value, "options_during")
    during = _during(given)
    given.end()
    return during


def _allocate(value: object) -> AllocateScript:
    given = Keys(value, "allocate")
    script = AllocateScript(
        envs=given.take("envs", _texts_by_name, _NOTHING),
        mounts=given.take("mounts", _mounts, ()),
        devices=given.take("devices", _device_nodes, ()),
        device_per_id=given.take("device_per_id", values.truth, default=False),
        annotations=given.take("annotations", _texts_by_name, _NOTHING),
        cdi=given.take("cdi", values.texts, ()),
        responses=given.take("responses", values.integer, 1),
        no_response=given.take("no_response", values.truth, default=False),
        error=given.take("error", read_status, None),
        during=_during(given),
    )
    given.end()
    return script


def _preferred(value: object) -> PreferredScript:
    given = Keys(value, "preferred")
    script = PreferredScript(
        ids=tuple(map(DeviceID, given.take("ids", values.texts, ()))),
        no_response=given.take("no_response", values.truth, default=False),
        error=given.take("error", read_status, None),
        during=_during(given),
    )
    given.end()
    return script


def _prestart(value: object) -> PreStartScript:
    given = Keys(value, "prestart")
    script = PreStartScript(given.take("error", read_status, None), _during(given))
    given.end()
    return script


def _texts_by_name(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise UsageError(f"expected a mapping of texts, not {value!r}")
    return MappingProxyType({values.text(name): values.text(item) for name, item in value.items()})


def _mounts(value: object) -> tuple[tuple[str, str, bool], ...]:
    def mount(item: object) -> tuple[str, str, bool]:
        match item:
            case [str(container), str(host), bool(read_only)]:
                return container, host, read_only
        raise UsageError(f"expected [container path, host path, read only], not {item!r}")

    return values.each(mount, value)


def _device_nodes(value: object) -> tuple[tuple[str, str, str], ...]:
    def node(item: object) -> tuple[str, str, str]:
        match item:
            case [str(container), str(host), str(permissions)]:
                return container, host, permissions
        raise UsageError(f"expected [container path, host path, permissions], not {item!r}")

    return values.each(node, value)
