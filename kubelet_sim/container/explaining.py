"""For every entry of a container: who put it there, by which rule; what was dropped, and what would go wrong."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from kubelet_sim.container.cdi.injection import Applied
from kubelet_sim.container.cdi.registry import NO_CDI, Registry
from kubelet_sim.container.config import ContainerConfig, Giver, Lost, NotSimulated, Origin
from kubelet_sim.container.diagnosis import Remark, Severity, diagnose
from kubelet_sim.container.host import HostFiles
from kubelet_sim.container.oci import DEFAULT, RuntimeOptions, derive
from kubelet_sim.errors import ContainerRefused


@frozen
class Entry:
    """One entry of the container."""

    part: str
    key: str
    value: str
    origin: Origin


@frozen
class Explanation:
    """All there is to say about a container."""

    entries: tuple[Entry, ...]
    """In the order of the CRI message, then what CDI changes."""
    lost: tuple[Lost, ...]
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
    applied: tuple[Applied, ...] = ()
    refused = ""
    try:
        applied = derive(config, host, cdi, options).applied
    except ContainerRefused as error:
        refused = str(error)
    return Explanation(
        entries=(*_entries(config), *_changes(applied)),
        lost=config.lost,
        not_simulated=config.not_simulated,
        remarks=diagnose(config, host, applied, options.passed_annotations),
        refused=refused,
    )


def _entries(config: ContainerConfig) -> Iterator[Entry]:
    for env in config.envs:
        yield Entry("env", env.name, env.value, env.origin)
    for bind in config.mounts:
        yield Entry("mount", bind.container_path, f"{bind.host_path} ({'ro' if bind.read_only else 'rw'})", bind.origin)
    for node in config.devices:
        yield Entry("device", node.container_path, f"{node.host_path} ({node.permissions})", node.origin)
    for each in config.annotations:
        yield Entry("annotation", each.key, each.value, each.origin)
    for name in config.cdi_devices:
        yield Entry("CDI device", name.name, "", name.origin)


def _changes(applied: tuple[Applied, ...]) -> Iterator[Entry]:
    for each in applied:
        yield Entry(each.part, each.key, each.value, Origin(Giver.CDI, each.source, ("DM-132",)))
