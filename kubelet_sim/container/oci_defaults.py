"""What containerd gives every Linux container: mounts, capabilities, the order of it all. Facts of containerd 2.2."""

from __future__ import annotations

from typing import Any

OCI_VERSION = "1.3.0"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

CAPABILITIES = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FSETID",
    "CAP_FOWNER",
    "CAP_MKNOD",
    "CAP_NET_RAW",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETFCAP",
    "CAP_SETPCAP",
    "CAP_NET_BIND_SERVICE",
    "CAP_SYS_CHROOT",
    "CAP_KILL",
    "CAP_AUDIT_WRITE",
)
NUMBERED_CAPABILITIES = tuple(
    f"CAP_{name}"
    for name in (
        "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
        "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
        "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
        "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
        "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
        "CHECKPOINT_RESTORE",
    )
)  # fmt: skip
"""All that there are, each at the place of its number in the kernel."""
ALL_CAPABILITIES = tuple(sorted(NUMBERED_CAPABILITIES))

_MOUNTS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("/proc", "proc", "proc", ("nosuid", "noexec", "nodev")),
    ("/dev", "tmpfs", "tmpfs", ("nosuid", "strictatime", "mode=755", "size=65536k")),
    ("/dev/pts", "devpts", "devpts", ("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5")),
    ("/dev/shm", "tmpfs", "shm", ("nosuid", "noexec", "nodev", "mode=1777", "size=65536k")),  # noqa: S108 - a mount point
    ("/dev/mqueue", "mqueue", "mqueue", ("nosuid", "noexec", "nodev")),
    ("/sys", "sysfs", "sysfs", ("nosuid", "noexec", "nodev", "ro")),
    ("/sys/fs/cgroup", "cgroup", "cgroup", ("nosuid", "noexec", "nodev", "relatime", "ro")),
)
NAMESPACES = ("ipc", "uts", "mount", "network", "pid")
SKIPPED_BELOW_DEV = frozenset({"pts", "shm", "fd", "mqueue", ".lxc", ".lxd-mounts", ".udev", "console"})
"""What containerd leaves out when it is given a directory of devices."""


def default_mounts() -> list[dict[str, Any]]:
    """The mounts that are there without anybody asking, as fresh values."""
    return [
        {"destination": destination, "type": kind, "source": source, "options": list(options)}
        for destination, kind, source, options in _MOUNTS
    ]
