"""Hooks on a node: watching and bending what goes in and out of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import pytest

from kubelet_sim.errors import CheckpointNotWritten, RegistrationRefused, RpcFailed
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, PodUID, ResourceName
from kubelet_sim.model.plugin import PluginOptions, Registration
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.hooks import Hook, HookedCalls, HookedOrder, HookedStore, Hooks
from kubelet_sim.node.ports import PluginConnection
from kubelet_sim.testing.fake_calls import FakeCalls
from kubelet_sim.testing.stores import MemoryCheckpointStore

T = TypeVar("T")
REGISTRATION = Registration("v1beta1", "p.sock", ResourceName("example.com/dev"))
LIST = (Device(DeviceID("a")), Device(DeviceID("b")))


class Backwards(Hook):
    """Turns every open order round."""

    def arranged(self, rule: str, items: Sequence[T]) -> Sequence[T]:
        return items[::-1]


class Dropping(Hook):
    """Keeps one device of each list, and cuts the stream at an empty one."""

    async def list_came(self, path: str, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        if not devices:
            raise RpcFailed("Unavailable", "cut by a hook")
        return devices[:1]


def test_without_a_hook_an_order_is_the_given_one() -> None:
    """Sorted where none is given, and known to be so."""
    assert HookedOrder(None, Hooks()).arrange("DM-90", {"b", "a"}) == ["a", "b"]
    assert HookedOrder(None, Hooks()).is_sorted


def test_a_hook_has_the_last_word_on_an_order_until_it_is_removed() -> None:
    """What it makes of the items counts, and its removal ends that; removing twice is harmless."""
    hooks = Hooks()
    order = HookedOrder(None, hooks)
    remove = hooks.add(Backwards())
    assert not order.is_sorted
    assert order.arrange("DM-90", {"b", "a"}) == ["b", "a"]
    remove()
    remove()
    assert order.arrange("DM-90", {"b", "a"}) == ["a", "b"]


def test_a_register_call_passes_all_hooks_and_the_first_refusal_counts() -> None:
    """The plugin gets the text of whoever refuses first."""
    heard: list[str] = []

    class Refusing(Hook):
        async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
            heard.append(registration.resource)
            raise RegistrationRefused("not today", rule="DM-29")

    hooks = Hooks()
    hooks.add(Refusing())
    hooks.add(Refusing())
    with pytest.raises(RegistrationRefused, match="not today"):
        asyncio.run(hooks.register_called(REGISTRATION, 5.0))
    assert heard == ["example.com/dev"]


def test_a_checkpoint_can_be_withheld_or_refused() -> None:
    """`None` is written nowhere, a failure is the writer's; after that nothing is in the way."""

    class Losing(Hook):
        async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
            return None

    class Full(Hook):
        async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
            raise CheckpointNotWritten("no space left on device")

    async def run() -> None:
        hooks, inner, first = Hooks(), MemoryCheckpointStore(), CheckpointDocument(None, {"a": ()})
        store = HookedStore(inner, hooks)
        await store.write(first)
        remove = hooks.add(Losing())
        await store.write(CheckpointDocument(None, {"b": ()}))
        assert await store.read() == first
        remove()
        remove = hooks.add(Full())
        with pytest.raises(CheckpointNotWritten):
            await store.write(CheckpointDocument(None, {"c": ()}))
        assert await store.read() == first

    asyncio.run(run())


def test_a_hook_reaches_connections_that_are_open_already() -> None:
    """A connection made before the hook came: its next list is bent, its next call goes another way."""

    async def run() -> None:
        hooks, calls = Hooks(), FakeCalls()
        peer = calls.peer("p.sock")
        elsewhere = FakeCalls()
        elsewhere.peer("p.sock").options = _pre_start

        class Elsewhere(Hook):
            def called_through(self, path: str, connection: PluginConnection) -> PluginConnection:
                return elsewhere.connection(path)

        connection = HookedCalls(calls, hooks).connection("/d/p.sock")
        lists = connection.list_and_watch()
        sending = asyncio.ensure_future(peer.send(*LIST))
        assert await anext(lists) == LIST
        remove = hooks.add(Dropping())
        waiting = asyncio.ensure_future(_next(lists))
        await sending
        again = asyncio.ensure_future(peer.send(*LIST))
        assert await waiting == LIST[:1]
        waiting = asyncio.ensure_future(_next(lists))
        await again
        again = asyncio.ensure_future(peer.send())
        with pytest.raises(RpcFailed, match="cut by a hook"):
            await waiting
        await again
        remove()
        assert await connection.get_device_plugin_options() == PluginOptions()
        hooks.add(Elsewhere())
        assert (await connection.get_device_plugin_options()).pre_start_required

    asyncio.run(run())


def test_a_silent_stream_can_be_cut_from_outside() -> None:
    """Whoever waits for the next list gets the failure, and the plugin sees the stream end; a second cut finds none."""

    async def run() -> None:
        hooks, calls = Hooks(), FakeCalls()
        peer = calls.peer("p.sock")
        connection = HookedCalls(calls, hooks).connection("/d/p.sock")
        assert hooks.connections == [connection]
        lists = connection.list_and_watch()
        sending = asyncio.ensure_future(peer.send(*LIST))
        await _next(lists)
        waiting = asyncio.ensure_future(_next(lists))
        await sending
        assert connection.cut(RpcFailed("Unavailable", "cut")) == 1
        with pytest.raises(RpcFailed, match="cut"):
            await waiting
        assert peer.streams == []
        assert connection.cut(RpcFailed("Unavailable", "cut")) == 0
        await connection.close()
        assert hooks.connections == []

    asyncio.run(run())


async def _next(lists: AsyncIterator[tuple[Device, ...]]) -> tuple[Device, ...]:
    return await anext(lists)


async def _pre_start() -> PluginOptions:
    return PluginOptions(pre_start_required=True)


def test_a_hook_may_add_pods_to_an_answer_and_refuse_a_status() -> None:
    """Every hook is asked whether the API server refuses, so that each can count."""
    asked: list[int] = []

    class Adding(Hook):
        def pods_listed(self, pods: Sequence[Pod], known: Sequence[Pod]) -> Sequence[Pod]:
            return (*pods, *known)

        def is_status_refused(self) -> bool:
            asked.append(1)
            return True

    hooks = Hooks()
    pod = Pod("p", "default", PodUID("p"))
    assert hooks.pods_listed((), (pod,)) == ()
    assert not hooks.is_status_refused()
    hooks.add(Adding())
    hooks.add(Adding())
    assert hooks.pods_listed((), (pod,)) == (pod, pod)
    assert hooks.is_status_refused()
    assert len(asked) == 2
