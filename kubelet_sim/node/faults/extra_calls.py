"""Calls that no pod needs: made once, and what the plugin answered is told. The node's allocations know nothing of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import PRE_START_TIMEOUT_S, AllocateAnswer
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import Argument, ids, number, seconds, text
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.node.hooks import HookedConnection
from kubelet_sim.node.kubelet_process.plugin_connections import Link
from kubelet_sim.node.ports import PluginConnection
from kubelet_sim.wire.odd_calls import allocate_containers

_WITHIN = seconds("within", 10.0, "How long the plugin may take, in real time.")
_IDS = ids("ids", "Device ids; else the first healthy one.")


Call = Callable[[ActiveFault, Link], tuple[str, Awaitable[str]]]
"""Says what is called, and the call itself, whose result is the rest of that sentence. Raises `UsageError`."""


def extra_call(name: str, does: str, *arguments: Argument, **more: Any) -> Callable[[Call], Call]:
    """Enter a kind of fault that makes the decorated function's call once, to the plugin that is meant."""

    def decorated(call: Call) -> Call:
        @kind(name, "extra-calls", does, arguments=(*arguments, _WITHIN), filters=PLUGIN, **more)
        async def _begin(active: ActiveFault) -> str:
            link = active.reach.live_link(active.fault)
            what, made = call(active, link)
            active.once(link.resource, what)
            try:
                answer = await asyncio.wait_for(made, active.arguments["within"])
            except RpcFailed as failure:
                answer = f"failed with {failure.code}: {failure.description}"
            except TimeoutError:
                answer = f"was not answered within {active.arguments['within']:g} s"
            return f"{what} {answer}"

        return call

    return decorated


@extra_call(
    "allocate",
    "Allocate is called for devices that no pod asked for, allocated ones too: a kubelet that lost its checkpoint does so.",
    _IDS,
    rules=("DM-98", "DM-113"),
)
def _allocate(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    wanted = _wanted(active, link)
    return f"Allocate for {_named(wanted)}", _allocating(link, wanted)


@extra_call(
    "allocate-at-once",
    "Two Allocate calls for the same device are made at the same time.",
    _IDS,
    number("calls", 2, "How many.", least=2),
    rules=("DM-98", "DM-112"),
)
def _at_once(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    wanted, calls = _wanted(active, link), active.arguments["calls"]

    async def all_of_them() -> str:
        done = await asyncio.gather(*(_allocating(link, wanted) for _ in range(calls)), return_exceptions=True)
        failed = [each for each in done if isinstance(each, RpcFailed)]
        return f"was answered {calls - len(failed)} times" + (f", failed with {failed[0].code}" if failed else "")

    return f"{calls} times Allocate at once for {_named(wanted)}", all_of_them()


@extra_call(
    "allocate-unknown",
    "Allocate is called for an id that the plugin never listed: a stale id after the devices changed.",
    text("id", "no-such-device", "The id."),
    rules=("DM-98", "DM-145"),
)
def _unknown(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    wanted = (DeviceID(active.arguments["id"]),)
    return f"Allocate for the unknown {_named(wanted)}", _allocating(link, wanted)


@extra_call(
    "allocate-empty",
    "Allocate is called with one container and no devices.",
    rules=("DM-98",),
    is_beyond=True,
)
def _empty(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    del active
    return "Allocate without ids", _allocating(link, ())


@extra_call(
    "allocate-duplicate",
    "Allocate is called with the same id twice.",
    _IDS,
    rules=("DM-98",),
    is_beyond=True,
)
def _duplicate(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    wanted = _wanted(active, link)
    return f"Allocate with each id twice, {_named(wanted)}", _allocating(link, (*wanted, *wanted))


@extra_call(
    "allocate-two-containers",
    "One Allocate call has two container requests, which the API allows.",
    _IDS,
    rules=("DM-98",),
    is_beyond=True,
)
def _two_containers(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    wanted = _wanted(active, link)

    async def call() -> str:
        return _answered(await allocate_containers(link.socket_path, (wanted, wanted)))

    return f"Allocate for two containers, {_named(wanted)} each,", call()


@extra_call(
    "prestart",
    "PreStartContainer is called for devices that no container starts with.",
    _IDS,
    rules=("DM-103", "DM-107"),
)
def _prestart(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    wanted = _wanted(active, link)

    async def call() -> str:
        await _inner(link).pre_start_container(wanted, PRE_START_TIMEOUT_S)
        return "was answered"

    return f"PreStartContainer for {_named(wanted)}", call()


@extra_call(
    "preferred",
    "GetPreferredAllocation is called though the plugin has not said that it answers it; one real plugin crashes of that.",
    number("size", 1, "How many devices are wanted."),
    rules=("DM-93", "DM-94"),
    is_beyond=True,
)
def _preferred(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    return _asked(link, _healthy(active, link), (), active.arguments["size"])


@extra_call(
    "preferred-wrong-size",
    "GetPreferredAllocation asks for more devices than are available, or for none.",
    number("size", None, "How many; else one more than are available."),
    rules=("DM-94",),
    is_beyond=True,
)
def _wrong_size(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    available = _healthy(active, link)
    size = active.arguments["size"]
    return _asked(link, available, (), len(available) + 1 if size is None else size)


@extra_call(
    "preferred-missing",
    "GetPreferredAllocation says that an id must be included which is not among the available ones.",
    text("id", "no-such-device", "The id."),
    rules=("DM-94",),
    is_beyond=True,
)
def _missing(active: ActiveFault, link: Link) -> tuple[str, Awaitable[str]]:
    return _asked(link, _healthy(active, link), (DeviceID(active.arguments["id"]),), 1)


def _asked(
    link: Link, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
) -> tuple[str, Awaitable[str]]:
    async def call() -> str:
        preferred = await _inner(link).get_preferred_allocation(available, must_include, size)
        return f"was answered with {_named(preferred)}"

    with_id = f" with {_named(must_include)}" if must_include else ""
    return f"GetPreferredAllocation for {size} of {len(available)}{with_id}", call()


async def _allocating(link: Link, wanted: Sequence[DeviceID]) -> str:
    return _answered(await _inner(link).allocate(wanted))


def _answered(answer: AllocateAnswer) -> str:
    count = len(answer.responses)
    return f"was answered for {count} container{'s' * (count != 1)}"


def _inner(link: Link) -> PluginConnection:
    """Past the hooks: a fault does not meet another one."""
    assert isinstance(link.connection, HookedConnection)  # noqa: S101 - the node made them all
    return link.connection.inner


def _healthy(active: ActiveFault, link: Link) -> tuple[DeviceID, ...]:
    return tuple(sorted(active.reach.node.kubelet.state.healthy.get(link.resource, ())))


def _wanted(active: ActiveFault, link: Link) -> tuple[DeviceID, ...]:
    given = tuple(map(DeviceID, active.arguments["ids"])) or _healthy(active, link)[:1]
    if not given:
        raise UsageError(f"{link.resource} has no healthy device; name ids")
    return given


def _named(device_ids: Sequence[DeviceID]) -> str:
    return ", ".join(device_ids) or "no ids"
