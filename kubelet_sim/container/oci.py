"""The container as an OCI runtime's `config.json`, such as containerd derives it, with CDI devices injected.

No sandbox and no image stand behind it: namespaces are new ones instead of the pod's, the files that containerd keeps for a
sandbox (hostname, resolv.conf, its /dev/shm) are left out, and of the image's own settings nothing is known.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import Any

from attrs import field, frozen

from kubelet_sim.container.cdi.annotations import all_names
from kubelet_sim.container.cdi.injection import AppliedEdit, inject
from kubelet_sim.container.cdi.names import BadName
from kubelet_sim.container.cdi.registry import NO_CDI, Registry
from kubelet_sim.container.config import Bind, ContainerConfig, Env, IdMapping, Propagation
from kubelet_sim.container.host import HostFiles
from kubelet_sim.container.oci_defaults import (
    ALL_CAPABILITIES,
    CAPABILITIES,
    NAMESPACES,
    OCI_VERSION,
    PATH,
    default_mounts,
)
from kubelet_sim.container.oci_devices import devices_at
from kubelet_sim.container.paths import cleaned, depth, from_root
from kubelet_sim.errors import ContainerRefused

_PROPAGATIONS = {
    Propagation.PRIVATE: "rprivate",
    Propagation.HOST_TO_CONTAINER: "rslave",
    Propagation.BIDIRECTIONAL: "rshared",
}
_WRITABLE_WHEN_PRIVILEGED = frozenset({"sysfs", "cgroup"})


@frozen
class RuntimeOptions:
    """How the runtime is set up."""

    root_path: str = "rootfs"
    """Relative to the bundle, or absolute."""
    passed_annotations: tuple[str, ...] = ()
    """Patterns of containerd's `container_annotations`: only annotations that match one get into `config.json`."""
    default_args: tuple[str, ...] = ("sh",)
    """What runs when the pod says nothing: the image would say it, and is not known."""


DEFAULT = RuntimeOptions()


@frozen
class DerivedSpec:
    """A `config.json`, and what CDI changed in it."""

    spec: dict[str, Any]
    applied: tuple[AppliedEdit, ...] = field(default=())
    cdi_names: tuple[str, ...] = ()


def oci(
    config: ContainerConfig,
    host: HostFiles,
    cdi: Registry = NO_CDI,
    options: RuntimeOptions = DEFAULT,
) -> dict[str, Any]:
    """The `config.json` of the container, without what CDI changed in it; see `derive`."""
    return derive(config, host, cdi, options).spec


def derive(
    config: ContainerConfig, host: HostFiles, cdi: Registry = NO_CDI, options: RuntimeOptions = DEFAULT
) -> DerivedSpec:
    """The `config.json` that containerd's CRI plugin would write for the container.

    Args:
        config: as the kubelet hands it over.
        host: where device nodes, links and missing paths are looked up.
        cdi: the spec files that the runtime knows.
        options: how it is set up.

    Raises:
        ContainerRefused: the runtime would not create the container: a device path that is missing or no device, a CDI
            name that nobody defines.

    Rules: DM-125, DM-128, DM-130, DM-132
    """
    spec: dict[str, Any] = {
        "ociVersion": OCI_VERSION,
        "process": _process(config, options),
        "root": {"path": options.root_path, "readonly": config.security.read_only_root},
        "hostname": config.pod.hostname,
        "mounts": _mounts(config, host),
        "annotations": _annotations(config, options),
        "linux": _linux(config),
    }
    propagations = {each.propagation for each in config.mounts} - {Propagation.PRIVATE}
    if propagations:
        # containerd writes `rshared` here, which runtimes take and the schema of OCI does not know.
        spec["linux"]["rootfsPropagation"] = _PROPAGATIONS[max(propagations)].removeprefix("r")
    for node in config.devices:
        for device in devices_at(host, node.host_path, node.container_path):
            spec["linux"]["devices"].append(device)
            spec["linux"]["resources"]["devices"].append(_rule(device, node.permissions))
    if config.security.privileged:
        spec["linux"]["devices"] += devices_at(host, "/dev", "/dev")
        spec["linux"]["resources"]["devices"].append({"allow": True, "access": "rwm"})
    try:
        names = all_names((each.name for each in config.cdi_devices), {a.key: a.value for a in config.annotations})
    except BadName as error:
        raise ContainerRefused(f"failed to parse CDI device annotations: {error}") from error
    return DerivedSpec(spec, inject(spec, cdi.find(names), host), names)


def merged_env(base: list[str], variables: list[str]) -> list[str]:
    """The variables as containerd puts them together: what the base has is replaced in its place, all else is appended.

    A name that both plugin and pod set is so there twice, the pod's later, unless the base has it; of two entries for one
    name a runtime keeps the last one. Rules: DM-128
    """
    places = {entry.partition("=")[0]: at for at, entry in enumerate(base)}
    merged = list(base)
    for variable in variables:
        at = places.get(variable.partition("=")[0])
        if at is None:
            merged.append(variable)
        else:
            merged[at] = variable
    return merged


def effective_env(entries: list[str]) -> dict[str, str]:
    """What the process sees: the last entry of each name. Rules: DM-128"""
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


def _process(config: ContainerConfig, options: RuntimeOptions) -> dict[str, Any]:
    security = config.security
    uid, gid = security.run_as_user or 0, security.run_as_group or 0
    base = [PATH, *(["TERM=xterm"] if config.tty else ()), f"HOSTNAME={config.pod.hostname}"]
    process: dict[str, Any] = {
        "terminal": config.tty,
        "user": {"uid": uid, "gid": gid, "additionalGids": sorted({gid, *security.supplemental_groups})},
        "args": [*config.command, *config.args] or list(options.default_args),
        "env": merged_env(base, [_entry(each) for each in config.envs]),
        "cwd": config.working_dir or "/",
        "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), _capabilities(config)),
        "noNewPrivileges": security.no_new_privileges,
    }
    if config.limits.oom_score_adjust is not None:
        process["oomScoreAdj"] = config.limits.oom_score_adjust
    return process


def _entry(env: Env) -> str:
    return f"{env.name}={env.value}"


def _capabilities(config: ContainerConfig) -> list[str]:
    """The defaults with what is added and dropped; `ALL` comes first, whatever else is said."""
    security = config.security
    if security.privileged:
        return list(ALL_CAPABILITIES)
    added = [each.upper() for each in security.add_capabilities]
    dropped = [each.upper() for each in security.drop_capabilities]
    held = list(ALL_CAPABILITIES if "ALL" in added else CAPABILITIES)
    if "ALL" in dropped:
        held = []
    held += [f"CAP_{each}" for each in added if each != "ALL" and f"CAP_{each}" not in held]
    return [each for each in held if each.removeprefix("CAP_") not in dropped]


def _mounts(config: ContainerConfig, host: HostFiles) -> list[dict[str, Any]]:
    """The default mounts, less what the container mounts itself, then its own, outer ones first. Rules: DM-130"""
    own = sorted(config.mounts, key=lambda bind: depth(bind.container_path))
    paths = {cleaned(each.container_path) for each in own}
    kept = [
        mount
        for mount in default_mounts()
        if mount["destination"] not in paths and not ("/dev" in paths and mount["destination"].startswith("/dev/"))
    ]
    if config.security.privileged:
        for mount in kept:
            if mount["type"] in _WRITABLE_WHEN_PRIVILEGED:
                mount["options"] = [each if each != "ro" else "rw" for each in mount["options"]]
    mapping = config.security.user_namespace
    ids = {} if mapping is None else {"uidMappings": _mappings(mapping), "gidMappings": _mappings(mapping)}
    return [*kept, *(_bind(each, host) | ids for each in own)]


def _bind(bind: Bind, host: HostFiles) -> dict[str, Any]:
    """Links on the host are followed; a path that is missing stays, since containerd makes a directory there."""
    writing = "rw" if not bind.read_only else "rro" if bind.recursive_read_only else "ro"
    try:
        path = from_root(bind.host_path)
        source = host.resolved(path) or path
    except OSError as error:
        raise ContainerRefused(f"failed to stat {bind.host_path!r}: {error.strerror or error}") from error
    return {
        "destination": bind.container_path,
        "type": "bind",
        "source": source,
        "options": ["rbind", _PROPAGATIONS[bind.propagation], writing],
    }


def _annotations(config: ContainerConfig, options: RuntimeOptions) -> dict[str, str]:
    """Those of containerd, and of the container's those that it is set up to pass on."""
    passed = {
        each.key: each.value
        for each in config.annotations
        if any(fnmatch.fnmatchcase(each.key, pattern) for pattern in options.passed_annotations)
    }
    return {
        **passed,
        "io.kubernetes.cri.container-name": config.name,
        "io.kubernetes.cri.container-type": "container",
        "io.kubernetes.cri.image-name": config.image,
        "io.kubernetes.cri.sandbox-name": config.pod.name,
        "io.kubernetes.cri.sandbox-namespace": config.pod.namespace,
        "io.kubernetes.cri.sandbox-uid": config.pod.uid,
    }


def _linux(config: ContainerConfig) -> dict[str, Any]:
    security, limits = config.security, config.limits
    cpu = {"period": limits.cpu_period, "quota": limits.cpu_quota, "shares": limits.cpu_shares}
    resources: dict[str, Any] = {
        "devices": [{"allow": False, "access": "rwm"}],
        "cpu": {name: value for name, value in cpu.items() if value},
    }
    if limits.memory_bytes:
        resources["memory"] = {"limit": limits.memory_bytes, "swap": limits.memory_bytes}
    mapping = security.user_namespace
    ids = {} if mapping is None else {"uidMappings": _mappings(mapping), "gidMappings": _mappings(mapping)}
    return {
        **ids,
        "resources": resources,
        "devices": [],
        "namespaces": [{"type": name} for name in _namespaces(config)],
        "maskedPaths": [] if security.privileged else list(security.masked_paths),
        "readonlyPaths": [] if security.privileged else list(security.read_only_paths),
    }


def _mappings(mapping: IdMapping) -> list[dict[str, int]]:
    return [{"containerID": 0, "hostID": mapping.host_id, "size": mapping.length}]


def _namespaces(config: ContainerConfig) -> Iterator[str]:
    """New ones, for want of a sandbox whose they would be; none where the pod asks for the host's."""
    security = config.security
    hosts = {"network": security.host_network, "ipc": security.host_ipc, "pid": security.host_pid}
    yield from (name for name in NAMESPACES if not hosts.get(name))
    if not security.privileged:
        yield "cgroup"
    if security.user_namespace is not None:
        yield "user"


def _rule(device: dict[str, Any], permissions: str) -> dict[str, Any]:
    """What the cgroup lets the container do with it: the letters as sent. Rules: DM-125, DM-126"""
    numbers: dict[str, Any] = {name: device[name] for name in ("major", "minor") if name in device}
    return {"allow": True, "type": device["type"], **numbers, "access": permissions}
