"""Several responses become one container spec: the first occurrence of a key wins, conflicts are noted and no error.

Nothing is validated; what a runtime would refuse is passed on (DM-125).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kubelet_sim.core.state import Context
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.response import ContainerResponse, ContainerSpec, DeviceNode, Mount

T = TypeVar("T")


def merged(context: Context, subject: str, responses: Mapping[ResourceName, ContainerResponse]) -> ContainerSpec:
    """The merge of all responses of one container; which of two conflicting resources wins is open.

    Rules: DM-123, DM-124, DM-125, DM-126
    Follows: deviceRunContainerOptions
    """
    ordered = [responses[name] for name in context.order.arrange("DM-123", responses)]

    def conflict(what: str) -> Callable[[str, str, str], None]:
        def note(key: str, kept: str, dropped: str) -> None:
            context.warn("DM-124", subject, f"{what}: {key} stays {kept}, {dropped} is dropped")

        return note

    def pairs(part: Callable[[ContainerResponse], Mapping[str, str]]) -> Iterable[tuple[str, str]]:
        return (pair for answer in ordered for pair in context.order.arrange("DM-124", part(answer).items()))

    return ContainerSpec(
        envs=_first(
            pairs(lambda answer: answer.envs),
            _key_of_pair,
            _value_of_pair,
            conflict("Environment variable has conflicting setting"),
        ),
        mounts=_first(
            (mount for answer in ordered for mount in answer.mounts),
            _container_path,
            _host_path,
            conflict("Container mount has conflicting mapping host mounts"),
        ),
        devices=_first(
            (device for answer in ordered for device in answer.devices),
            _container_path,
            _host_path,
            conflict("Container device has conflicting mapping host devices"),
        ),
        annotations=_first(
            pairs(lambda answer: answer.annotations),
            _key_of_pair,
            _value_of_pair,
            conflict("Annotation has conflicting setting"),
        ),
        cdi_devices=tuple(dict.fromkeys(name for answer in ordered for name in answer.cdi_devices)),
    )


def _key_of_pair(pair: tuple[str, str]) -> str:
    return pair[0]


def _value_of_pair(pair: tuple[str, str]) -> str:
    return pair[1]


def _container_path(entry: Mount | DeviceNode) -> str:
    return entry.container_path


def _host_path(entry: Mount | DeviceNode) -> str:
    """What is compared when a key occurs twice; permissions and read-only are not. Rules: DM-124"""
    return entry.host_path


def _first(
    items: Iterable[T], key: Callable[[T], str], compared: Callable[[T], str], conflict: Callable[[str, str, str], None]
) -> tuple[T, ...]:
    kept: dict[str, T] = {}
    for item in items:
        first = kept.setdefault(key(item), item)
        if compared(first) != compared(item):
            conflict(key(item), compared(first), compared(item))
    return tuple(kept.values())
