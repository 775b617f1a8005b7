"""Whether a spec file may be used: its version, its names, its edits. The first thing that is wrong is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubelet_sim.container.cdi.decoder import BadSpec
from kubelet_sim.container.cdi.model import CdiSpec, ContainerEdits, HookEdit, IntelRdt, NetDeviceEdit, NodeEdit
from kubelet_sim.container.cdi.names import BadName, check_device, check_kind

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
"""Those that there are, oldest first. No other text is a version; a leading `v` is fine."""
EARLIEST = "0.3.0"
"""What a file needs at least, whatever is in it."""
HOOKS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
NO_PERMISSIONS = "none"
_LONGEST_CLOS_ID = 4095


def validate(spec: CdiSpec) -> None:
    """Raises `BadSpec` for a file that the reference library would not load."""
    check_version(spec)
    try:
        check_kind(spec.vendor, spec.device_class)
    except BadName as error:
        raise BadSpec(f"kind {spec.kind!r}: {error}") from error
    check_edits(spec.edits)
    seen: set[str] = set()
    for device in spec.devices:
        try:
            check_device(device.name)
        except BadName as error:
            raise BadSpec(str(error)) from error
        if device.edits.is_empty:
            raise BadSpec(f"device {device.name!r} has no containerEdits")
        try:
            check_edits(device.edits)
        except BadSpec as error:
            raise BadSpec(f"device {device.name!r}: {error}") from error
        if device.name in seen:
            raise BadSpec(f"device {device.name!r} is there twice")
        seen.add(device.name)
    if not seen:
        raise BadSpec("there are no devices in it")


def check_version(spec: CdiSpec) -> None:
    """Raises `BadSpec` for a version that there is not, or one that is older than what the file uses."""
    version = spec.version.removeprefix("v")
    if version not in VERSIONS:
        raise BadSpec(f"there is no CDI version {spec.version!r}; expected one of {', '.join(VERSIONS)}")
    needed, why = minimum_version(spec)
    if VERSIONS.index(version) < VERSIONS.index(needed):
        raise BadSpec(f"cdiVersion is {version}, and {why} needs {needed}")


def minimum_version(spec: CdiSpec) -> tuple[str, str]:
    """The oldest version that has everything that the file uses, and what it is that needs it."""
    for version, features in _NEEDS:
        for what, is_used in features:
            if is_used(spec):
                return version, what
    return EARLIEST, "every file"


def _any_edits(test: Callable[[ContainerEdits], object]) -> Callable[[CdiSpec], bool]:
    return lambda spec: any(test(edits) for edits in spec.all_edits())


def _uses_new_rdt(edits: ContainerEdits) -> bool:
    rdt = edits.intel_rdt
    return rdt is not None and (rdt.schemata is not None or rdt.enable_monitoring)


_Features = tuple[tuple[str, Callable[[CdiSpec], bool]], ...]
_NEEDS: tuple[tuple[str, _Features], ...] = (
    (
        "1.1.0",
        (
            ("intelRdt with schemata or enableMonitoring", _any_edits(_uses_new_rdt)),
            ("netDevices", _any_edits(lambda edits: edits.net_devices)),
        ),
    ),
    (
        "0.7.0",
        (
            ("intelRdt", _any_edits(lambda edits: edits.intel_rdt is not None)),
            ("additionalGids", _any_edits(lambda edits: edits.additional_gids)),
        ),
    ),
    (
        "0.6.0",
        (
            ("annotations", lambda spec: bool(spec.annotations) or any(each.annotations for each in spec.devices)),
            ("a dot in the class", lambda spec: "." in spec.kind.partition("/")[2]),
        ),
    ),
    (
        "0.5.0",
        (
            (
                "a device name that begins with a digit",
                lambda spec: any(each.name[:1].isascii() and each.name[:1].isdigit() for each in spec.devices),
            ),
            ("hostPath of a device node", _any_edits(lambda edits: any(node.host_path for node in edits.device_nodes))),
        ),
    ),
    ("0.4.0", (("type of a mount", _any_edits(lambda edits: any(mount.type for mount in edits.mounts))),)),
)
"""Newest first. 0.8.0 and 1.0.0 changed no field."""


def check_edits(edits: ContainerEdits) -> None:
    """Raises `BadSpec` for edits that the reference library would not apply."""
    _check_env(edits.env)
    for node in edits.device_nodes:
        _check_node(node)
    for hook in edits.hooks:
        _check_hook(hook)
    for mount in edits.mounts:
        if not mount.host_path or not mount.container_path:
            raise BadSpec("a mount needs hostPath and containerPath")
    if edits.intel_rdt is not None:
        _check_rdt(edits.intel_rdt)
    _check_net_devices(edits.net_devices)


def _check_env(variables: Iterable[str]) -> None:
    for variable in variables:
        if variable.find("=") <= 0:
            raise BadSpec(f"env {variable!r} is not of the form NAME=VALUE")


def _check_node(node: NodeEdit) -> None:
    if not node.path:
        raise BadSpec("a device node needs a path")
    if node.type not in ("", "b", "c", "u", "p"):
        raise BadSpec(f"device node {node.path}: there is no type {node.type!r}; expected b, c, u or p")
    if node.major < 0 or node.minor < 0:
        raise BadSpec(f"device node {node.path}: {node.major}:{node.minor} is below 0")
    if node.permissions != NO_PERMISSIONS and not set(node.permissions) <= set("rwm"):
        raise BadSpec(
            f"device node {node.path}: permissions {node.permissions!r}; expected letters of r, w, m, or none"
        )


def _check_hook(hook: HookEdit) -> None:
    if hook.hook_name not in HOOKS:
        raise BadSpec(f"there is no hook {hook.hook_name!r}; expected one of {', '.join(HOOKS)}")
    if not hook.path:
        raise BadSpec(f"the {hook.hook_name} hook needs a path")
    _check_env(hook.env)


def _check_rdt(rdt: IntelRdt) -> None:
    name = rdt.clos_id
    is_bad = len(name.encode()) > _LONGEST_CLOS_ID or name in (".", "..") or "/" in name or "\n" in name
    if name != "/" and is_bad:
        raise BadSpec(f"intelRdt: {name!r} is no name of a class of service")


def _check_net_devices(devices: Iterable[NetDeviceEdit]) -> None:
    hosts: set[str] = set()
    names: set[str] = set()
    for device in devices:
        if not device.host_interface_name or not device.name:
            raise BadSpec("a net device needs hostInterfaceName and name")
        for text, seen in ((device.host_interface_name, hosts), (device.name, names)):
            if text in seen:
                raise BadSpec(f"the net device {text!r} is there twice")
            seen.add(text)
