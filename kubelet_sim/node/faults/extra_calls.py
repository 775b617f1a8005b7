"""Calls that no pod needs: made once, and what the plugin answered is told. The node's books know nothing of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

from kubelet_sim.errors import RpcFailed, UsageError
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import PRE_START_TIMEOUT_S, AllocateAnswer
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import ids, number, seconds, text
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.node.hooks import HookedConnection
from kubelet_sim.node.kubelet_process.plugin_connections import Link
from kubelet_sim.node.ports import PluginConnection
from kubelet_sim.wire.odd_calls import allocate_containers

_WITHIN = seconds("within", 10.0, "How long the plugin may take, in real time.")
_IDS = ids("ids", "Device ids; else the first healthy one.")


async def told(active: ActiveFault, link: Link, what: str, call: Awaitable[str]) -> str:
    """Make the call, and say what came of it."""
    active.once(link.resource, what)
    try:
        answer = await asyncio.wait_for(call, active.arguments["within"])
    except RpcFailed as failure:
        answer = f"failed with {failure.code}: {failure.description}"
    except TimeoutError:
        answer = f"was not answered within {active.arguments['within']:g} s"
    return f"{what} {answer}"


@kind(
    "allocate",
    "extra-calls",
    "Allocate is called for devices that no pod asked for, allocated ones too: a kubelet that lost its checkpoint does so.",
    arguments=(_IDS, _WITHIN),
    rules=("DM-98", "DM-113"),
    filters=PLUGIN,
)
async def _allocate(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    wanted = _wanted(active, link)
    return await told(active, link, f"Allocate for {_named(wanted)}", _allocating(link, wanted))


@kind(
    "allocate-at-once",
    "extra-calls",
    "Two Allocate calls for the same device are made at the same time.",
    arguments=(_IDS, number("calls", 2, "How many.", least=2), _WITHIN),
    rules=("DM-98", "DM-112"),
    filters=PLUGIN,
)
async def _at_once(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    wanted, calls = _wanted(active, link), active.arguments["calls"]

    async def all_of_them() -> str:
        done = await asyncio.gather(*(_allocating(link, wanted) for _ in range(calls)), return_exceptions=True)
        failed = [each for each in done if isinstance(each, RpcFailed)]
        return f"was answered {calls - len(failed)} times" + (f", failed with {failed[0].code}" if failed else "")

    return await told(active, link, f"{calls} times Allocate at once for {_named(wanted)}", all_of_them())


@kind(
    "allocate-unknown",
    "extra-calls",
    "Allocate is called for an id that the plugin never listed: a stale id after the devices changed.",
    arguments=(text("id", "no-such-device", "The id."), _WITHIN),
    rules=("DM-98", "DM-145"),
    filters=PLUGIN,
)
async def _unknown(active: ActiveFault) -> str:
    link, wanted = active.reach.live_link(active.fault), (DeviceID(active.arguments["id"]),)
    return await told(active, link, f"Allocate for the unknown {_named(wanted)}", _allocating(link, wanted))


@kind(
    "allocate-empty",
    "extra-calls",
    "Allocate is called with one container and no devices.",
    arguments=(_WITHIN,),
    rules=("DM-98",),
    filters=PLUGIN,
    is_beyond=True,
)
async def _empty(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    return await told(active, link, "Allocate without ids", _allocating(link, ()))


@kind(
    "allocate-duplicate",
    "extra-calls",
    "Allocate is called with the same id twice.",
    arguments=(_IDS, _WITHIN),
    rules=("DM-98",),
    filters=PLUGIN,
    is_beyond=True,
)
async def _duplicate(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    wanted = _wanted(active, link)
    call = _allocating(link, (*wanted, *wanted))
    return await told(active, link, f"Allocate with each id twice, {_named(wanted)}", call)


@kind(
    "allocate-two-containers",
    "extra-calls",
    "One Allocate call has two container requests, which the API allows.",
    arguments=(_IDS, _WITHIN),
    rules=("DM-98",),
    filters=PLUGIN,
    is_beyond=True,
)
async def _two_containers(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    wanted = _wanted(active, link)

    async def call() -> str:
        return _answered(await allocate_containers(link.socket_path, (wanted, wanted)))

    return await told(active, link, f"Allocate for two containers, {_named(wanted)} each,", call())


@kind(
    "prestart",
    "extra-calls",
    "PreStartContainer is called for devices that no container starts with.",
    arguments=(_IDS, _WITHIN),
    rules=("DM-103", "DM-107"),
    filters=PLUGIN,
)
async def _prestart(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    wanted = _wanted(active, link)

    async def call() -> str:
        await _inner(link).pre_start_container(wanted, PRE_START_TIMEOUT_S)
        return "was answered"

    return await told(active, link, f"PreStartContainer for {_named(wanted)}", call())


@kind(
    "preferred",
    "extra-calls",
    "GetPreferredAllocation is called though the plugin has not said that it answers it; one real plugin crashes of that.",
    arguments=(number("size", 1, "How many devices are wanted."), _WITHIN),
    rules=("DM-93", "DM-94"),
    filters=PLUGIN,
    is_beyond=True,
)
async def _preferred(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    return await _asked(active, link, _healthy(active, link), (), active.arguments["size"])


@kind(
    "preferred-wrong-size",
    "extra-calls",
    "GetPreferredAllocation asks for more devices than are available, or for none.",
    arguments=(number("size", None, "How many; else one more than are available."), _WITHIN),
    rules=("DM-94",),
    filters=PLUGIN,
    is_beyond=True,
)
async def _wrong_size(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    available = _healthy(active, link)
    size = active.arguments["size"]
    return await _asked(active, link, available, (), len(available) + 1 if size is None else size)


@kind(
    "preferred-missing",
    "extra-calls",
    "GetPreferredAllocation says that an id must be included which is not among the available ones.",
    arguments=(text("id", "no-such-device", "The id."), _WITHIN),
    rules=("DM-94",),
    filters=PLUGIN,
    is_beyond=True,
)
async def _missing(active: ActiveFault) -> str:
    link = active.reach.live_link(active.fault)
    return await _asked(active, link, _healthy(active, link), (DeviceID(active.arguments["id"]),), 1)


async def _asked(
    active: ActiveFault, link: Link, available: Sequence[DeviceID], must_include: Sequence[DeviceID], size: int
) -> str:
    async def call() -> str:
        preferred = await _inner(link).get_preferred_allocation(available, must_include, size)
        return f"was answered with {_named(preferred)}"

    with_id = f" with {_named(must_include)}" if must_include else ""
    return await told(active, link, f"GetPreferredAllocation for {size} of {len(available)}{with_id}", call())


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
