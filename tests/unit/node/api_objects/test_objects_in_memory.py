"""Objects in memory behave as an API server's: versions, preconditions, deletion, watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from kubelet_sim.node.api_objects.api_server import (
    EVENTS,
    KEPT_EVENTS,
    NODES,
    PODS,
    ApiError,
    Change,
    ObjectConflict,
    ObjectExists,
    ObjectNotFound,
    Preconditions,
    VersionGone,
    WatchEvent,
)
from kubelet_sim.node.api_objects.node_times import MANUAL_START, NodeTimes
from kubelet_sim.node.api_objects.objects_in_memory import KEPT_CHANGES, KEPT_UNWATCHED, ObjectsInMemory, merged
from tests.patience import PATIENCE_S


def made(passed_s: float = 0.0) -> ObjectsInMemory:
    """A store so long after its start."""
    return ObjectsInMemory(NodeTimes(MANUAL_START, lambda: passed_s))


def pod(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Pod with a spec."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


async def told(watch: AsyncGenerator[WatchEvent, None], count: int) -> list[tuple[str, str]]:
    """Type and name of so many events."""
    async with asyncio.timeout(PATIENCE_S):
        events = [await anext(watch) for _ in range(count)]
    return [(event.type.value, event.object["metadata"]["name"]) for event in events]


def test_a_new_object_gets_what_the_server_adds() -> None:
    """A uid unless it brings one, the time, a version of its own, and the first generation of its spec."""

    async def body() -> None:
        server = made(61.5)
        first = await server.create(NODES, {"metadata": {"name": "n"}, "spec": {}})
        second = await server.create(PODS, pod("p"))
        assert first["metadata"]["creationTimestamp"] == "2026-01-01T00:01:01Z"
        assert (first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]) == ("1", "2")
        assert first["metadata"]["uid"] != (await server.create(NODES, {"metadata": {"name": "m"}}))["metadata"]["uid"]
        assert (second["metadata"]["uid"], second["metadata"]["generation"]) == ("uid-p", 1)
        assert await server.get(PODS, "p", "default") == second

    asyncio.run(body())


def test_refusals_are_those_of_the_api() -> None:
    """Each has HTTP's code, the API's reason, and its words."""

    async def body() -> None:
        server = made()
        await server.create(PODS, pod("p"))
        with pytest.raises(ObjectNotFound, match='pods "q" not found') as missing:
            await server.get(PODS, "q", "default")
        with pytest.raises(ObjectExists, match='pods "p" already exists') as taken:
            await server.create(PODS, pod("p"))
        with pytest.raises(ObjectConflict, match="UID in precondition: other, UID in object meta: uid-p") as other:
            await server.patch(PODS, "p", "default", {}, Preconditions(uid="other"))
        with pytest.raises(ObjectConflict, match="ResourceVersion in precondition: 0"):
            await server.delete(PODS, "p", "default", only_if=Preconditions(resource_version="0"))
        errors: list[ApiError] = [missing.value, taken.value, other.value]
        assert [(error.code, error.reason) for error in errors] == [
            (404, "NotFound"),
            (409, "AlreadyExists"),
            (409, "Conflict"),
        ]

    asyncio.run(body())


def test_a_patch_merges() -> None:
    """Mappings are merged, null takes away, lists are replaced, conditions go by type; what was handed out stays."""
    before = {"a": {"b": 1, "c": 2}, "list": [1, 2], "conditions": [{"type": "X", "status": "True"}, {"type": "Y"}]}
    patch = {
        "a": {"b": None, "d": 3},
        "list": [3],
        "conditions": [{"type": "Z"}, {"type": "X", "reason": "r"}, {"$patch": "delete", "type": "Y"}],
    }
    assert merged(before, patch) == {
        "a": {"c": 2, "d": 3},
        "list": [3],
        "conditions": [{"type": "X", "status": "True", "reason": "r"}, {"type": "Z"}],
    }
    assert before["a"] == {"b": 1, "c": 2}


def test_only_a_change_is_a_version() -> None:
    """A patch that changes nothing leaves the version; one of the spec counts the generation up, one of the status not."""

    async def body() -> None:
        server = made()
        await server.create(PODS, pod("p", x=1))

        async def patched(**parts: Any) -> tuple[str, int]:
            metadata = (await server.patch(PODS, "p", "default", parts))["metadata"]
            return metadata["resourceVersion"], metadata["generation"]

        assert await patched(spec={"x": 1}) == ("1", 1)
        assert await patched(status={"phase": "Failed"}) == ("2", 1)
        assert await patched(spec={"x": 2}) == ("3", 2)

    asyncio.run(body())


def test_a_pod_is_marked_before_it_is_gone() -> None:
    """Its kubelet deletes it with grace 0; who watches sees both. A grace period only ever becomes shorter."""

    async def body() -> None:
        server = made()
        await server.create(PODS, pod("p", terminationGracePeriodSeconds=5))
        watch = server.watch(PODS, "0")
        await server.delete(PODS, "p", "default")
        await server.delete(PODS, "p", "default", 7)
        metadata = (await server.get(PODS, "p", "default"))["metadata"]
        assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (5, 2)
        assert metadata["deletionTimestamp"] == "2026-01-01T00:00:05Z"
        await server.delete(PODS, "p", "default", 0, Preconditions(uid="uid-p"))
        assert await told(watch, 3) == [("ADDED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]
        await watch.aclose()

    asyncio.run(body())


def test_a_pod_that_has_ended_is_gone_at_once() -> None:
    """So is anything that is no pod, and a pod that is deleted with grace 0."""

    async def body() -> None:
        server = made()
        await server.create(PODS, pod("p") | {"status": {"phase": "Failed"}})
        await server.create(PODS, pod("q"))
        await server.create(EVENTS, {"metadata": {"name": "e", "namespace": "default"}})
        await server.delete(PODS, "p", "default")
        await server.delete(PODS, "q", "default", 0)
        await server.delete(EVENTS, "e", "default")
        assert (await server.list(PODS)).items == (await server.list(EVENTS)).items == ()

    asyncio.run(body())


def test_lists_and_watches_have_selectors() -> None:
    """A namespace, and fields; a watch from a list's version misses nothing."""

    async def body() -> None:
        server = made()
        await server.create(PODS, pod("p", nodeName="n"))
        await server.create(PODS, pod("q", "other", nodeName="m"))
        await server.create(PODS, pod("r", nodeName="m"))
        assert [each["metadata"]["name"] for each in (await server.list(PODS, "default")).items] == ["p", "r"]
        listed = await server.list(PODS, fields={"spec.nodeName": "n"})
        assert [each["metadata"]["name"] for each in listed.items] == ["p"]
        await server.create(PODS, pod("s", nodeName="m"))
        await server.create(PODS, pod("t", nodeName="n"))
        watch = server.watch(PODS, listed.resource_version, fields={"spec.nodeName": "n"})
        assert await told(watch, 1) == [("ADDED", "t")]
        later = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        await server.patch(PODS, "t", "default", {"spec": {"x": 1}})
        assert (await asyncio.wait_for(later, PATIENCE_S)).type is Change.MODIFIED
        await watch.aclose()

    asyncio.run(body())


def test_a_watch_that_fell_behind_ends() -> None:
    """Its changes are forgotten by then: it has to list again."""

    async def body() -> None:
        server = made()
        await server.create(NODES, {"metadata": {"name": "first"}})
        watch = server.watch(NODES, "0")
        assert await told(watch, 1) == [("ADDED", "first")]
        for number in range(KEPT_CHANGES):
            await server.create(NODES, {"metadata": {"name": f"e{number}"}})
        assert await told(watch, 1) == [("ADDED", "e0")]
        for number in range(KEPT_CHANGES):
            await server.patch(NODES, f"e{number}", "", {"new": 1})
        assert len(await told(watch, KEPT_CHANGES - 1)) == KEPT_CHANGES - 1
        await server.patch(NODES, "first", "", {"new": 1})
        with pytest.raises(VersionGone, match="too old resource version: 1001") as caught:
            await anext(watch)
        assert caught.value.code == 410

    asyncio.run(body())


def test_few_changes_are_kept_that_nobody_watches() -> None:
    """A list and then a watch is still possible; a watch from long ago is not."""

    async def body() -> None:
        server = made()
        for number in range(KEPT_UNWATCHED + 1):
            await server.create(NODES, {"metadata": {"name": f"e{number}"}})
        watch = server.watch(NODES, "1")
        assert await told(watch, 1) == [("ADDED", "e1")]
        await watch.aclose()
        with pytest.raises(VersionGone):
            await anext(server.watch(NODES, "0"))

    asyncio.run(body())


def test_old_events_are_forgotten() -> None:
    """Those that were told of last stay: a count that goes up is news."""

    async def body() -> None:
        server = made()
        for number in range(KEPT_EVENTS):
            await server.create(EVENTS, {"metadata": {"name": f"e{number}"}, "count": 1})
        await server.patch(EVENTS, "e0", "", {"count": 2})
        await server.create(EVENTS, {"metadata": {"name": "new"}})
        assert server.find(EVENTS, "e1") is None
        assert server.find(EVENTS, "e0") is not None
        assert len((await server.list(EVENTS)).items) == KEPT_EVENTS

    asyncio.run(body())
