"""Faults of the ListAndWatch stream: cut, half-open, read slowly, doubled; and of the connection under it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from attrs import define

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import choice, seconds, text
from kubelet_sim.node.faults.kinds import PLUGIN, kind
from kubelet_sim.node.faults.through import FaultHook
from kubelet_sim.node.hooks import HookedConnection
from kubelet_sim.node.kubelet_process.plugin_connections import Link

_OPENS_S = 2.0
"""How long to wait for the first list of a second stream, in real time."""
CODES = ("Unavailable", "Canceled", "Internal", "Unknown", "DeadlineExceeded", "ResourceExhausted")


@kind(
    "cut-stream",
    "stream",
    "The ListAndWatch stream ends, and no socket is touched: the plugin sees its stream cancelled, or nothing at all until"
    " it sends again. The kubelet does not open another one.",
    arguments=(
        choice("code", CODES, "Unavailable", "The status with which the kubelet sees it end."),
        text("text", "error reading from server: EOF", "The text of that status."),
    ),
    rules=("DM-42", "DM-44"),
    filters=PLUGIN,
)
async def _cut(active: ActiveFault) -> str:
    links = active.reach.live_links(active.fault)
    for link in links:
        active.once(link.resource, "its stream is cut")
        _hooked(link).cut(RpcFailed(active.arguments["code"], active.arguments["text"]))
    return f"{_streams(links)} cut"


@kind(
    "close-connection",
    "stream",
    "The kubelet closes its connection to the plugin: stream and calls end with Canceled, and the socket stays.",
    rules=("DM-44",),
    filters=PLUGIN,
)
async def _close(active: ActiveFault) -> str:
    links = active.reach.live_links(active.fault)
    for link in links:
        active.once(link.resource, "its connection is closed")
        await link.connection.close()
    return f"{len(links)} connection{'s' * (len(links) != 1)} closed"


@define(eq=False)
class _SlowList(FaultHook):
    seconds: float | None
    what: str

    async def list_came(self, path: str, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        if self.active.meets(path):
            await self.active.hold_up(self.active.reach.subject(path), self.what, self.seconds)
        return devices


@kind(
    "half-open-stream",
    "stream",
    "Nothing more is read from the stream, and nobody ends it: as after a connection that is lost without a word. The"
    " plugin's sends work until flow control holds them.",
    undo="and the lists that were sent meanwhile are read",
    rules=("DM-43", "DM-60"),
    filters=PLUGIN,
    counts=True,
    delays_lists=True,
)
async def _half_open(active: ActiveFault) -> str:
    active.hook(_SlowList(active, None, "a list has come, and is not dealt with; nothing after it is read"))
    return "lists are not read any more"


@kind(
    "slow-stream",
    "stream",
    "The kubelet takes long to deal with each list, and reads no further meanwhile: a plugin that sends often is held by"
    " flow control.",
    undo="and lists are read at once",
    arguments=(seconds("seconds", 5.0, "How long each list takes, on the node's clock."),),
    rules=("DM-60",),
    filters=PLUGIN,
    counts=True,
    delays_lists=True,
)
async def _slow(active: ActiveFault) -> str:
    takes_s = active.arguments["seconds"]
    active.hook(_SlowList(active, takes_s, f"a list waits for {takes_s:g} s"))
    return f"each list takes {takes_s:g} s from now on"


@kind(
    "double-stream",
    "stream",
    "A second ListAndWatch stream is opened beside the first. What comes on it is thrown away.",
    undo="and the second stream is cancelled",
    rules=("DM-32", "DM-42"),
    filters=PLUGIN,
    is_beyond=True,
    delays_lists=True,
)
async def _double(active: ActiveFault) -> str:
    links = active.reach.live_links(active.fault)
    opened = [asyncio.Event() for _ in links]
    for link, event in zip(links, opened, strict=True):
        active.run(_read_away(active, link, event))
    with contextlib.suppress(TimeoutError):  # a plugin that says nothing on it
        await asyncio.wait_for(asyncio.gather(*(event.wait() for event in opened)), _OPENS_S)
    return f"{_streams(links)} opened a second time"


async def _read_away(active: ActiveFault, link: Link, opened: asyncio.Event) -> None:
    with active.applying(link.resource, "a second stream is opened"):
        await _read_to_its_end(active, link, opened)


async def _read_to_its_end(active: ActiveFault, link: Link, opened: asyncio.Event) -> None:
    connection = active.reach.node.plugin_calls.connection(link.socket_path)
    stream = connection.list_and_watch()
    try:
        async for devices in stream:
            active.note(link.resource, f"a list of {len(devices)} came on the second stream")
            opened.set()
        active.note(link.resource, "the plugin ended the second stream")
    except RpcFailed as failure:
        active.note(link.resource, f"the second stream ended: {failure}")
    finally:
        opened.set()
        if isinstance(stream, AsyncGenerator):
            with contextlib.suppress(RpcFailed):
                await stream.aclose()
        await connection.close()


def _hooked(link: Link) -> HookedConnection:
    assert isinstance(link.connection, HookedConnection)  # noqa: S101 - the node made them all
    return link.connection


def _streams(links: list[Link]) -> str:
    names = ", ".join(sorted({link.resource for link in links}))
    return f"the stream of {names} is" if len(links) == 1 else f"{len(links)} streams, of {names}, are"
