"""For every entry of a container: who put it there, by which rule; what was dropped, and what would go wrong."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from kubelet_sim.container.cdi.annotations import all_names
from kubelet_sim.container.cdi.injection import AppliedEdit
from kubelet_sim.container.cdi.names import BadName
from kubelet_sim.container.cdi.registry import NO_CDI, CdiUnresolved, Registry
from kubelet_sim.container.config import ContainerConfig, Giver, LostEntry, NotSimulated, Origin
from kubelet_sim.container.diagnosis import Remark, Severity, diagnose
from kubelet_sim.container.host import HostFiles
from kubelet_sim.container.oci import DEFAULT, RuntimeOptions, derive
from kubelet_sim.errors import ContainerRefused


@frozen
class ExplainedEntry:
    """An entry of a container, with who put it there."""

    part: str
    key: str
    value: str
    origin: Origin


@frozen
class Explanation:
    """All there is to say about a container."""

    entries: tuple[ExplainedEntry, ...]
    """In the order of the CRI message, then what CDI changes."""
    lost: tuple[LostEntry, ...]
    not_simulated: tuple[NotSimulated, ...]
    remarks: tuple[Remark, ...]
    refused: str = ""
    """Why a runtime would not create it; empty if it would."""

    @property
    def has_errors(self) -> bool:
        """Whether no runtime would start the container as it is."""
        return bool(self.refused) or any(each.severity is Severity.ERROR for each in self.remarks)


def explain(
    config: ContainerConfig, host: HostFiles, cdi: Registry = NO_CDI, options: RuntimeOptions = DEFAULT
) -> Explanation:
    """Everything about the container. Never raises for what a plugin or a spec file did: that is what it tells.

    Rules: DM-123, DM-124, DM-125, DM-128, DM-131, DM-132, DM-133
    """
    applied: tuple[AppliedEdit, ...] = ()
    refused, names = "", _cdi_names(config)
    unused = _unused(cdi) if names else ()
    try:
        applied = derive(config, host, cdi, options).applied
    except ContainerRefused as error:
        refused = str(error)
        unused = () if isinstance(error, CdiUnresolved) else unused  # which names them itself
    return Explanation(
        entries=(*_entries(config), *_changes(applied)),
        lost=(*config.lost, *_shadowed(names, cdi)),
        not_simulated=config.not_simulated,
        remarks=(*diagnose(config, host, applied, options.passed_annotations), *unused),
        refused=refused,
    )


def _cdi_names(config: ContainerConfig) -> tuple[str, ...]:
    """What the container asks for; what is no name is told by the diagnosis."""
    sent = tuple(each.name for each in config.cdi_devices)
    try:
        return all_names(sent, {each.key: each.value for each in config.annotations})
    except BadName:
        return sent


def _shadowed(names: tuple[str, ...], cdi: Registry) -> Iterator[LostEntry]:
    """Definitions of these names that another file keeps out."""
    for name in names:
        if name in cdi.devices:
            winner = cdi.devices[name].file.path
            for path in cdi.shadowed.get(name, ()):
                why = f"{winner} defines it, too, in a directory of higher precedence"
                yield LostEntry("CDI device", name, path, Origin(Giver.CDI, path, ("DM-132",)), why)


def _unused(cdi: Registry) -> tuple[Remark, ...]:
    """Spec files and directories of which nothing counts."""
    files = ((file.path, file.problem) for file in cdi.files if file.problem)
    told = (*((path, f"the file is not used: {problem}") for path, problem in files), *_unreadable(cdi))
    return tuple(Remark(Severity.WARNING, "CDI file", path, text, None, ("DM-132",)) for path, text in told)


def _unreadable(cdi: Registry) -> Iterator[tuple[str, str]]:
    for problem in cdi.problems:
        directory, _, why = problem.rpartition(": ")
        yield directory, f"the directory cannot be read, and those after it are not looked at: {why}"


def _entries(config: ContainerConfig) -> Iterator[ExplainedEntry]:
    for env in config.envs:
        yield ExplainedEntry("env", env.name, env.value, env.origin)
    for bind in config.mounts:
        yield ExplainedEntry(
            "mount", bind.container_path, f"{bind.host_path} ({'ro' if bind.read_only else 'rw'})", bind.origin
        )
    for node in config.devices:
        yield ExplainedEntry("device", node.container_path, f"{node.host_path} ({node.permissions})", node.origin)
    for each in config.annotations:
        yield ExplainedEntry("annotation", each.key, each.value, each.origin)
    for name in config.cdi_devices:
        yield ExplainedEntry("CDI device", name.name, "", name.origin)


def _changes(applied: tuple[AppliedEdit, ...]) -> Iterator[ExplainedEntry]:
    for each in applied:
        yield ExplainedEntry(each.part, each.key, each.value, Origin(Giver.CDI, each.source, ("DM-132",)))
