"""The container as the JSON that `crictl create` takes: CRI's `ContainerConfig`, with the field names of its API file.

Enums are numbers and nothing that is empty is written, so that both readers of that JSON take it: Go's plain decoder,
which crictl uses, and protobuf's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.container.config import Bind, ContainerConfig, IdMapping, Limits, Security

_POD, _CONTAINER, _NODE = 0, 1, 2
"""CRI's namespace modes."""


def cri(config: ContainerConfig) -> dict[str, Any]:
    """The `ContainerConfig` message of `runtime.v1`. Lists are in the kubelet's order, duplicates included.

    Rules: DM-126, DM-127, DM-128, DM-131, DM-132
    """
    return _filled(
        {
            "metadata": _filled({"name": config.name, "attempt": config.attempt}),
            "image": {"image": config.image, **_filled({"user_specified_image": config.image})},
            "command": list(config.command),
            "args": list(config.args),
            "working_dir": config.working_dir,
            "envs": [_filled({"key": each.name, "value": each.value}) for each in config.envs],
            "mounts": [_mount(each, config.security.user_namespace) for each in config.mounts],
            "devices": [
                _filled(
                    {
                        "container_path": each.container_path,
                        "host_path": each.host_path,
                        "permissions": each.permissions,
                    }
                )
                for each in config.devices
            ],
            "labels": dict(config.labels),
            "annotations": {each.key: each.value for each in config.annotations},
            "log_path": f"{config.name}/{config.attempt}.log",
            "stdin": config.stdin,
            "stdin_once": config.stdin_once,
            "tty": config.tty,
            "linux": {"resources": _resources(config.limits), "security_context": _security(config.security)},
            "CDI_devices": [_filled({"name": each.name}) for each in config.cdi_devices],
        }
    )


def _mount(bind: Bind, mapping: IdMapping | None) -> dict[str, Any]:
    """In a user namespace with its id mappings, whoever asked for the mount. Rules: DM-130"""
    return _filled(
        {
            "container_path": bind.container_path,
            "host_path": bind.host_path,
            "readonly": bind.read_only,
            "propagation": int(bind.propagation),
            "uidMappings": _mappings(mapping),
            "gidMappings": _mappings(mapping),
            "recursive_read_only": bind.recursive_read_only,
        }
    )


def _resources(limits: Limits) -> dict[str, Any]:
    return _filled(
        {
            "cpu_period": limits.cpu_period,
            "cpu_quota": limits.cpu_quota,
            "cpu_shares": limits.cpu_shares,
            "memory_limit_in_bytes": limits.memory_bytes,
            "oom_score_adj": limits.oom_score_adjust or 0,
        }
    )


def _security(security: Security) -> dict[str, Any]:
    pid = _NODE if security.host_pid else _POD if security.shares_pid else _CONTAINER
    return _filled(
        {
            "capabilities": _filled(
                {
                    "add_capabilities": list(security.add_capabilities),
                    "drop_capabilities": list(security.drop_capabilities),
                }
            ),
            "privileged": security.privileged,
            "namespace_options": _filled(
                {
                    "network": _NODE if security.host_network else _POD,
                    "pid": pid,
                    "ipc": _NODE if security.host_ipc else _POD,
                    "userns_options": _user_namespace(security.user_namespace),
                }
            ),
            "run_as_user": _value(security.run_as_user),
            "run_as_group": _value(security.run_as_group),
            "readonly_rootfs": security.read_only_root,
            "supplemental_groups": list(security.supplemental_groups),
            "no_new_privs": security.no_new_privileges,
            "masked_paths": list(security.masked_paths),
            "readonly_paths": list(security.read_only_paths),
        }
    )


def _user_namespace(mapping: IdMapping | None) -> dict[str, Any]:
    """CRI's mode of a namespace of the pod is 0, and so not written."""
    return {} if mapping is None else {"uids": _mappings(mapping), "gids": _mappings(mapping)}


def _mappings(mapping: IdMapping | None) -> list[dict[str, int]]:
    return [] if mapping is None else [{"host_id": mapping.host_id, "length": mapping.length}]


def _value(number: int | None) -> dict[str, int]:
    """CRI's wrapper, by which 0 is not the same as nothing."""
    return {} if number is None else {"value": number}


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not at their default, which a message does not carry."""
    return {name: value for name, value in fields.items() if value not in ("", 0, False, None, [], {})}
