"""What a container saw when it really ran, and whether that is what was asked for. The raw reports come from `node`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from kubelet_sim.container.oci import effective_env
from kubelet_sim.container.oci_defaults import default_mounts
from kubelet_sim.container.paths import cleaned

_ESCAPE = re.compile(r"\\([0-7]{3})")
_KINDS = {"character special file": "c", "block special file": "b", "fifo": "p"}
_FIELDS = 7
_OF_RUNTIME = frozenset({"/dev/ptmx", "/dev/console"})
"""What lies there is the runtime's own, whatever is asked for, as it is of a privileged container."""


@frozen
class ObservedNode:
    """A device node inside of the container."""

    path: str
    type: str
    major: int
    minor: int
    mode: int
    uid: int
    gid: int

    def __str__(self) -> str:
        return f"{self.type} {self.major}:{self.minor} {self.mode:04o} {self.uid}:{self.gid}"


@frozen
class ObservedMount:
    """A mount inside of the container."""

    path: str
    kind: str
    """The file system."""
    root: str
    """Which part of it is mounted."""
    read_only: bool


@frozen
class ObservedContainer:
    """What was seen inside of a container that really ran."""

    env: Mapping[str, str]
    nodes: tuple[ObservedNode, ...]
    mounts: tuple[ObservedMount, ...]
    """In order; of two at one path the later one is on top."""

    @classmethod
    def of(cls, environ: bytes, nodes: bytes, mounts: bytes) -> ObservedContainer:
        """From `/proc/PID/environ`, lines of `stat`, and `/proc/PID/mountinfo`."""
        entries = [each.decode("utf-8", "backslashreplace") for each in environ.split(b"\0") if each]
        return cls(
            effective_env(entries),
            tuple(dict.fromkeys(_nodes(nodes.decode("utf-8", "backslashreplace")))),
            tuple(_mounts(mounts.decode("utf-8", "backslashreplace"))),
        )


@frozen
class Comparison:
    """One thing that was asked for, and what came of it."""

    part: str
    key: str
    wanted: str
    seen: str
    """Empty: it is not there."""

    @property
    def is_as_wanted(self) -> bool:
        """Whether the container has it as it was asked for."""
        return self.wanted == self.seen


def comparisons(spec: Mapping[str, Any], seen: ObservedContainer) -> tuple[Comparison, ...]:
    """Variables, device nodes and mounts of a `config.json`, each beside what the container saw.

    Of mounts those count that somebody asked for, a CDI file for one, and not what every container has.

    Of a device node type and numbers count: mode and owner are other ones where nodes are bound from the host.
    """
    return (*_env(spec, seen), *_devices(spec, seen), *_mounts_of(spec, seen))


def _env(spec: Mapping[str, Any], seen: ObservedContainer) -> Iterator[Comparison]:
    for name, value in effective_env(spec["process"]["env"]).items():
        yield Comparison("env", name, value, seen.env.get(name, ""))


def _devices(spec: Mapping[str, Any], seen: ObservedContainer) -> Iterator[Comparison]:
    nodes = {node.path: f"{node.type} {node.major}:{node.minor}" for node in seen.nodes}
    for device in spec["linux"].get("devices", ()):
        if device["path"] in _OF_RUNTIME:
            continue
        numbers = f"{device['type']} {device.get('major', 0)}:{device.get('minor', 0)}"
        yield Comparison("device", device["path"], numbers, nodes.get(_inside(device["path"]), ""))


def _mounts_of(spec: Mapping[str, Any], seen: ObservedContainer) -> Iterator[Comparison]:
    top = {mount.path: "ro" if mount.read_only else "rw" for mount in seen.mounts}
    usual = {(mount["destination"], mount["type"]) for mount in default_mounts()}
    asked = (mount for mount in spec["mounts"] if (mount["destination"], mount.get("type")) not in usual)
    wanted = {mount["destination"]: mount for mount in asked}
    for path, mount in wanted.items():
        options = mount.get("options", ())
        mode = "ro" if "ro" in options or "rro" in options else "rw"
        yield Comparison("mount", path, mode, top.get(_inside(path), ""))


def _nodes(text: str) -> Iterator[ObservedNode]:
    """Lines of `kind|major|minor|mode|uid|gid|path`, numbers of devices in hexadecimal."""
    for line in text.splitlines():
        fields = line.split("|", _FIELDS - 1)
        if len(fields) == _FIELDS and fields[0] in _KINDS:
            kind, major, minor, mode, uid, gid, path = fields
            yield ObservedNode(path, _KINDS[kind], int(major, 16), int(minor, 16), int(mode, 8), int(uid), int(gid))


def _mounts(text: str) -> Iterator[ObservedMount]:
    """Lines of mountinfo, whose optional fields end with a dash."""
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) > 5:  # noqa: PLR2004 - id, parent, device, root, path, options
            options = fields[5].split(",")
            yield ObservedMount(_plain(fields[4]), after.split(" ")[0], _plain(fields[3]), "ro" in options)


def _inside(path: str) -> str:
    """Where a path of a configuration, clean or not, leads in the container."""
    return cleaned(f"/{path}")


def _plain(path: str) -> str:
    """A path of mountinfo, where odd characters are written as octal numbers."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), path)
