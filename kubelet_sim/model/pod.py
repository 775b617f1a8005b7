"""A pod as the kubelet got it: what matters for devices, and the manifest it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.quantity import Quantity

_NO_QUANTITIES: Mapping[str, Quantity] = MappingProxyType({})
_NO_MANIFEST: Mapping[str, Any] = MappingProxyType({})


class ContainerKind(Enum):
    """How a container takes part in the life of its pod."""

    INIT = "init"
    """Runs to its end before the next one starts."""
    SIDECAR = "sidecar"
    """An init container with `restartPolicy: Always`: started in its place, and kept."""
    APP = "app"


@frozen
class Container:
    """One container of a pod; ephemeral containers are none of ours. Rules: DM-75"""

    name: ContainerName
    kind: ContainerKind = ContainerKind.APP
    limits: Mapping[str, Quantity] = field(default=_NO_QUANTITIES, hash=False)
    """By resource name, every resource, `cpu` included."""
    requests: Mapping[str, Quantity] = field(default=_NO_QUANTITIES, hash=False)
    """By resource name, with the API server's defaults: a limit without request is requested."""
    claimed: frozenset[str] = frozenset()
    """Names of limits that a resource claim serves, by the pod's status. Rules: DM-85"""


@frozen
class Pod:
    """A pod of the node. Two pods with one UID are the same pod."""

    name: str
    namespace: str
    uid: PodUID
    init_containers: tuple[Container, ...] = ()
    """In spec order, sidecars in their place."""
    containers: tuple[Container, ...] = ()
    """The app containers in spec order."""
    overhead: Mapping[str, Quantity] = field(default=_NO_QUANTITIES, hash=False)
    restart_policy: str = "Always"
    manifest: Mapping[str, Any] = field(default=_NO_MANIFEST, hash=False, repr=False, eq=False)
    """The document as it was read, with what we do not understand."""

    @property
    def key(self) -> str:
        """`namespace/name`, as people name a pod. Never parsed again."""
        return f"{self.namespace}/{self.name}"

    def all_containers(self) -> Iterator[Container]:
        """Every container in the order in which devices are allocated. Rules: DM-75"""
        yield from self.init_containers
        yield from self.containers

    def container(self, name: str) -> Container | None:
        """The container of that name, of any kind."""
        return next((c for c in self.all_containers() if c.name == name), None)

    def named_container(self, name: str | None) -> Container:
        """The container that is meant; the name may be left out for a pod with one app container.

        Raises:
            UsageError: there is none of that name, or several are there and none was named.
        """
        names = ", ".join(each.name for each in self.all_containers())
        if name is None and len(self.containers) > 1:
            raise UsageError(f"pod {self.key} has several containers; name one of: {names}")
        found = self.container(self.containers[0].name if name is None else name)
        if found is None:
            raise UsageError(f"pod {self.key} has no container {name}; it has: {names}")
        return found
