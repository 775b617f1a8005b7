"""Makes a container's `config.json` one that the runtimes of this machine can start, and says where it is less than asked for.

What containerd would write is for a machine of its own: with all capabilities, any score, and runtimes as new as itself.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubelet_sim.container.oci_defaults import NUMBERED_CAPABILITIES

_CGROUP_V2 = Path("/sys/fs/cgroup/cgroup.controllers")
_STATUS = Path("/proc/self/status")
_OLDER_VERSION = "1.0.2"
"""Which every runtime takes: crun before 1.14.3 refuses one that is newer than 1.1, whatever is in the file."""


def fit_machine(spec: dict[str, Any], host_paths: Mapping[str, str]) -> tuple[str, ...]:
    """Change the configuration so that it starts here; what the container has less for it, in words.

    Args:
        spec: as containerd writes it, device nodes and all.
        host_paths: where the host has the device node of each path in the container.
    """
    linux = spec["linux"]
    if not _needs_newer_version(spec):
        spec["ociVersion"] = _OLDER_VERSION
    if not _CGROUP_V2.exists():
        linux["namespaces"] = [each for each in linux["namespaces"] if each["type"] != "cgroup"]
    has_user_namespace = any(each["type"] == "user" for each in linux["namespaces"])
    is_root = os.geteuid() == 0
    notes = list(_within_our_rights(spec, has_user_namespace=has_user_namespace)) if is_root else []
    if has_user_namespace or not is_root:
        notes += _bind_devices(spec, host_paths)
    if not is_root:
        _without_root(spec, has_user_namespace=has_user_namespace)
    return tuple(notes)


def _needs_newer_version(spec: Mapping[str, Any]) -> bool:
    """Whether anything is in it that OCI 1.0 does not know."""
    rdt = spec["linux"].get("intelRdt", {})
    has_mapped_mounts = any("uidMappings" in each for each in spec["mounts"])
    return "netDevices" in spec["linux"] or bool({"schemata", "enableMonitoring"} & set(rdt)) or has_mapped_mounts


def _within_our_rights(spec: dict[str, Any], *, has_user_namespace: bool) -> Iterator[str]:
    """Even root may lack rights, in a container say: a runtime cannot hand on what it has not."""
    process = spec["process"]
    score = process.get("oomScoreAdj")
    if score is not None and not _may_have_score(score):
        del process["oomScoreAdj"]
        yield f"this machine does not allow oom_score_adj {score}: it is left as it is"
    if has_user_namespace:
        return  # a new one comes with all capabilities
    lacking = {name for kind in process["capabilities"].values() for name in kind} - _held_capabilities()
    for kind, names in process["capabilities"].items():
        process["capabilities"][kind] = [name for name in names if name not in lacking]
    if lacking:
        yield f"this machine does not give {', '.join(sorted(lacking))}: the container is without"


def _may_have_score(score: int) -> bool:
    """Tried by a process of its own: what is the least that is allowed cannot be read anywhere."""
    tried = subprocess.run(  # noqa: S603 - a number of ours, and no more
        ["/bin/sh", "-c", f"echo {score} > /proc/self/oom_score_adj"], capture_output=True, check=False
    )
    return tried.returncode == 0


def _held_capabilities() -> frozenset[str]:
    """Those that a child of ours may have."""
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    bounds = next((int(line.split()[1], 16) for line in lines if line.startswith("CapBnd:")), -1)
    return frozenset(name for number, name in enumerate(NUMBERED_CAPABILITIES) if bounds >> number & 1)


def _bind_devices(spec: dict[str, Any], host_paths: Mapping[str, str]) -> Iterator[str]:
    """In a user namespace nobody makes device nodes: they are bound from the host, each from where it really is."""
    for device in spec["linux"].pop("devices"):
        source = _on_host(device["path"], host_paths)
        if not os.path.exists(source):  # noqa: PTH110 - any text
            yield f"{source} is missing: in a user namespace nobody can make the device node {device['path']}"
            continue
        bind = {"destination": device["path"], "type": "bind", "source": source, "options": ["bind", "rprivate"]}
        spec["mounts"].append(bind)


def _on_host(path: str, host_paths: Mapping[str, str]) -> str:
    """Where the host has a device node, which may be one of a directory that was granted."""
    if path in host_paths:
        return host_paths[path]
    above = (each for each in host_paths if path.startswith(f"{each.rstrip('/')}/"))
    directory = max(above, key=len, default=None)
    return path if directory is None else host_paths[directory].rstrip("/") + path[len(directory.rstrip("/")) :]


def _without_root(spec: dict[str, Any], *, has_user_namespace: bool) -> None:
    """A user namespace with nobody but ourselves in it, and nothing that only root may."""
    linux, user = spec["linux"], spec["process"]["user"]
    if not has_user_namespace:
        linux["namespaces"].append({"type": "user"})
    linux["uidMappings"] = [{"containerID": user["uid"], "hostID": os.geteuid(), "size": 1}]
    linux["gidMappings"] = [{"containerID": user["gid"], "hostID": os.getegid(), "size": 1}]
    user.pop("additionalGids", None)
    spec["process"].pop("oomScoreAdj", None)
    linux.pop("resources", None)
    spec["mounts"] = [each for each in spec["mounts"] if each.get("type") != "cgroup"]
    for mount in spec["mounts"]:
        if mount.get("type") == "devpts":
            mount["options"] = [each for each in mount["options"] if not each.startswith("gid=")]
