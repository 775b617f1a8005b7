"""An API server's objects in memory: names, versions, watches. It admits and validates nothing.

Every method returns at once, without giving way to other tasks: what a node does in one go stays so.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from attrs import define, field

from kubelet_sim.node.api_objects.api_server import (
    ANY,
    EVENTS,
    KEPT_EVENTS,
    NO_FIELDS,
    PODS,
    Change,
    Fields,
    Kind,
    Object,
    ObjectConflict,
    ObjectExists,
    ObjectList,
    ObjectNotFound,
    Preconditions,
    VersionGone,
    WatchEvent,
)
from kubelet_sim.node.api_objects.node_times import NodeTimes
from kubelet_sim.node.bell import Bell

KEPT_CHANGES = 1000
"""The most changes that are kept of a kind that somebody watches; who falls further behind has to list again."""
KEPT_UNWATCHED = 100
"""The most changes that are kept of a kind that nobody watches: enough to list first and then to watch."""
FOR_EVER_S = 3600.0
DEFAULT_GRACE_S = 30
TERMINAL = frozenset({"Succeeded", "Failed"})


@define
class _Changes:
    """The last changes of a kind, each with its version."""

    last: deque[tuple[int, WatchEvent]] = field(factory=deque)
    forgotten: int = 0
    """The version of the newest change that is not among them."""
    bell: Bell = field(factory=Bell)
    watcher_count: int = 0

    def add(self, version: int, event: WatchEvent) -> None:
        self.last.append((version, event))
        while len(self.last) > (KEPT_CHANGES if self.watcher_count else KEPT_UNWATCHED):
            self.forgotten, _ = self.last.popleft()
        self.bell.ring()

    def after(self, version: int) -> list[tuple[int, WatchEvent]]:
        """Returns the changes after a version, oldest first. Raises `VersionGone`."""
        if version < self.forgotten:
            raise VersionGone(str(version))
        newer = itertools.takewhile(lambda each: each[0] > version, reversed(self.last))
        return list(newer)[::-1]


class ObjectsInMemory:
    """Objects by kind, namespace and name; see `ApiServer`.

    Args:
        times: those that it writes into objects.
    """

    def __init__(self, times: NodeTimes) -> None:
        self._times = times
        self._version = 0
        self._objects: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        self._changes: dict[str, _Changes] = {}

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """The object of that name, if there is one: `get` for those who cannot wait."""
        return self._objects.get(kind.plural, {}).get((namespace, name))

    def all(self, kind: Kind) -> tuple[Object, ...]:
        """Every object of a kind, oldest first; events in order of the last time each was told."""
        return tuple(self._objects.get(kind.plural, {}).values())

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        """Return an object as it is now. Raises `ObjectNotFound`."""
        return self._get(kind, name, namespace, ANY)

    async def list(self, kind: Kind, namespace: str = "", fields: Fields = NO_FIELDS) -> ObjectList:
        """Return the objects of a kind, those of one namespace if it is named, that have these fields."""
        found = (obj for _, obj in sorted(self._objects.get(kind.plural, {}).items()))
        return ObjectList(tuple(obj for obj in found if _is_meant(obj, namespace, fields)), str(self._version))

    async def watch(
        self, kind: Kind, resource_version: str, namespace: str = "", fields: Fields = NO_FIELDS
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield every change after that version, without an end. Raises `VersionGone`."""
        changes, seen = self._changes.setdefault(kind.plural, _Changes()), int(resource_version)
        changes.watcher_count += 1
        try:
            while True:
                with changes.bell.listening() as rung:
                    news = changes.after(seen)
                    if not news:
                        await rung(FOR_EVER_S)
                for version, event in news:
                    seen = version
                    if _is_meant(event.object, namespace, fields):
                        yield event
        finally:
            changes.watcher_count -= 1

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Add an object and return it with uid, version and creation time. Raises `ObjectExists`."""
        given = dict(obj.get("metadata") or {})
        name, namespace = given["name"], given.get("namespace", "")
        if self.find(kind, name, namespace) is not None:
            raise ObjectExists(kind, name)
        if "uid" not in given:
            given["uid"] = _uid(f"{kind.plural}/{self._version + 1}")
        made = {**obj, "metadata": {**given, "creationTimestamp": self._times.now()}}
        if kind is PODS:
            made["metadata"]["generation"] = 1
        return self._keep(kind, made, Change.ADDED)

    async def patch(self, kind: Kind, name: str, namespace: str, patch: Object, only_if: Preconditions = ANY) -> Object:
        """Change parts of an object and return all of it; nothing happens if the patch changes nothing."""
        before = self._get(kind, name, namespace, only_if)
        after = merged(before, patch)
        if after == before:
            return before
        return self._keep(kind, _next_generation(before, after), Change.MODIFIED)

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", grace_s: int | None = None, only_if: Preconditions = ANY
    ) -> None:
        """Delete an object, or mark a pod that may still run."""
        found = self._get(kind, name, namespace, only_if)
        if kind is not PODS or grace_s == 0 or (found.get("status") or {}).get("phase") in TERMINAL:
            del self._objects[kind.plural][namespace, name]
            self._tell(kind, found, Change.DELETED)
            return
        if grace_s is None:
            wanted = (found.get("spec") or {}).get("terminationGracePeriodSeconds")
            grace_s = wanted if isinstance(wanted, int) else DEFAULT_GRACE_S
        before_s = found["metadata"].get("deletionGracePeriodSeconds")
        if before_s is None or grace_s < before_s:
            until = self._times.now(grace_s)
            marked = {"metadata": {"deletionTimestamp": until, "deletionGracePeriodSeconds": grace_s}}
            self._keep(kind, _next_generation(found, merged(found, marked), is_new=True), Change.MODIFIED)

    def _get(self, kind: Kind, name: str, namespace: str, only_if: Preconditions) -> dict[str, Any]:
        found = self._objects.get(kind.plural, {}).get((namespace, name))
        if found is None:
            raise ObjectNotFound(kind, name)
        metadata = found["metadata"]
        if only_if.uid not in {None, metadata["uid"]}:
            raise ObjectConflict(kind, name, "UID", metadata["uid"], str(only_if.uid))
        if only_if.resource_version not in {None, metadata["resourceVersion"]}:
            given = str(only_if.resource_version)
            raise ObjectConflict(kind, name, "ResourceVersion", metadata["resourceVersion"], given)
        return found

    def _keep(self, kind: Kind, obj: dict[str, Any], change: Change) -> Object:
        kept = self._tell(kind, obj, change)
        key = kept["metadata"].get("namespace", ""), kept["metadata"]["name"]
        objects = self._objects.setdefault(kind.plural, {})
        if kind is EVENTS:  # They are forgotten in the order in which they were told last.
            objects.pop(key, None)
            if len(objects) == KEPT_EVENTS:
                self._tell(kind, objects.pop(next(iter(objects))), Change.DELETED)
        objects[key] = kept
        return kept

    def _tell(self, kind: Kind, obj: dict[str, Any], change: Change) -> dict[str, Any]:
        """Give the object the next version, and tell those who watch."""
        self._version += 1
        told = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}
        self._changes.setdefault(kind.plural, _Changes()).add(self._version, WatchEvent(change, told))
        return told


def _uid(text: str) -> str:
    """A uid made from a text, in the form of a UUID: the same object of another run has the same."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-3{digest[13:16]}-8{digest[17:20]}-{digest[20:]}"


def merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """An object with a strategic merge patch applied, as `ApiServer.patch` says; the object itself stays as it was."""
    after = dict(before)
    for name, value in patch.items():
        was = before.get(name)
        if value is None:
            after.pop(name, None)
        elif isinstance(value, Mapping):
            after[name] = merged(was if isinstance(was, Mapping) else {}, value)
        elif name == "conditions":
            after[name] = _merged_conditions(was or [], value)
            if not after[name]:
                del after[name]
        else:
            after[name] = value
    return after


def _merged_conditions(before: list[dict[str, Any]], patch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conditions with others merged into them by type; new ones come last."""
    by_type = {each["type"]: each for each in before}
    for each in patch:
        if each.get("$patch") == "delete":
            by_type.pop(each["type"], None)
        else:
            by_type[each["type"]] = merged(by_type.get(each["type"], {}), each)
    return list(by_type.values())


def _next_generation(before: Mapping[str, Any], after: dict[str, Any], *, is_new: bool = False) -> dict[str, Any]:
    """The object with the generation that a change of its spec gives it."""
    if "generation" in after["metadata"] and (is_new or before.get("spec") != after.get("spec")):
        after["metadata"] = {**after["metadata"], "generation": before["metadata"]["generation"] + 1}
    return after


def _is_meant(obj: Object, namespace: str, fields: Fields) -> bool:
    """Whether a list or a watch is about the object."""
    if namespace and obj["metadata"].get("namespace") != namespace:
        return False
    return all(_at(obj, path.split(".")) == wanted for path, wanted in fields.items())


def _at(obj: Any, path: list[str]) -> Any:
    """What stands at a path of an object; empty where nothing does, as field selectors have it."""
    for part in path:
        obj = obj.get(part, "") if isinstance(obj, Mapping) else ""
    return obj
