"""Checks of the group Registration: whether, when and how a plugin calls Register, and what it makes of a refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kubelet_sim.conformance.check import Group, Level, Stage
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.plugin_log import RegisterCall
from kubelet_sim.conformance.start_probe import ProbeResult
from kubelet_sim.conformance.testbed import last_words
from kubelet_sim.foreign import ending
from kubelet_sim.model.plugin import API_VERSION, DIAL_TIMEOUT_S
from kubelet_sim.node.root_directory.os_errors import os_error_text

HAPPENS_WITHIN_S = 30.0
SURFACES_WITHIN_S = 30.0
RETRIES_WITHIN_S = 60.0
SLOW_S = 10.0
LISTENS_WITHIN_S = 0.1
DEADLINE_S = DIAL_TIMEOUT_S
ON_THE_WAY_S = 0.5
"""A deadline of 10 s has a little less left when it arrives."""
HOT = 10
WITHOUT_KUBELET_S = 3.0
REFUSAL = "kubelet-sim refuses this registration to see what the plugin says"
GROUP = Group.REGISTRATION


def calls(ctx: CheckContext) -> list[RegisterCall]:
    """The Register calls so far. The check is skipped without any, as with a plugin that only the plugin watcher found."""
    found = [each for each in ctx.seen.registrations if not each.is_watched]
    if not found and ctx.seen.registrations:
        ctx.skip("the plugin registers through the plugin watcher and never calls Register")
    if not found:
        ctx.skip("no Register call came: see reg-happens")
    return found


async def _probes(ctx: CheckContext) -> tuple[ProbeResult, ...]:
    """What came of the dials during the first Register calls, when they are over: that may be later than the start's time."""
    await ctx.holds(lambda: all(each.is_over for each in ctx.probes), DIAL_TIMEOUT_S + 1)
    return ctx.probes


async def _where_it_said(ctx: CheckContext) -> list[ProbeResult]:
    """Those of `_probes` that were not made at the wrong place; the check is skipped without any."""
    probes = await _probes(ctx)
    found = [each for each in probes if not each.listens_at]
    if probes and not found:
        ctx.skip("the plugin serves, but not where it said: see reg-endpoint-basename")
    return found


@GROUP.check(
    "reg-happens",
    "The plugin registers every resource within 30 s of its start",
    level=Level.ERROR,
    what="The plugin is started beside a kubelet that accepts; one Register call for each resource is waited for.",
    why="Without it the kubelet never learns of the devices: the node has none, and pods that ask for some stay Pending.",
    fix="Call Register on kubelet.sock in the device-plugin directory as soon as the plugin serves, without waiting for anything else.",
    source="the documentation of device plugins; public reports",
    rules="DM-20 DM-21",
    needs_ready=False,
    is_quick=True,
)
async def happens(ctx: CheckContext) -> None:
    started_s = ctx.plugin.started_at_s
    for resource in ctx.config.expected_resources:
        if not ctx.seen.registrations_of(resource):
            ctx.error(
                f"{resource} was expected and never registered", resource=resource, registered=[*ctx.seen.resources]
            )
    if not ctx.seen.registrations:
        _never_came(ctx)
        return
    first = ctx.seen.registrations[0]
    if started_s is not None and (took_s := first.at_s - started_s) > SLOW_S:
        text = f"the first Register call came {took_s:.1f} s after the start"
        ctx.find(Level.ERROR if took_s > HAPPENS_WITHIN_S else Level.INFO, text, took_s=round(took_s, 3))


def _never_came(ctx: CheckContext) -> None:
    """A plugin that ended has not been waited for: its end is what there is to tell."""
    plugin = ctx.plugin
    if not plugin.has_ended:
        where = "" if plugin.can_start else f" at {ctx.directory / 'kubelet.sock'}"
        ctx.error(f"no Register call came within {ctx.config.start_timeout_s:g} s{where}")
        return
    after = ""
    if plugin.started_at_s is not None and plugin.ended_at_s is not None:
        after = f", {plugin.ended_at_s - plugin.started_at_s:.1f} s after its start,"
    words = last_words(plugin)
    said = f"; its last words: {words}" if words else ", and said nothing"
    ctx.error(
        f"the plugin {ending(plugin.exit_code)}{after} and never called Register{said}", exit_code=plugin.exit_code
    )


@GROUP.check(
    "reg-serve-before-register",
    "The plugin serves before it calls Register",
    level=Level.ERROR,
    what="While the first Register call of each resource is unanswered, its socket is dialled for 10 s and asked for the options.",
    why="A kubelet since 1.25 dials the plugin before it answers Register. A plugin that serves only afterwards waits for the "
    "kubelet, which waits for the plugin: registration fails after 10 s, every time. Older kubelets dial after the answer.",
    fix="Listen and serve on the plugin's socket first, then call Register. The comment in the API file says it the other way round.",
    source="the code of the kubelet, against the comment in the API file; public reports",
    rules="DM-26 DM-27 DM-28 DM-40",
    needs_ready=False,
    is_quick=True,
)
async def serve_before_register(ctx: CheckContext) -> None:
    calls(ctx)
    level = Level.ERROR if ctx.profile.register_waits_for_plugin else Level.WARNING
    for probe in await _where_it_said(ctx):
        where = {"resource": str(probe.resource), "waited_s": round(probe.waited_s, 3), "gave_up": probe.was_left}
        if probe.connected_after_s is None:
            how = "the plugin gave its call up" if probe.was_left else "then the dial was given up"
            text = f"{probe.resource}: while Register was unanswered nobody served for {probe.waited_s:.1f} s, {how}"
            ctx.find(level, text, **where)
        elif probe.failure is not None:
            text = f"{probe.resource}: GetDevicePluginOptions failed while Register was unanswered: {probe.failure}"
            ctx.find(level, text, **where, code=probe.failure.code)
        elif probe.options is None:
            ctx.find(level, f"{probe.resource}: GetDevicePluginOptions was not answered while Register was", **where)


@GROUP.check(
    "reg-listening-when-registered",
    "The plugin's socket takes the first dial when Register arrives",
    level=Level.WARNING,
    what="At the moment of the first Register call of each resource its socket is connected to, once.",
    why="A first dial that is refused is tried again a second later: registration is slow, and every pod that is admitted meanwhile fails.",
    fix="Call Register only after listen() has returned and the server runs.",
    source="public reports",
    rules="DM-40",
    needs_ready=False,
)
async def listening(ctx: CheckContext) -> None:
    calls(ctx)
    for probe in await _where_it_said(ctx):
        after_s = probe.connected_after_s
        if not probe.accepted_at_once and (after_s is None or after_s > LISTENS_WITHIN_S):
            came = "and nobody came" if after_s is None else f"and somebody served {after_s:.1f} s later"
            ctx.warning(
                f"{probe.resource}: nobody listened when Register arrived, {came}",
                resource=probe.resource,
                served_after_s=after_s,
            )


@GROUP.check(
    "reg-version-v1beta1",
    "Register says the version v1beta1",
    level=Level.ERROR,
    what="The field `version` of every Register call.",
    why="The kubelet compares it to the letter, and refuses everything else.",
    fix="Send `v1beta1`: the constant `Version` of the API package, not a version of the plugin.",
    source="the code of the kubelet",
    rules="DM-22",
    needs_ready=False,
    is_quick=True,
)
async def version(ctx: CheckContext) -> None:
    for each, count in Counter(call.registration.version for call in calls(ctx)).items():
        if each != API_VERSION:
            times = "" if count == 1 else f" ({count} times)"
            ctx.error(f"Register says version {each!r}{times}, not {API_VERSION!r}", version=each)


@GROUP.check(
    "reg-endpoint-basename",
    "The endpoint is the name of a socket in the device-plugin directory",
    level=Level.ERROR,
    needs="BF",
    what="The field `endpoint` of every Register call, and the file that it names.",
    why="The kubelet joins it to its directory without looking at it: an absolute path becomes a path below the directory, "
    "where nobody listens, and the registration fails.",
    fix="Send the file name of the plugin's socket alone, and make the socket in the directory of kubelet.sock.",
    source="the API file and the code of the kubelet; public reports",
    rules="DM-25",
    needs_ready=False,
    is_quick=True,
)
async def endpoint_basename(ctx: CheckContext) -> None:
    """A file name, and a socket of that name. A plugin that does not serve yet has none anywhere: that is another check's."""
    unserved: list[str] = []
    probes = {each.resource: each for each in await _probes(ctx)}
    for call in calls(ctx):
        name, resource = call.registration.socket_name, str(call.resource)
        if not name:
            ctx.error(f"{resource}: the endpoint is empty", resource=resource)
        elif "/" in name or ".." in name:
            ctx.error(f"{resource}: the endpoint {name!r} is no file name", resource=resource, endpoint=name)
    for resource in ctx.seen.resources:
        last = ctx.seen.registrations_of(resource)[-1]
        name = last.registration.socket_name
        if last.is_watched or not name or "/" in name or ".." in name:
            continue
        if why := _no_socket(Path(last.socket_path)):
            probe = probes.get(last.resource)
            if probe is not None and probe.connected_after_s is None and not probe.listens_at:
                unserved.append(str(resource))
                continue
            elsewhere = probe.listens_at if probe is not None else ()
            where = f"; the plugin listens on {', '.join(elsewhere)}" if elsewhere else ""
            text = f"{resource}: the endpoint {name!r} names no socket: {why}{where}"
            ctx.error(text, resource=resource, endpoint=name, **({"listens_at": [*elsewhere]} if elsewhere else {}))
    if unserved and not ctx.findings:
        ctx.skip(f"nobody had served {', '.join(unserved)} when it was registered: see reg-serve-before-register")


def _no_socket(path: Path) -> str:
    try:
        return "" if path.is_socket() else ("it is no socket" if path.exists() else "there is no such file")
    except (OSError, ValueError) as error:
        return os_error_text("cannot look at", path, error) if isinstance(error, OSError) else str(error)


@GROUP.check(
    "reg-error-surfaced",
    "A refused registration is told",
    level=Level.WARNING,
    needs="BP",
    stage=Stage.OWN,
    what="Register is refused with a text; the plugin's output and its end are watched for 30 s.",
    why="A plugin that swallows the refusal looks healthy while the node has no devices, and nobody finds the reason.",
    fix="Log the error of Register with its text, or exit with an error.",
    source="public reports",
    rules="DM-29",
)
async def error_surfaced(ctx: CheckContext) -> None:
    """The text is in the output, or the plugin ends with an error."""
    with ctx.refuse_register(REFUSAL) as refused:
        await ctx.start(settled=False)
        await _first_call(ctx)
        await ctx.holds(lambda: REFUSAL in ctx.plugin.output() or ctx.plugin.has_ended, SURFACES_WITHIN_S)
        await ctx.plugin.ended(0.2 if ctx.plugin.has_ended else 0.0)
        if REFUSAL in ctx.plugin.output() or ctx.plugin.exit_code:
            return
        end = "ended with 0 and" if ctx.plugin.has_ended else f"within {SURFACES_WITHIN_S:g} s it"
        ctx.warning(
            f"Register was refused, and {end} said nothing of it",
            refusals=len(refused.calls),
            output=ctx.plugin.output()[-500:],
        )


async def _first_call(ctx: CheckContext) -> None:
    if not await ctx.holds(lambda: ctx.seen.registrations or ctx.plugin.has_ended, HAPPENS_WITHIN_S):
        ctx.skip("no Register call came: see reg-happens")
    if not ctx.seen.registrations:
        ctx.skip(f"the plugin {ending(ctx.plugin.exit_code)} before it called Register: see reg-happens")
    calls(ctx)


@GROUP.check(
    "reg-retry-backoff",
    "A refused registration is tried again, and not in a hot loop",
    level=Level.ERROR,
    needs="BP",
    stage=Stage.OWN,
    what="Register is refused for a while (20 s with --full, else 5 s), then accepted; registration is waited for 60 s.",
    why="A kubelet that is starting, or busy, refuses. A plugin that gives up silently leaves the node without devices until "
    "somebody restarts it; one that tries hundreds of times a second takes a core and floods the kubelet's log.",
    fix="Try again with growing pauses, or exit with an error and let the DaemonSet start the plugin again.",
    source="public reports",
    rules="DM-29",
    limit_s=150.0,
)
async def retry_backoff(ctx: CheckContext) -> None:
    """It recovers, or ends with an error; at most ten calls a second."""
    with ctx.refuse_register(REFUSAL) as refused:
        await ctx.start(settled=False)
        await _first_call(ctx)
        await ctx.observe(20.0, lambda: ctx.plugin.has_ended, "Register was refused for")
    times = Counter((int(each.at_s), each.resource) for each in refused.calls)
    if times and (most := max(times.values())) > HOT:
        ctx.warning(f"up to {most} Register calls a second after a refusal, more than {HOT}", most_per_second=most)
    await _comes(ctx, "after Register was refused for a while", len(refused.calls))


async def _comes(ctx: CheckContext, when: str, before: int) -> None:
    """Registered within a minute, or ended with an error; `before`: how many Register calls do not count."""
    began_s = ctx.began_s
    await ctx.holds(lambda: ctx.plugin.has_ended or ctx.seen.streams, RETRIES_WITHIN_S)
    if ctx.seen.streams and ctx.seen.streams[-1].at_s >= began_s:
        return
    if not ctx.plugin.has_ended:
        tries = ctx.seen.registrations[before:]
        ctx.error(not_registered(when, tries), calls=len(tries))
    elif ctx.plugin.exit_code:
        ctx.note(f"the plugin ended with {ctx.plugin.exit_code}, which its DaemonSet answers with a new start")
    else:
        ctx.warning(f"{when}, the plugin ended with 0, as if all was well", exit_code=0)


def not_registered(when: str, tries: Sequence[RegisterCall]) -> str:
    """That nobody tried, or that all tries failed, and whether the plugin's socket is to blame."""
    end = f"within {RETRIES_WITHIN_S:g} s"
    if not tries:
        return f"{when}, the plugin runs on and did not call Register {end}"
    times = f"{len(tries)} time{'s' if len(tries) > 1 else ''}"
    text = f"{when}, the plugin runs on and called Register {times} {end}, in vain"
    if _no_socket(Path(tries[-1].socket_path)):
        swept = f": its socket {tries[-1].registration.socket_name!r} is not there; a kubelet that starts removes all sockets"
        return text + swept
    return text


@GROUP.check(
    "reg-retry-when-no-kubelet",
    "A plugin that is there before the kubelet waits for it",
    level=Level.ERROR,
    needs="BP",
    stage=Stage.OWN,
    what="The plugin is started without kubelet.sock, and again beside one that refuses connections; then the kubelet comes, "
    "and registration is waited for 60 s.",
    why="After a reboot plugins often start before the kubelet listens. One that gives up silently stays unregistered for ever.",
    fix="Wait for kubelet.sock, or try again with pauses, or exit with an error.",
    source="public reports",
    rules="DM-16",
    limit_s=170.0,
)
async def retry_when_no_kubelet(ctx: CheckContext) -> None:
    for when, is_dead in (
        ("without kubelet.sock at its start", False),
        ("with a dead kubelet.sock at its start", True),
    ):
        await ctx.node.crash()
        if not is_dead:
            ctx.node.root.layout.registration_socket.unlink(missing_ok=True)
        ctx.seen.streams.clear()
        await ctx.start(settled=False)
        await ctx.observe(WITHOUT_KUBELET_S, lambda: ctx.plugin.has_ended, "the kubelet was away for")
        before = len(ctx.seen.registrations)
        await ctx.node.start_kubelet()
        await _comes(ctx, when, before)
        await ctx.plugin.close()


@GROUP.check(
    "reg-deadline-sane",
    "The Register call has a deadline of 10 s or more",
    level=Level.WARNING,
    what="How much time each Register call has left when it arrives.",
    why="A kubelet since 1.25 dials the plugin under the deadline of this call and takes up to 10 s for it: with less, a busy node "
    "makes registration fail for no good reason.",
    fix="Give Register 10 s or more, counted from when the connection is there.",
    source="the code of the kubelet",
    rules="DM-30",
    needs_ready=False,
)
async def deadline_sane(ctx: CheckContext) -> None:
    known = calls(ctx)
    for resource in ctx.seen.resources:
        of_resource = [each for each in known if each.resource == resource]
        shortest = min((c.deadline_s for c in of_resource if c.deadline_s is not None), default=None)
        if shortest is not None and shortest < DEADLINE_S - ON_THE_WAY_S:
            text = f"{resource}: Register had {shortest:.1f} s left when it arrived, less than {DEADLINE_S:g} s"
            ctx.warning(text, resource=resource, deadline_s=round(shortest, 3))
        elif any(each.deadline_s is None for each in of_resource):
            # gRPC libraries differ in whether they send a deadline that is the caller's own: tonic's `timeout` is not sent.
            own = "unless the plugin has one that it does not send, a kubelet that hangs holds it up for ever"
            ctx.info(f"{resource}: Register came without a deadline: {own}")


@GROUP.check(
    "reg-not-periodic",
    "A registered plugin does not register again for no reason",
    level=Level.WARNING,
    what="Register calls while nothing happens: no restart of the kubelet, no lost stream.",
    why="Each registration makes the kubelet dial and replace the plugin: between the end of the old stream and the first list "
    "of the new one devices are missing, and pods are rejected.",
    fix="Register once, and again only when kubelet.sock is another one, the socket is gone or the stream has ended.",
    source="public reports",
    rules="DM-35",
    observes=True,
)
async def not_periodic(ctx: CheckContext) -> None:
    """Nothing comes in an idle while, and nothing came twice before it."""
    window = await ctx.observe(60.0)
    for resource in ctx.resources:
        of_resource = ctx.seen.registrations_of(resource)
        if not of_resource:
            continue
        first, *later = of_resource
        losses = [each.at_s for each in ctx.seen.ends_of(resource)]
        again = [each for each in later if each.at_s <= window.end_s and not any(loss <= each.at_s for loss in losses)]
        if again:
            after = ", ".join(f"{each.at_s - first.at_s:.1f} s" for each in again[:5])
            text = f"{resource} was registered {len(again)} times more for no reason, {after} after the first time"
            ctx.warning(text, resource=resource, count=len(again))
