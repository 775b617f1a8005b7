"""Several responses become one container spec: the first occurrence of a key wins, conflicts are noted and no error.

Nothing is validated; what a runtime would refuse is passed on (DM-125). Who won and what was dropped goes along with the
result: after the merge nobody could tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Generic, TypeVar

from attrs import define, evolve, field

from kubelet_sim.core.state import Context
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.response import (
    ContainerResponse,
    ContainerSpec,
    DeviceNode,
    Dropped,
    Mount,
    Provenance,
)

T = TypeVar("T")

_CONFLICTS = {
    "envs": "Environment variable has conflicting setting",
    "mounts": "Container mount has conflicting mapping host mounts",
    "devices": "Container device has conflicting mapping host devices",
    "annotations": "Annotation has conflicting setting",
}
"""The kubelet's log line by part; equal CDI names are dropped without a word."""


def merged(context: Context, subject: str, responses: Mapping[ResourceName, ContainerResponse]) -> ContainerSpec:
    """The merge of all responses of one container; which of two conflicting resources wins is open.

    Rules: DM-123, DM-124, DM-125, DM-126
    Follows: deviceRunContainerOptions
    """
    ordered = [(name, responses[name]) for name in context.order.arrange("DM-123", responses)]
    dropped: list[Dropped] = []
    envs: _MergedPart[tuple[str, str]] = _MergedPart("envs", dropped, _first_half, _second_half)
    mounts: _MergedPart[Mount] = _MergedPart("mounts", dropped, _container_path, _host_path)
    devices: _MergedPart[DeviceNode] = _MergedPart("devices", dropped, _container_path, _host_path)
    annotations: _MergedPart[tuple[str, str]] = _MergedPart("annotations", dropped, _first_half, _second_half)
    cdi_devices: _MergedPart[str] = _MergedPart("cdi_devices", dropped, str, str)
    for name, answer in ordered:
        envs.take(name, context.order.arrange("DM-124", answer.envs.items()))
        mounts.take(name, answer.mounts)
        devices.take(name, answer.devices)
        annotations.take(name, context.order.arrange("DM-124", answer.annotations.items()))
        cdi_devices.take(name, answer.cdi_devices)
    for each in dropped:
        if each.is_conflict:
            text = f"{_CONFLICTS[each.part]}: {each.key} stays {each.kept_value}, {each.value} is dropped"
            context.warn("DM-124", subject, text)
    return ContainerSpec(
        envs=envs.entries(),
        mounts=mounts.entries(),
        devices=devices.entries(),
        annotations=annotations.entries(),
        cdi_devices=cdi_devices.entries(),
        provenance=Provenance(
            envs.resources(),
            mounts.resources(),
            devices.resources(),
            annotations.resources(),
            cdi_devices.resources(),
            tuple(dropped),
        ),
    )


def without_cdi(spec: ContainerSpec) -> ContainerSpec:
    """The merge as a kubelet has it that reads no CDI names: they are among what was dropped. Rules: DM-171, DM-181"""
    whose = spec.provenance
    names = zip(spec.cdi_devices, whose.cdi_devices, strict=True)
    unread = tuple(Dropped("cdi_devices", name, resource, name, name, "") for name, resource in names)
    return evolve(spec, cdi_devices=(), provenance=evolve(whose, cdi_devices=(), dropped=(*whose.dropped, *unread)))


@define
class _MergedPart(Generic[T]):
    """One list of the result: what was first under each key, and whose it is."""

    name: str
    dropped: list[Dropped]
    key: Callable[[T], str]
    compared: Callable[[T], str]
    kept: dict[str, T] = field(factory=dict)
    owners: dict[str, str] = field(factory=dict)

    def take(self, resource: str, entries: Iterable[T]) -> None:
        """The entries of one answer, in order. Rules: DM-124"""
        kept, owners, key_of = self.kept, self.owners, self.key
        for entry in entries:
            key = key_of(entry)
            if key not in kept:
                kept[key], owners[key] = entry, resource
            else:
                values = self.compared(entry), self.compared(kept[key])
                self.dropped.append(Dropped(self.name, key, resource, *values, owners[key]))

    def entries(self) -> tuple[T, ...]:
        return tuple(self.kept.values())

    def resources(self) -> tuple[str, ...]:
        return tuple(self.owners.values())


_first_half: Callable[[tuple[str, str]], str] = itemgetter(0)
_second_half: Callable[[tuple[str, str]], str] = itemgetter(1)
_container_path: Callable[[Mount | DeviceNode], str] = attrgetter("container_path")
_host_path: Callable[[Mount | DeviceNode], str] = attrgetter("host_path")
"""What is compared when a key occurs twice; permissions and read-only are not. Rules: DM-124"""
