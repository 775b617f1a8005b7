"""What checks of calls share: whom to ask for what, answers that are kept, and when two answers come to the same."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from random import Random
from typing import TypeVar

from attrs import frozen

from kubelet_sim.conformance.check import Level
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.connection import RecordedConnection
from kubelet_sim.container.cdi.annotations import PREFIX
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.plugin import PluginOptions
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.wire import unix_socket

T = TypeVar("T")
SINGLES = 8
"""How many devices are asked for one by one."""
UNKNOWN_ID = "no-such-device"
ENDS_WITHIN_S, STILL_SERVES_S = 2.0, 0.2
CALLS, FOR_S = 100, 5.0
SLOW_S, TOO_SLOW_S = 1.0, 10.0
_SHARE = 0.99
_SHOWN = 5
_LOST_CODES = frozenset({"Unavailable", "Cancelled", "Unknown", "Internal"})


@frozen
class Granted:
    """What the plugin answered for some devices of a resource."""

    resource: str
    ids: tuple[str, ...]
    response: ContainerResponse

    def __str__(self) -> str:
        return f"{self.resource}, {quoted(self.ids)}"


@frozen
class Answers:
    """The answers to all that was asked."""

    key: Hashable
    granted: tuple[Granted, ...]
    failures: tuple[str, ...]
    """What was asked for in vain, and why."""

    def single(self, resource: str, id_: str) -> ContainerResponse | None:
        """What was answered for this one device; `None`: nothing, or it was not asked for."""
        return next((e.response for e in self.granted if (e.resource, e.ids) == (resource, (id_,))), None)


async def outcome(call: Awaitable[T]) -> T | RpcFailed:
    """The answer, or how the call failed."""
    try:
        return await call
    except RpcFailed as failure:
        return failure


async def has_fallen(ctx: CheckContext, came: object) -> bool:
    """Whether the plugin ended over a call with that outcome."""
    if isinstance(came, RpcFailed) and came.code in _LOST_CODES and not ctx.plugin.has_ended:
        paths = {each.socket_path for each in ctx.seen.registrations if each.resource in ctx.resources}
        serves = any(map(unix_socket.accepts, paths))
        await ctx.plugin.ended(STILL_SERVES_S if serves else ENDS_WITHIN_S)
    return ctx.plugin.has_ended


# --- whom to ask


def with_devices(ctx: CheckContext, at_least: int = 1) -> list[tuple[str, tuple[str, ...]]]:
    """Resources and their healthy ids, in any order, those that have as many as needed; the check is skipped if none has."""
    found = [(str(each), shuffled(ctx, ctx.healthy_ids(each))) for each in ctx.resources]
    enough = [(resource, ids) for resource, ids in found if len(ids) >= at_least]
    if not enough:
        ctx.skip(f"needs a resource with {at_least} healthy device{'s' if at_least > 1 else ''}")
    if few := [resource for resource, ids in found if len(ids) < at_least]:
        ctx.note(f"not asked for, with fewer than {at_least} healthy devices: {', '.join(few)}")
    return enough


async def with_option(
    ctx: CheckContext, wants: Callable[[PluginOptions], bool], what: str, at_least: int = 1
) -> list[tuple[str, tuple[str, ...]]]:
    """As `with_devices`, of those resources whose options say so."""
    wanting = set()
    for resource in ctx.resources:
        async with ctx.connection(resource) as plugin:
            options = await outcome(plugin.options())
        if not isinstance(options, RpcFailed) and wants(options):
            wanting.add(str(resource))
    if not wanting:
        ctx.skip(f"no resource asks for {what}")
    found = [each for each in with_devices(ctx, at_least) if each[0] in wanting]
    if not found:
        ctx.skip(f"no resource that asks for {what} has {at_least} healthy device{'s' if at_least > 1 else ''}")
    return found


def shuffled(ctx: CheckContext, ids: Sequence[str]) -> tuple[str, ...]:
    """The ids in any order, as a kubelet gives them: its seed is the run's."""
    random = ctx.remembered.setdefault("random", Random(ctx.config.seed or 0))  # noqa: S311 - an order, no secret
    return tuple(random.sample(list(ids), len(ids)))


# --- answers that are kept


async def answers(ctx: CheckContext) -> Answers:
    """What Allocate answers for some devices one by one and for all of a resource, asked once for all checks of a plugin."""
    key = tuple((str(each), len(ctx.seen.registrations_of(each)), ctx.healthy_ids(each)) for each in ctx.resources)
    kept = ctx.remembered.get("answers")
    if isinstance(kept, Answers) and kept.key == key:
        return kept
    granted: list[Granted] = []
    failures: list[str] = []
    for resource in map(str, ctx.resources):
        ids = ctx.healthy_ids(resource)
        wanted = [(each,) for each in ids[:SINGLES]] + ([ids] if len(ids) > 1 else [])
        async with ctx.connection(resource) as plugin:
            for each in wanted:
                came = await outcome(plugin.allocate(shuffled(ctx, each)))
                if isinstance(came, RpcFailed):
                    failures.append(f"{resource}, {quoted(each)}: {came}")
                    if await has_fallen(ctx, came):
                        break
                elif not came.responses:
                    failures.append(f"{resource}, {quoted(each)}: the answer has no response")
                else:
                    granted.append(Granted(resource, each, came.responses[0]))
    found = Answers(key, tuple(granted), tuple(failures))
    ctx.remembered["answers"] = found
    return found


async def granted(ctx: CheckContext) -> tuple[Granted, ...]:
    """The answers that there are; the check is skipped without any, and notes how many are missing."""
    found = await answers(ctx)
    if not found.granted:
        ctx.skip(f"Allocate fails: {found.failures[0]}" if found.failures else "there is no healthy device")
    if found.failures:
        ctx.note(f"{len(found.failures)} Allocate calls failed, what they would have granted was not looked at")
    return found.granted


async def one_each(ctx: CheckContext) -> dict[str, ContainerResponse]:
    """One of the answers of `granted` for each resource that has any: that for its first device."""
    found: dict[str, ContainerResponse] = {}
    for each in await granted(ctx):
        found.setdefault(each.resource, each.response)
    return found


# --- what an answer comes to


def likeness(response: ContainerResponse) -> Hashable:
    """Equal for two answers that grant the same: order means nothing, neither do the keys of CDI annotations."""
    annotations = response.annotations.items()
    return (
        frozenset((name, _sorted_items(value)) for name, value in response.envs.items()),
        frozenset(response.mounts),
        frozenset(response.devices),
        frozenset((key, _sorted_items(value)) for key, value in annotations if not key.startswith(PREFIX)),
        frozenset(cdi_names(response)),
    )


def parts(response: ContainerResponse) -> frozenset[str]:
    """The single things that an answer grants, as texts, items of joined values one by one."""
    found = [f"device {each.host_path}" for each in response.devices]
    found += [f"mount {each.host_path}" for each in response.mounts]
    found += [f"CDI {each}" for each in cdi_names(response)]
    found += [f"variable {name}={item}" for name, value in response.envs.items() for item in value.split(",")]
    for key, value in response.annotations.items():
        if not key.startswith(PREFIX):
            found += [f"annotation {key}={item}" for item in value.split(",")]
    return frozenset(found)


def difference(one: ContainerResponse, other: ContainerResponse) -> list[str]:
    """What one grants and the other does not, sorted; the first few."""
    return sorted(parts(one) ^ parts(other))[:_SHOWN]


def cdi_names(response: ContainerResponse) -> Iterator[str]:
    """The names in the field and in annotations, as sent."""
    yield from response.cdi_devices
    yield from annotated_names(response)


def annotated_names(response: ContainerResponse) -> Iterator[str]:
    """The names in CDI annotations, as sent."""
    for key, value in response.annotations.items():
        if key.startswith(PREFIX):
            yield from value.split(",")


def _sorted_items(value: str) -> tuple[str, ...]:
    return tuple(sorted(value.split(",")))


def quoted(ids: Sequence[str], most: int = _SHOWN) -> str:
    """The first few ids, and how many there are."""
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(map(repr, ids[:most])) + more


# --- how long answers take


async def judge_latency(
    ctx: CheckContext, plugin: RecordedConnection, resource: str, what: str, call: Callable[[], Awaitable[object]]
) -> None:
    """Make the call again and again, for a while, and report if 99 of 100 take too long."""
    begun_s, first = time.monotonic(), len(plugin.took_s)
    while len(plugin.took_s) - first < CALLS and time.monotonic() - begun_s < FOR_S:
        if await has_fallen(ctx, await outcome(call())):
            ctx.skip(f"the plugin ended with {ctx.plugin.exit_code} while {what} was called again and again")
    took = sorted(plugin.took_s[first:])
    slow_s = took[math.ceil(_SHARE * len(took)) - 1]
    ctx.note(f"{resource}: {len(took)} calls, 99 of 100 within {slow_s * 1000:.0f} ms")
    if slow_s > SLOW_S:
        level = Level.ERROR if slow_s > TOO_SLOW_S else Level.WARNING
        text = f"{resource}: {what} took {slow_s:.1f} s, more than {SLOW_S:g} s"
        ctx.find(level, text, resource=resource, took_s=round(slow_s, 3), calls=len(took))
