"""What would go wrong with a container, and what a runtime would say: the kubelet passes everything on unchecked.

Facts about runtimes are those of runc 1.1 to 1.3 and of containerd 2.2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from attrs import frozen

from kubelet_sim.container.cdi.annotations import PREFIX
from kubelet_sim.container.cdi.injection import AppliedEdit
from kubelet_sim.container.cdi.names import BadName, parse_name
from kubelet_sim.container.config import (
    Annotation,
    Bind,
    ContainerConfig,
    ContainerDevice,
    Env,
    Giver,
    MadeByKubelet,
    Origin,
)
from kubelet_sim.container.host import FileKind, HostFile, HostFiles
from kubelet_sim.container.paths import cleaned

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LONGEST_ENTRY = 131_072
"""Bytes of `NAME=VALUE` with its end, from which on the kernel refuses to start the program."""
_LARGE_ENTRY = 32 * 1024
_SYSTEM_TARGETS = {
    "/": "it hides all that is there, /proc too, without which runc does not start the container",
    "/dev": "",
    "/proc": "it hides what is there, and runc refuses all but the host's /proc",
    "/sys": "it hides what is there",
}
_RELATIVE = "the host path {!r} is relative: containerd looks from the root, others elsewhere"


class Severity(Enum):
    """How bad it is what a remark tells."""

    ERROR = "error"
    """A runtime does not start the container."""
    WARNING = "warning"
    """It starts, and not as was meant; or some runtimes refuse."""
    NOTE = "note"
    """Worth knowing."""


@frozen
class Remark:
    """One thing to know about a container."""

    severity: Severity
    part: str
    key: str
    text: str
    origin: Origin | None = None
    rules: tuple[str, ...] = ()


def diagnose(
    config: ContainerConfig, host: HostFiles, applied: Sequence[AppliedEdit] = (), passed: Iterable[str] = ()
) -> tuple[Remark, ...]:
    """Everything that is odd about the container, part by part; `error` where no runtime would start it.

    Args:
        config: as the kubelet hands it over.
        host: where its paths are looked up.
        applied: what CDI changed, if that is known.
        passed: keys of annotations that the runtime is set up to pass on.

    Rules: DM-124, DM-125, DM-128, DM-130, DM-133
    """
    return (
        *_conflicts(config),
        *(remark for env in config.envs for remark in _env(env)),
        *_doubled_env(config),
        *(remark for bind in config.mounts for remark in _mount(bind, host)),
        *(remark for node in config.devices for remark in _device(node, host)),
        *_doubled_paths(config),
        *(remark for each in config.annotations for remark in _annotation(each, set(passed))),
        *_cdi(config),
        *_replaced(applied),
    )


def _conflicts(config: ContainerConfig) -> Iterator[Remark]:
    for each in config.lost:
        rules = tuple(re.findall(r"[A-Z]{2}-[0-9]+", each.why))
        if each.is_conflict:
            yield Remark(
                Severity.WARNING, each.part, each.key, f"{each.value!r} is dropped: {each.why}", each.origin, rules
            )
        elif "DM-124" not in rules:
            yield Remark(Severity.NOTE, each.part, each.key, each.why, each.origin, rules)


def _env(env: Env) -> Iterator[Remark]:
    rules = ("DM-125",)

    def remark(severity: Severity, text: str) -> Remark:
        return Remark(severity, "env", env.name, text, env.origin, rules)

    size = len(f"{env.name}={env.value}".encode("utf-8", "surrogatepass")) + 1
    if not env.name:
        yield remark(Severity.ERROR, "the name is empty; runc: environment variable name can't be empty")
    elif "\0" in env.name + env.value:
        yield remark(Severity.ERROR, "there is a NUL in it; runc: environment variable value can't contain null")
    elif "=" in env.name:
        name, _, rest = f"{env.name}={env.value}".partition("=")
        yield remark(Severity.WARNING, f"the name has a = in it: the process sees {name!r} with the value {rest!r}")
    elif not _ENV_NAME.fullmatch(env.name):
        yield remark(Severity.WARNING, "shells cannot read a variable of this name")
    items = env.value.split(",")
    if env.origin.giver is Giver.PLUGIN and len(set(items)) < len(items):
        yield remark(Severity.WARNING, "a list that holds an item twice")
    if size > _LONGEST_ENTRY:
        yield remark(Severity.ERROR, f"{size} bytes; exec fails with: argument list too long")
    elif size > _LARGE_ENTRY:
        yield remark(Severity.WARNING, f"{size} bytes; {_LONGEST_ENTRY} is the end of what the kernel takes")


def _doubled_env(config: ContainerConfig) -> Iterator[Remark]:
    """A variable of the plugin that the pod sets, too. Rules: DM-128"""
    of_plugins = {each.name: each for each in config.envs if each.origin.giver is Giver.PLUGIN}
    for each in config.envs:
        theirs = of_plugins.get(each.name)
        if each.origin.giver is Giver.POD and theirs is not None:
            text = f"sent twice, the plugin's {theirs.value!r} first: the process sees the pod's {each.value!r}"
            yield Remark(Severity.WARNING, "env", each.name, text, theirs.origin, ("DM-128",))


def _mount(bind: Bind, host: HostFiles) -> Iterator[Remark]:
    if bind.origin.giver is Giver.KUBELET:
        return

    def remark(severity: Severity, text: str) -> Remark:
        return Remark(severity, "mount", bind.container_path, text, bind.origin, ("DM-125",))

    yield from _container_path("mount", bind.container_path, bind.origin)
    yield from _over_system(bind)
    if bind.made is not MadeByKubelet.NOTHING:
        return  # the kubelet makes what it mounts
    if not bind.host_path.startswith("/"):
        yield remark(Severity.WARNING, _RELATIVE.format(bind.host_path))
        return
    found = _look(host, bind.host_path)
    if found is None:
        text = f"{bind.host_path} is missing on this host: containerd makes an empty directory there, others refuse"
        yield remark(Severity.WARNING, text)
    elif found.kind is FileKind.LINK:
        target = _resolved(host, bind.host_path) or "nothing"
        yield remark(Severity.WARNING, f"{bind.host_path} is a link: what it leads to is mounted ({target})")


def _over_system(bind: Bind) -> Iterator[Remark]:
    """A mount that hides what a runtime puts into every container."""
    target = cleaned(bind.container_path) if bind.container_path else ""
    if target.startswith("/proc/"):
        text = "a mount below /proc: runc refuses all but those over a few single files"
        yield Remark(Severity.WARNING, "mount", bind.container_path, text, bind.origin, ("DM-125",))
    if target not in _SYSTEM_TARGETS:
        return
    severity, meaning = Severity.WARNING, _SYSTEM_TARGETS[target]
    if target == "/dev" and cleaned(bind.host_path) == "/dev":
        meaning = "the container sees all device nodes of the host, and none is made for it"
    elif target == "/dev":
        severity = (
            Severity.WARNING if bind.made is MadeByKubelet.NOTHING else Severity.ERROR
        )  # what the kubelet makes is empty
        meaning = (
            "none of the usual device nodes is made in it, nor one that was granted; without a null in it, runc and "
        )
        meaning += "crun do not start the container"
    yield Remark(severity, "mount", bind.container_path, f"a mount over {target}: {meaning}", bind.origin, ("DM-125",))


def _device(node: ContainerDevice, host: HostFiles) -> Iterator[Remark]:
    def remark(severity: Severity, text: str) -> Remark:
        return Remark(severity, "device", node.container_path, text, node.origin, ("DM-125",))

    yield from _container_path("device", node.container_path, node.origin)
    if not node.permissions:
        yield remark(Severity.ERROR, "no permissions; runc on cgroup v1: device access field cannot be empty")
    elif unknown := sorted(set(node.permissions) - set("rwm")):
        yield remark(Severity.WARNING, f"permissions {node.permissions!r}: {''.join(unknown)} is none of r, w, m")
    elif any(count > 1 for count in Counter(node.permissions).values()):
        yield remark(Severity.WARNING, f"permissions {node.permissions!r} say a letter twice")
    if not node.host_path.startswith("/"):
        yield remark(Severity.WARNING, _RELATIVE.format(node.host_path))
        return
    found = _look(host, node.host_path)
    if found is not None and found.kind is FileKind.LINK:
        target = _resolved(host, node.host_path)
        yield remark(Severity.WARNING, f"{node.host_path} is a link: the container gets what it leads to ({target})")
        found = None if target is None else _look(host, target)
    if found is None:
        yield remark(
            Severity.ERROR, f"missing on this host; containerd: lstat {node.host_path}: no such file or directory"
        )
    elif found.kind is FileKind.DIRECTORY:
        yield remark(Severity.WARNING, f"{node.host_path} is a directory: containerd adds every device in it")
    elif not found.kind.is_device:
        text = f"{node.host_path} is a {found.kind.value}; containerd: not a device node"
        yield remark(Severity.ERROR, text)


def _container_path(part: str, path: str, origin: Origin) -> Iterator[Remark]:
    rules = ("DM-125",)
    if not path:
        yield Remark(Severity.ERROR, part, path, "the path in the container is empty", origin, rules)
    elif not path.startswith("/"):
        text = "the path in the container is relative; the OCI specification wants an absolute one, and runtimes differ"
        yield Remark(Severity.WARNING, part, path, text, origin, rules)
    elif cleaned(path) != path.removesuffix("/") and path != "/":
        text = f"the path in the container is the same as {cleaned(path)}, which nobody sees"
        yield Remark(Severity.WARNING, part, path, text, origin, rules)


def _doubled_paths(config: ContainerConfig) -> Iterator[Remark]:
    """Two things at one place of the container: mounts lie over each other, the later one on top. Rules: DM-130"""
    seen: dict[str, Bind] = {}
    for bind in config.mounts:
        path = cleaned(bind.container_path)
        below = seen.get(path)
        if below is not None and below.host_path != bind.host_path:
            text = f"mounted twice: {bind.host_path} ({bind.origin}) hides {below.host_path}"
            yield Remark(Severity.WARNING, "mount", bind.container_path, text, below.origin, ("DM-130",))
        seen[path] = bind
    for node in config.devices:
        over = seen.get(cleaned(node.container_path))
        if over is not None:
            text = f"a device and a mount at one path: {over.host_path} ({over.origin}) is mounted there, too"
            yield Remark(Severity.WARNING, "device", node.container_path, text, node.origin, ("DM-124",))


def _annotation(each: Annotation, passed: set[str]) -> Iterator[Remark]:
    if each.origin.giver is not Giver.PLUGIN:
        return
    if not _KEY.fullmatch(each.key):
        text = "the key is no qualified name; the kubelet hands it on all the same"
        yield Remark(Severity.WARNING, "annotation", each.key, text, each.origin, ("DM-125",))
    if each.key.startswith(PREFIX):
        for name in each.value.split(","):
            yield from _name(name, each.origin, "annotation", each.key)
    elif each.key not in passed:
        text = "containerd keeps it to itself, unless its container_annotations name the key; CRI-O passes it on"
        yield Remark(Severity.NOTE, "annotation", each.key, text, each.origin, ("DM-131",))


def _cdi(config: ContainerConfig) -> Iterator[Remark]:
    for each in config.cdi_devices:
        yield from _name(each.name, each.origin, "CDI device", each.name)
        for annotation in config.annotations:
            is_plugins = annotation.origin.giver is Giver.PLUGIN and annotation.key.startswith(PREFIX)
            if is_plugins and each.name in annotation.value.split(","):
                text = f"asked for twice, as CDI device and by the annotation {annotation.key}; runtimes take it once"
                yield Remark(Severity.WARNING, "CDI device", each.name, text, each.origin, ("DM-132",))


def _name(name: str, origin: Origin, part: str, key: str) -> Iterator[Remark]:
    try:
        parse_name(name)
    except BadName as error:
        yield Remark(Severity.ERROR, part, key, str(error), origin, ("DM-125",))


def _replaced(applied: Sequence[AppliedEdit]) -> Iterator[Remark]:
    """What CDI put in the place of something else."""
    for each in applied:
        if each.replaced is not None:
            text = f"CDI puts {each.value!r} in the place of {each.replaced!r}"
            yield Remark(Severity.WARNING, each.part, each.key, text, Origin(Giver.CDI, each.source), ("DM-132",))


def _look(host: HostFiles, path: str) -> HostFile | None:
    try:
        return host.look(path)
    except OSError:
        return None


def _resolved(host: HostFiles, path: str) -> str | None:
    try:
        return host.resolved(path)
    except OSError:
        return None
