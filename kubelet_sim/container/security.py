"""What the security contexts of pod and container come to, and the container's share of cpu and memory."""

from __future__ import annotations

from typing import Any

from kubelet_sim.container.config import IdMapping, Limits, Security
from kubelet_sim.container.manifest_parts import ManifestPart
from kubelet_sim.model.pod import Container, Pod

_MASKED = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_PERIOD = 100_000
_LEAST_QUOTA, _LEAST_SHARES, _MOST_SHARES = 1000, 2, 262_144
_GUARANTEED, _BEST_EFFORT = -997, 1000


def security(pod_spec: ManifestPart, container: ManifestPart) -> Security:
    """The effective security context: what the container says, else the pod.

    Follows: determineEffectiveSecurityContext
    """
    own, shared = container.part("securityContext"), pod_spec.part("securityContext")
    capabilities = own.part("capabilities")
    is_unmasked = own.text("procMount") == "Unmasked"
    groups = shared.numbers("supplementalGroups")
    fs_group = shared.number("fsGroup")
    return Security(
        privileged=own.flag("privileged"),
        run_as_user=_first(own.number("runAsUser"), shared.number("runAsUser")),
        run_as_group=_first(own.number("runAsGroup"), shared.number("runAsGroup")),
        supplemental_groups=groups if fs_group is None else (fs_group, *groups),
        read_only_root=own.flag("readOnlyRootFilesystem"),
        no_new_privileges="allowPrivilegeEscalation" in own and not own.flag("allowPrivilegeEscalation"),
        add_capabilities=capabilities.texts("add"),
        drop_capabilities=capabilities.texts("drop"),
        masked_paths=() if is_unmasked else _MASKED,
        read_only_paths=() if is_unmasked else _READ_ONLY,
        host_network=pod_spec.flag("hostNetwork"),
        host_pid=pod_spec.flag("hostPID"),
        host_ipc=pod_spec.flag("hostIPC"),
        shares_pid=pod_spec.flag("shareProcessNamespace"),
        user_namespace=IdMapping() if "hostUsers" in pod_spec and not pod_spec.flag("hostUsers") else None,
    )


def limits(pod: Pod, container: Container) -> Limits:
    """Shares, quota and memory limit as the kubelet computes them.

    Follows: calculateLinuxResources, GetContainerOOMScoreAdjust
    """
    cpu, cpu_request = container.limits.get("cpu"), container.requests.get("cpu")
    memory = container.limits.get("memory")
    milli = cpu_request.milli_value if cpu_request else 0
    return Limits(
        cpu_period=_PERIOD,
        cpu_quota=max(cpu.milli_value * _PERIOD // 1000, _LEAST_QUOTA) if cpu and cpu.amount else 0,
        cpu_shares=min(max(milli * 1024 // 1000, _LEAST_SHARES), _MOST_SHARES),
        memory_bytes=memory.value if memory else 0,
        oom_score_adjust=_oom_score_adjust(pod),
    )


def _oom_score_adjust(pod: Pod) -> int | None:
    """By the class of the pod; within Burstable it depends on the machine."""
    containers = list(pod.all_containers())
    counted = ("cpu", "memory")
    amounts = [each.get(name) for c in containers for each in (c.limits, c.requests) for name in counted]
    if not any(amount is not None and amount.amount for amount in amounts):
        return _BEST_EFFORT
    is_guaranteed = all(
        c.limits.get(name) is not None and c.limits.get(name) == c.requests.get(name, c.limits.get(name))
        for c in containers
        for name in counted
    )
    return _GUARANTEED if is_guaranteed else None


def _first(own: Any, shared: Any) -> Any:
    return shared if own is None else own
