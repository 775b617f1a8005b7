"""Checks of the group Container spec content, first part: what can be said of the answers alone.

All look at the same answers: those for up to eight devices one by one, and for all at once.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator

from kubelet_sim.conformance.answers import Granted, cdi_names, granted, quoted
from kubelet_sim.conformance.check import Group, Level, Run
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.pods import admitted_spec
from kubelet_sim.model.resource_name import is_qualified_name
from kubelet_sim.model.response import ContainerResponse

GROUP = Group.SPEC
ANSWERS = "The answers to Allocate for up to eight devices one by one, and for all at once."
LONGEST_VARIABLE, LONG_VARIABLE = 128 * 1024, 32 * 1024
TAKEN = frozenset({"/", "/proc", "/sys", "/dev"})
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Fault = tuple[Level, str]


def of_each_answer(faults: Callable[[ContainerResponse], Iterator[Fault]]) -> Run:
    """The check that reports the faults of all answers: each once a resource, with the first answer that has it."""

    async def run(ctx: CheckContext) -> None:
        told: set[tuple[str, str]] = set()
        for each in await granted(ctx):
            for level, text in faults(each.response):
                if (each.resource, text) not in told:
                    told.add((each.resource, text))
                    ctx.find(level, f"{each}: {text}", resource=each.resource, ids=list(each.ids[:10]))

    return run


@GROUP.check(
    "spec-nonempty",
    "An answer grants something",
    level=Level.WARNING,
    what=ANSWERS,
    why="The container starts, and has nothing of its device.",
    fix="Grant a device node or a CDI name, and variables, mounts and annotations where the program needs them.",
    source="the documentation of device plugins; public reports",
    rules="DM-126",
)
@of_each_answer
def nonempty(answer: ContainerResponse) -> Iterator[Fault]:
    if not any((answer.envs, answer.mounts, answer.devices, answer.annotations, answer.cdi_devices)):
        yield Level.WARNING, "the answer grants nothing"


@GROUP.check(
    "spec-env-name",
    "Variables have names that a program can read",
    level=Level.ERROR,
    what=f"{ANSWERS} An empty name, an equals sign or a NUL in it is an error, another odd character a warning.",
    why="Nobody checks the name: the runtime refuses the container, or the variable is another one than was meant; a shell drops it.",
    fix="Use letters, digits and underscores, a digit not first.",
    source="the code of the kubelet; public reports",
    rules="DM-125",
)
@of_each_answer
def env_name(answer: ContainerResponse) -> Iterator[Fault]:
    for name in sorted(answer.envs):
        if not name or "=" in name or "\0" in name:
            yield Level.ERROR, f"{name!r} cannot be the name of a variable"
        elif not _ENV_NAME.fullmatch(name):
            yield Level.WARNING, f"{name!r} is an odd name for a variable"


@GROUP.check(
    "spec-env-size",
    "No variable is too large",
    level=Level.ERROR,
    what=f"{ANSWERS} Name, equals sign and value count; from 32 KiB on it is a warning.",
    why="The kernel takes no string of 128 KiB or more: the container's process does not start, for a reason that names no variable.",
    fix="Put long lists into a file and mount it, or grant fewer and larger devices.",
    source="the kernel's limit; public reports",
    rules="DM-125",
)
@of_each_answer
def env_size(answer: ContainerResponse) -> Iterator[Fault]:
    for name, value in sorted(answer.envs.items()):
        size = len(f"{name}={value}".encode(errors="surrogatepass"))
        if size >= LONG_VARIABLE:
            level = Level.ERROR if size >= LONGEST_VARIABLE else Level.WARNING
            yield level, f"the variable {name!r} has {size} bytes, of {LONGEST_VARIABLE - 1} that are possible"


@GROUP.check(
    "spec-env-no-duplicates",
    "A list in a variable has nothing twice",
    level=Level.WARNING,
    what=f"{ANSWERS} Values that are joined by commas are looked at.",
    why="A program takes the device twice, or fails; with shares of a device the list grows beyond what a process can be given.",
    fix="Name each thing once, whatever number of ids stand for it.",
    source="public reports",
    rules="DM-125",
)
@of_each_answer
def env_duplicates(answer: ContainerResponse) -> Iterator[Fault]:
    for name, value in sorted(answer.envs.items()):
        if twice := sorted(item for item, times in Counter(value.split(",")).items() if times > 1):
            yield Level.WARNING, f"the variable {name!r} has {quoted(twice)} more than once"


@GROUP.check(
    "spec-paths-absolute",
    "All paths are absolute and clean",
    level=Level.ERROR,
    what=f"{ANSWERS} Host and container paths of mounts and devices; clean is what has no empty part, no dot and no dot-dot.",
    why="Nobody checks them: a runtime refuses the container, or takes the path from a directory that nobody knows.",
    fix="Give full paths, cleaned by the language's library.",
    source="the API file",
    rules="DM-125 DM-126",
)
@of_each_answer
def paths_absolute(answer: ContainerResponse) -> Iterator[Fault]:
    for what, entries in (("device", answer.devices), ("mount", answer.mounts)):
        for entry in entries:
            for whose, path in (("host", entry.host_path), ("container", entry.container_path)):
                if not path.startswith("/") or posixpath.normpath(path) != path or path.startswith("//"):
                    yield Level.ERROR, f"the {whose} path {path!r} of a {what} is not absolute and clean"


@GROUP.check(
    "spec-device-permissions",
    "Permissions of a device are some of r, w and m",
    level=Level.ERROR,
    what=ANSWERS,
    why="Nobody checks them: runtimes refuse other letters, and without any the container may not even open the device.",
    fix="Use `rw`, or `rwm` if the container has to make nodes itself.",
    source="the API file",
    rules="DM-125 DM-126",
)
@of_each_answer
def permissions(answer: ContainerResponse) -> Iterator[Fault]:
    for device in answer.devices:
        said = device.permissions
        if not said or set(said) - set("rwm") or len(set(said)) < len(said):
            yield Level.ERROR, f"the permissions of {device.container_path!r} are {said!r}"


@GROUP.check(
    "spec-container-path-unique",
    "A path in the container stands for one path on the host",
    level=Level.ERROR,
    what=f"{ANSWERS} Devices and mounts of one answer, each among themselves.",
    why="The first one wins, and the kubelet writes no more than a line in its log: the container has one device of two.",
    fix="Give each device a path of its own in the container.",
    source="the code of the kubelet; public reports",
    rules="DM-124",
    is_quick=True,
)
@of_each_answer
def path_unique(answer: ContainerResponse) -> Iterator[Fault]:
    for what, entries in (("devices", answer.devices), ("mounts", answer.mounts)):
        first: dict[str, str] = {}
        for entry in entries:
            kept = first.setdefault(entry.container_path, entry.host_path)
            if kept != entry.host_path:
                hosts = f"{kept!r} and {entry.host_path!r}"
                yield Level.ERROR, f"two {what}, {hosts}, have the container path {entry.container_path!r}"


@GROUP.check(
    "spec-mount-target-sane",
    "No mount covers the root, /proc, /sys or /dev",
    level=Level.WARNING,
    what=ANSWERS,
    why="It hides what the runtime has put there: the container does not start, or sees the host's.",
    fix="Mount below such a directory, at a path of its own.",
    source="what runtimes do",
    rules="DM-125 DM-126",
)
@of_each_answer
def mount_target(answer: ContainerResponse) -> Iterator[Fault]:
    for mount in answer.mounts:
        if posixpath.normpath(f"/{mount.container_path.lstrip('/')}") in TAKEN:
            yield Level.WARNING, f"{mount.host_path!r} is mounted at {mount.container_path!r}"


@GROUP.check(
    "spec-cross-resource-conflicts",
    "Resources of one plugin can be had together",
    level=Level.ERROR,
    needs="BM",
    what="A pod whose container asks for one device of each resource is admitted. Variables, mounts, devices and annotations that two "
    "resources set to different values are reported.",
    why="The kubelet walks the resources in any order, and the first value wins: the container has the one or the other, from start to "
    "start, with no more than a line in the log.",
    fix="Put the resource into the name of variables, keys and paths, or grant what is common in the same words.",
    source="the code of the kubelet; public reports",
    rules="DM-123 DM-124",
    is_quick=True,
)
async def cross_resource(ctx: CheckContext) -> None:
    wanted = [str(each) for each in ctx.resources if ctx.healthy_ids(each)]
    if len(wanted) <= 1:
        ctx.skip("needs a plugin with two resources that have healthy devices")
    spec = await admitted_spec(ctx, dict.fromkeys(wanted, 1))
    for each in spec.provenance.dropped:
        if each.is_conflict and each.resource != each.kept_resource:
            first, second = sorted(((each.resource, each.value), (each.kept_resource, each.kept_value)))
            text = f"{first[0]} sets {each.key!r} ({each.part}) to {first[1]!r}, {second[0]} to {second[1]!r}"
            ctx.error(text, part=each.part, key=each.key, resources=[first[0], second[0]])


@GROUP.check(
    "spec-annotation-valid",
    "Keys of annotations are qualified names",
    level=Level.WARNING,
    what=ANSWERS,
    why="The kubelet hands them to the runtime unchecked: what no Kubernetes object could have, hooks and plugins of runtimes may refuse.",
    fix="Use `domain/name`, with a name of up to 63 letters, digits, dashes, dots and underscores.",
    source="the code of the kubelet",
    rules="DM-125 DM-131",
)
@of_each_answer
def annotation_valid(answer: ContainerResponse) -> Iterator[Fault]:
    for key in sorted(answer.annotations):
        if not is_qualified_name(key):
            yield Level.WARNING, f"{key!r} is no valid key of an annotation"


@GROUP.check(
    "spec-device-nodes-or-cdi",
    "Devices are granted by device nodes or CDI names",
    level=Level.INFO,
    what=ANSWERS,
    why="A variable alone is a request to a hook of the runtime, and a mount under /dev is no right to use what lies there: the device "
    "cgroup still forbids it.",
    fix="Grant device nodes, or CDI names.",
    source="public reports",
    rules="DM-126 DM-132",
)
async def nodes_or_cdi(ctx: CheckContext) -> None:

    def lacks(each: Granted) -> bool:
        return not each.response.devices and not list(cdi_names(each.response))

    for resource in dict.fromkeys(each.resource for each in await granted(ctx) if lacks(each)):
        ctx.info(f"{resource}: devices are granted by other means than device nodes and CDI names", resource=resource)
