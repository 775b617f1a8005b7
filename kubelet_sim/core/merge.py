"""Several responses become one container spec: the first occurrence of a key wins, conflicts are noted and no error.

Nothing is validated; what a runtime would refuse is passed on (DM-125). Who won and what was dropped goes along with the
result: after the merge nobody could tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from attrs import define, field

from kubelet_sim.core.state import Context
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.response import ContainerResponse, ContainerSpec, DeviceNode, Dropped, Mount, Provenance

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

    def pairs(part: Callable[[ContainerResponse], Mapping[str, str]]) -> Iterable[tuple[str, tuple[str, str]]]:
        for name, answer in ordered:
            for pair in context.order.arrange("DM-124", part(answer).items()):
                yield name, pair

    envs = _Part[tuple[str, str]]("envs", dropped, _key_of_pair, _value_of_pair)
    envs.take(pairs(lambda answer: answer.envs))
    mounts = _Part[Mount]("mounts", dropped, _container_path, _host_path)
    mounts.take((name, mount) for name, answer in ordered for mount in answer.mounts)
    devices = _Part[DeviceNode]("devices", dropped, _container_path, _host_path)
    devices.take((name, device) for name, answer in ordered for device in answer.devices)
    annotations = _Part[tuple[str, str]]("annotations", dropped, _key_of_pair, _value_of_pair)
    annotations.take(pairs(lambda answer: answer.annotations))
    cdi_devices = _Part[str]("cdi_devices", dropped, str, str)
    cdi_devices.take((name, device) for name, answer in ordered for device in answer.cdi_devices)

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


@define
class _Part(Generic[T]):
    """One list of the result: what was first under each key, and whose it is."""

    name: str
    dropped: list[Dropped]
    key: Callable[[T], str]
    compared: Callable[[T], str]
    kept: dict[str, tuple[str, T]] = field(factory=dict)

    def take(self, entries: Iterable[tuple[str, T]]) -> None:
        """Entries in order, each with the resource of its answer. Rules: DM-124"""
        for resource, entry in entries:
            key = self.key(entry)
            candidate = (resource, entry)
            first = self.kept.setdefault(key, candidate)
            if first is not candidate:
                self.dropped.append(
                    Dropped(self.name, key, resource, self.compared(entry), self.compared(first[1]), first[0])
                )

    def entries(self) -> tuple[T, ...]:
        return tuple(entry for _, entry in self.kept.values())

    def resources(self) -> tuple[str, ...]:
        return tuple(resource for resource, _ in self.kept.values())


def _key_of_pair(pair: tuple[str, str]) -> str:
    return pair[0]


def _value_of_pair(pair: tuple[str, str]) -> str:
    return pair[1]


def _container_path(entry: Mount | DeviceNode) -> str:
    return entry.container_path


def _host_path(entry: Mount | DeviceNode) -> str:
    """What is compared when a key occurs twice; permissions and read-only are not. Rules: DM-124"""
    return entry.host_path
