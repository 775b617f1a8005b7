"""Checks of the group Restart and recovery: the kubelet goes and comes back, in every way that it can, and so do plugins.

A restart removes every socket in the directory, cuts every connection and makes a new `kubelet.sock`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.checks.registration import calls
from kubelet_sim.model.life import Comeback
from kubelet_sim.wire import unix_socket

GROUP = Group.RESTART
BACK_WITHIN_S, BACK_SOON_S = 60.0, 10.0
ONE_STREAM_WITHIN_S = 30.0
TIMES = 5
DELAY_S, SOCKET_LATE_S = 30.0, 10.0
LOOK_AGAIN_S = 0.005
LISTENS_WITHIN_S = 10.0
_LOST = "all devices of the node are unhealthy, and every pod that asks for one is rejected, until somebody restarts the plugin."


async def comes_back(
    ctx: CheckContext, since_s: float, what: str, level: Level = Level.ERROR, within_s: float = BACK_WITHIN_S
) -> bool:
    """Report a plugin that is not registered and listed again in time, 60 s if nothing else is said."""
    recovery = await ctx.recovered(since_s, within_s)
    if recovery.took_s is None:
        ended = "" if recovery.exit_code is None else f"; it ended with {recovery.exit_code}"
        ctx.find(level, f"{what} the plugin had not registered and listed again within {within_s:g} s{ended}")
        return False
    if recovery.took_s > BACK_SOON_S:
        ctx.note(f"slow: the plugin took {recovery.took_s:.0f} s to come back")
    return True


@GROUP.check(
    "restart-reregister",
    "After each of five restarts of the kubelet the plugin registers again",
    level=Level.ERROR,
    what="The kubelet is restarted five times; each time every resource has to be registered and listed within 60 s.",
    why=f"Kubelets restart at every update. Without a new registration {_LOST}",
    fix="Watch the directory for a new kubelet.sock, or look whether your own socket is gone; then serve and register anew.",
    source="the documentation of device plugins; public reports",
    rules="DM-16 DM-17 DM-19",
    stage=Stage.RESTARTS,
    limit_s=360,
)
async def reregister(ctx: CheckContext) -> None:
    for number in range(1, TIMES + 1):
        if not await comes_back(ctx, await ctx.restart_kubelet(), f"after restart {number}"):
            return


@GROUP.check(
    "restart-reregister-fast",
    "After a restart of the kubelet the plugin is back within 10 s",
    level=Level.WARNING,
    what="One restart, and the time until every resource is listed again.",
    why="Pods that are admitted meanwhile are rejected for good, those of the node that were not running at the restart among them.",
    fix="Watch the directory with inotify instead of looking every so often.",
    source="public reports",
    rules="DM-19 DM-111",
    stage=Stage.RESTARTS,
)
async def reregister_fast(ctx: CheckContext) -> None:
    recovery = await ctx.recovered(await ctx.restart_kubelet(), BACK_WITHIN_S)
    if recovery.took_s is not None and recovery.took_s > BACK_SOON_S:
        text = f"the plugin took {recovery.took_s:.1f} s to register and list again"
        ctx.warning(text, took_s=round(recovery.took_s, 3))


@GROUP.check(
    "restart-socket-recreated",
    "After a restart the plugin's socket is there again when it calls Register",
    level=Level.ERROR,
    what="The kubelet is restarted, and the next Register call of each resource kept unanswered while its socket is looked at and dialled.",
    why="The sweep removed the file. A plugin that only registers again still listens, but nobody can reach it: registration fails.",
    fix="Stop the old server and listen on a new socket before you register.",
    source="the code of the kubelet; public reports",
    rules="DM-8 DM-17",
    needs="BF",
    stage=Stage.RESTARTS,
)
async def socket_recreated(ctx: CheckContext) -> None:
    calls(ctx)
    with ctx.hold_register() as held:
        await ctx.restart_kubelet()
        if not await ctx.holds(lambda: held.calls or ctx.plugin.has_ended, BACK_WITHIN_S) or not held.calls:
            ctx.skip("the plugin did not register again: see restart-reregister")
        for call in tuple(held.calls):
            path = call.socket_path
            if not await ctx.holds(lambda path=path: unix_socket.accepts(path), LISTENS_WITHIN_S):  # type: ignore[misc]
                there = "is there, but nobody listens" if os.path.exists(path) else "is not there"  # noqa: ASYNC240, PTH110
                ctx.error(f"{call.resource}: when Register came the socket {path!r} {there}", path=path)


@GROUP.check(
    "restart-delayed-kubelet-sock",
    "The plugin waits for a kubelet that takes its time",
    level=Level.ERROR,
    what="All sockets go, and kubelet.sock comes back only later: after 5 s, with --full after 30 s.",
    why="A kubelet that starts on a busy machine, or is replaced by another version, is away for a while. A plugin that tries once "
    f"and gives up is lost: {_LOST}",
    fix="Wait for kubelet.sock to appear, for as long as it takes, or end with an error so that you are started again.",
    source="public reports",
    rules="DM-17",
    stage=Stage.RESTARTS,
    limit_s=180,
)
async def delayed(ctx: CheckContext) -> None:
    delay_s = ctx.window_s(DELAY_S)
    await ctx.restart_kubelet(Comeback(socket_after_s=delay_s))
    path = ctx.node.root.layout.registration_socket
    if not await ctx.holds(path.exists, (delay_s + SOCKET_LATE_S) / ctx.config.patience):
        ctx.skip("kubelet.sock did not appear")
    ctx.note(f"kubelet.sock was away for {delay_s:g} s")
    await comes_back(ctx, time.monotonic() - 0.5, "after kubelet.sock was there again")


@GROUP.check(
    "restart-same-inode",
    "A new kubelet.sock with the old inode number is noticed",
    level=Level.ERROR,
    what="A restart in which the new socket gets the inode number of the old one. Skipped where the file system does not give it.",
    why="ext4 gives a number back at once, so that this is the rule on a node and not the exception. A plugin that compares inode "
    f"numbers sees nothing: {_LOST}",
    fix="Compare the time of creation as well, or watch for events.",
    source="public reports",
    rules="DM-17",
    needs="BF",
    stage=Stage.RESTARTS,
)
async def same_inode(ctx: CheckContext) -> None:
    path = ctx.node.root.layout.registration_socket
    before = path.stat().st_ino
    since_s = await ctx.restart_kubelet(Comeback(same_inode=True))
    is_same = path.stat().st_ino == before
    if (
        await comes_back(ctx, since_s, "after a restart with the same inode number", _level(is_same=is_same))
        and not is_same
    ):
        ctx.skip("the file system did not give the same inode number again")


def _level(*, is_same: bool) -> Level:
    return Level.ERROR if is_same else Level.INFO


@GROUP.check(
    "restart-quick",
    "A restart that takes no time at all is noticed",
    level=Level.ERROR,
    what="Two restarts, the second as soon as the first is over: sockets go and come within milliseconds.",
    why="Whoever looks every second whether a file is there sees it every time. "
    f"The plugin's own socket is gone all the same: {_LOST}",
    fix="Watch for events, or look at your own socket rather than at the kubelet's.",
    source="public reports",
    rules="DM-17",
    stage=Stage.RESTARTS,
)
async def quick(ctx: CheckContext) -> None:
    await ctx.restart_kubelet()
    since_s = await ctx.restart_kubelet()
    ctx.note(f"the second restart took {(time.monotonic() - since_s) * 1000:.0f} ms")
    await comes_back(ctx, since_s, "after a restart of milliseconds")


@GROUP.check(
    "restart-created-event-after-register",
    "A kubelet.sock that is replaced right after a registration is noticed",
    level=Level.ERROR,
    what="A restart; as soon as the plugin has registered, another one. Within 30 s there has to be one open stream for each resource, with the "
    "devices that there were.",
    why="Events of the first restart are still in the plugin's queue when the second comes. One that drops them, or answers them all, "
    "ends up without a registration, or with two that cut each other off.",
    fix="Empty the queue before you register, and look at the socket once more afterwards.",
    source="public reports",
    rules="DM-17 DM-31 DM-33",
    stage=Stage.RESTARTS,
    limit_s=240,
)
async def created_event(ctx: CheckContext) -> None:
    known = {resource: set(ctx.healthy_ids(resource)) for resource in ctx.resources}
    began_s = time.monotonic()
    if not await _registers_again(ctx) and not await _registers_from_start(ctx):
        ctx.skip("the plugin did not register again: see restart-reregister")
    since_s = await ctx.restart_kubelet()
    what = "after kubelet.sock was replaced right after a registration"
    if not await comes_back(ctx, since_s, what, within_s=ONE_STREAM_WITHIN_S):
        return
    await ctx.settled(ONE_STREAM_WITHIN_S)
    for resource, ids in known.items():
        lost = sorted(ids - set(ctx.healthy_ids(resource)))
        if lost:
            ctx.error(f"{resource}: {len(lost)} devices are not healthy any more", resource=resource, ids=lost[:10])
        links = ctx.open_links(resource)
        if len(links) != 1:
            ctx.error(f"{resource}: {len(links)} streams are open, one was expected", resource=resource)
    ctx.note(f"all of it took {time.monotonic() - began_s:.1f} s")


async def _registers_again(ctx: CheckContext) -> bool:
    count = len(ctx.seen.streams)
    await ctx.restart_kubelet()
    return bool(await ctx.holds(lambda: len(ctx.seen.streams) > count, BACK_WITHIN_S))


async def _registers_from_start(ctx: CheckContext) -> bool:
    """For one that had just registered when this check began, and may be deaf for that reason alone, as it may be later on."""
    started_s = ctx.plugin.started_at_s or 0.0
    if not ctx.plugin.can_start or sum(each.at_s > started_s for each in ctx.seen.registrations) <= len(ctx.resources):
        return False
    await ctx.plugin.close()
    return await ctx.start() and await _registers_again(ctx)


@GROUP.check(
    "restart-during-startup",
    "A kubelet that restarts while the plugin starts does not lose it",
    level=Level.ERROR,
    what="Four starts of the plugin, with a restart of the kubelet before its socket is there, before Register, inside Register, and "
    "before the first list. Each time it has to be registered and listed within 60 s.",
    why="After an update of the node both start at the same time. A plugin that begins to watch only after it has registered misses the "
    f"restart: {_LOST}",
    fix="Begin to watch before you register, and treat a Register that fails like a kubelet that is not there yet.",
    source="public reports",
    rules="DM-17 DM-27",
    needs="BP",
    stage=Stage.OWN,
    limit_s=400,
)
async def during_startup(ctx: CheckContext) -> None:
    moments: dict[str, Callable[[CheckContext], Awaitable[float | None]]] = {
        "before its socket was there": _before_listen,
        "before it called Register": _before_register,
        "inside Register": _inside_register,
        "before its first list": _before_list,
    }
    for when, restarted in moments.items():
        since_s = await restarted(ctx)
        if since_s is None:
            ctx.note(f"the moment {when!r} was missed: the plugin was quicker, or never came to it")
        elif not await ctx.holds(lambda: ctx.seen.registrations, BACK_WITHIN_S):
            ctx.error(f"after a restart {when} the plugin had not registered within {BACK_WITHIN_S:g} s")
        else:
            await comes_back(ctx, since_s, f"after a restart {when}")
        await ctx.stop_plugin()


async def _before_listen(ctx: CheckContext) -> float | None:
    await ctx.start(settled=False)
    return None if ctx.sockets() else await ctx.restart_kubelet()


async def _before_register(ctx: CheckContext) -> float | None:
    count = len(ctx.seen.registrations)
    await ctx.start(settled=False)
    deadline_s = time.monotonic() + LISTENS_WITHIN_S
    while not ctx.sockets() and time.monotonic() < deadline_s:  # noqa: ASYNC110 - nobody tells of a file
        await asyncio.sleep(LOOK_AGAIN_S)
    return await ctx.restart_kubelet() if len(ctx.seen.registrations) == count and ctx.sockets() else None


async def _inside_register(ctx: CheckContext) -> float | None:
    with ctx.hold_register() as held:
        await ctx.start(settled=False)
        if not await ctx.holds(lambda: held.calls, BACK_WITHIN_S):
            return None
        return await ctx.restart_kubelet()


async def _before_list(ctx: CheckContext) -> float | None:
    count = len(ctx.seen.streams)
    await ctx.start(settled=False)
    if not await ctx.holds(lambda: len(ctx.seen.streams) > count, BACK_WITHIN_S):
        return None
    return await ctx.restart_kubelet()


@GROUP.check(
    "restart-dir-recreated",
    "A directory that was deleted and made anew does not lose the plugin",
    level=Level.WARNING,
    what="The kubelet goes, the directory with all that is in it is removed, and the next kubelet makes another one.",
    why="A node that is set up again does that. A watch on the old directory never fires again.",
    fix="Watch the parent directory as well, or end with an error when the directory is gone.",
    source="public reports",
    rules="DM-2",
    needs="BF",
    stage=Stage.RESTARTS,
)
async def dir_recreated(ctx: CheckContext) -> None:
    if not ctx.config.tells_directory:
        ctx.skip("needs a plugin that is told its directory: a mount keeps the old one alive for it")
    since_s = await ctx.restart_kubelet(Comeback(keeps_directory=False))
    await comes_back(ctx, since_s, "after the directory was made anew", Level.WARNING)


@GROUP.check(
    "restart-poll-fallback",
    "Without inotify the plugin still notices a restart, or says that it cannot",
    level=Level.INFO,
    what="Nothing: the limit on inotify instances belongs to the user, and other programs of this machine would be hit.",
    why="Busy nodes run out of inotify instances; a plugin that only watches is deaf there.",
    fix="Look at the socket every few seconds if a watch cannot be had, and write a line.",
    source="public reports",
    rules="DM-17",
    needs="P",
    stage=Stage.OWN,
)
async def poll_fallback(ctx: CheckContext) -> None:
    ctx.skip("needs a machine of its own: the limit on inotify is shared with everything else that its user runs")
