"""What a node asks of an API server: objects with versions, in the API's own terms, whoever holds them.

An object is what JSON has of it. Whoever gets one does not change it: it may be the one that the server holds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Protocol

from attrs import frozen

from kubelet_sim.errors import KubeletSimError

Object = Mapping[str, Any]
Fields = Mapping[str, str]
"""A field selector: paths such as `spec.nodeName`, and what stands there."""
NO_FIELDS: Fields = MappingProxyType({})


@frozen
class Kind:
    """A kind of objects, and where an API server serves it."""

    name: str
    plural: str
    is_namespaced: bool = True
    version: str = "v1"


PODS, NODES, EVENTS = Kind("Pod", "pods"), Kind("Node", "nodes", is_namespaced=False), Kind("Event", "events")
KINDS: Mapping[str, Kind] = MappingProxyType({kind.plural: kind for kind in (PODS, NODES, EVENTS)})
"""The kinds of objects that a node has to do with, by plural."""

KEPT_EVENTS = 1000
"""How many events are worth remembering; an API server keeps them for an hour."""


class ApiError(KubeletSimError):
    """An API server's refusal; `code` is that of HTTP, `reason` the word in its Status."""

    code = 500
    reason = "InternalError"


class ObjectNotFound(ApiError):
    """There is no object of that name."""

    code, reason = 404, "NotFound"

    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(f'{kind.plural} "{name}" not found')


class ObjectExists(ApiError):
    """Another object has the name already."""

    code, reason = 409, "AlreadyExists"

    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(f'{kind.plural} "{name}" already exists')


class ObjectConflict(ApiError):
    """The object has another uid, or another version, than the caller thinks."""

    code, reason = 409, "Conflict"

    def __init__(self, kind: Kind, name: str, what: str, found: str, given: str) -> None:
        text = f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}"
        super().__init__(f'Operation cannot be fulfilled on {kind.plural} "{name}": {text}')


class VersionGone(ApiError):
    """A watch was to begin, or to go on, at a version whose changes are forgotten: list again."""

    code, reason = 410, "Expired"

    def __init__(self, version: str) -> None:
        super().__init__(f"too old resource version: {version}")


class Change(Enum):
    """What became of an object: it was added, modified or deleted."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@frozen
class WatchEvent:
    """A change of an object, and the object after it; a deleted one as it was last, at the version of its deletion."""

    type: Change
    object: Object


@frozen
class ObjectList:
    """The objects of a kind at one moment, sorted by namespace and name; a watch goes on from its version."""

    items: tuple[Object, ...]
    resource_version: str


@frozen
class Preconditions:
    """What must hold of an object that is to be changed; otherwise the change is an `ObjectConflict`."""

    uid: str | None = None
    resource_version: str | None = None


ANY = Preconditions()


class ApiServer(Protocol):
    """The objects of a cluster, as far as a node has to do with them. The namespace of a kind without any is empty."""

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        """Return an object as it is now. Raises `ObjectNotFound`."""

    async def list(self, kind: Kind, namespace: str = "", fields: Fields = NO_FIELDS) -> ObjectList:
        """Return the objects of a kind, those of one namespace if it is named, that have these fields."""

    def watch(
        self, kind: Kind, resource_version: str, namespace: str = "", fields: Fields = NO_FIELDS
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield every change after that version, as it comes, without an end.

        Raises:
            VersionGone: changes after that version are forgotten already.
        """

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Add an object and return it with uid, version and creation time. Raises `ObjectExists`."""

    async def patch(self, kind: Kind, name: str, namespace: str, patch: Object, only_if: Preconditions = ANY) -> Object:
        """Change parts of an object and return all of it.

        The patch is a strategic merge patch: mappings are merged, null takes a field away, lists are replaced as a whole,
        but for conditions, which are merged by type (and taken away by `$patch: delete`).

        Raises:
            ObjectNotFound: there is none.
            ObjectConflict: a precondition does not hold.
        """

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", grace_s: int | None = None, only_if: Preconditions = ANY
    ) -> None:
        """Delete an object: a pod that may still run is only marked, for its kubelet to end it and to delete it with grace 0.

        Args:
            kind: what it is.
            name: its name.
            namespace: where it is.
            grace_s: how long the containers of a pod may take; `None`: as the pod says.
            only_if: preconditions.

        Raises:
            ObjectNotFound: there is none.
            ObjectConflict: a precondition does not hold.
        """
