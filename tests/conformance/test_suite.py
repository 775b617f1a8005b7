"""The suite itself: stages, skips, deadlines, and what is left behind."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kubelet_sim.conformance import CHECKS, Check, Isolation, Level, Report, Stage, Status, SuiteConfig, run
from kubelet_sim.conformance.check import Run
from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.conformance.config import Mode
from kubelet_sim.conformance.known_failures import read_failed, state_file
from kubelet_sim.conformance.suite import NOT_ALL_READY, CannotBeRun, Suite, conform
from kubelet_sim.errors import RpcFailed
from kubelet_sim.profiles import V1_36
from tests.conformance.trial import ROOT, example, only, told
from tests.patience import PATIENCE_S

GOOD = evolve(example("env_gpu", "--gpus", "2"), jobs=1)
BY_HAND = """
import sys, threading
from pathlib import Path
from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults import FAULTS
from plugins_examples.faulty.plugin import run
conduct = Conduct(None, Path(sys.argv[1]))
{}
run(conduct, conduct.folder, threading.Event())
"""
LATE = BY_HAND.format(
    "FAULTS['registers-before-serving'].apply(conduct); conduct.register_timeout_s = 2.0; conduct.retry_pause_s = 9"
)
TIMED = BY_HAND.format(
    "import time; name = f'dp.{int(time.time())}'; conduct.socket_path = lambda folder, resource: folder / name"
)


def made(check_id: str, body: Run, stage: Stage = Stage.SHARED, limit_s: float = 20.0) -> Check:
    """A check of the test's own that is in no table."""
    return evolve(CHECKS["law-unique-ids"], id=check_id, run=body, stage=stage, limit_s=limit_s)


def play(*checks: Check, config: SuiteConfig = GOOD, known: frozenset[str] = frozenset()) -> Report:
    """The report of these checks."""
    return asyncio.run(Suite(config, V1_36, checks, known).run())


def statuses(report: Report) -> dict[str, Status]:
    """What came of each check."""
    return {each.check.id: each.status for each in report.outcomes}


async def passes(ctx: CheckContext) -> None:
    """Nothing is wrong."""
    assert ctx.healthy_ids(ctx.resources[0])


async def fails(ctx: CheckContext) -> None:
    """Something is."""
    ctx.error("seen, and not expected", count=3)


def test_a_check_that_raises_is_broken_with_its_cause_and_never_a_pass() -> None:
    """An unexpected answer, a bug, a deadline: each is told, and the next check is made."""

    async def answers_oddly(ctx: CheckContext) -> None:
        raise RpcFailed("Internal", "odd")

    async def stumbles(ctx: CheckContext) -> None:
        raise KeyError("bug")

    async def hangs(ctx: CheckContext) -> None:
        await asyncio.Event().wait()

    report = play(
        made("x-rpc", answers_oddly), made("x-bug", stumbles), made("x-hang", hangs, limit_s=0.2), made("x-ok", passes)
    )
    assert [each.status for each in report.outcomes] == [Status.BROKEN] * 3 + [Status.PASSED], told(report)
    reasons = [each.reason for each in report.outcomes]
    assert reasons[0] == "rpc error: code = Internal desc = odd"
    assert "KeyError" in reasons[1]
    assert reasons[2] == "did not end within 0.2 s"


def test_a_plugin_that_dies_in_a_check_is_started_again_for_the_next() -> None:
    """The next one is made on a plugin that is ready, and says that it was lost."""

    async def kills(ctx: CheckContext) -> None:
        await ctx.plugin.kill()

    report = play(made("x-kill", kills), made("x-next", passes))
    assert statuses(report) == {"x-kill": Status.PASSED, "x-next": Status.PASSED}, told(report)
    assert "lost" in report.outcomes[1].notes[0]


def test_a_failure_keeps_its_evidence_and_a_known_one_does_not_count() -> None:
    """Transcript and output belong to it; a listed check that passes fails the run."""
    report = play(made("x-bad", fails), made("x-ok", passes), known=frozenset({"x-bad"}))
    bad = report.outcomes[0]
    assert (bad.status, bad.worst, bad.is_known) == (Status.FAILED, Level.ERROR, True)
    assert bad.findings[0].evidence == {"count": 3}
    assert not report.bad
    report = play(made("x-ok", passes), known=frozenset({"x-ok"}))
    assert [each.check.id for each in report.bad] == ["x-ok"]


def test_fail_fast_stops_at_the_first_failure() -> None:
    """What was not made has no outcome."""
    report = play(made("x-bad", fails), made("x-ok", passes), config=evolve(GOOD, fail_fast=True))
    assert statuses(report) == {"x-bad": Status.FAILED}


def test_a_command_that_is_not_there_could_not_run() -> None:
    """No check is made; the report that is left says why."""
    config = evolve(GOOD, command=("/no/such/plugin", "{dir}"))
    suite, reports = Suite(config, V1_36, (made("x-ok", passes), CHECKS["reg-happens"])), list[Report]()
    with pytest.raises(CannotBeRun, match="command not found"):
        asyncio.run(suite.run(reports.append))
    (report,) = reports
    assert statuses(report) == {"x-ok": Status.BROKEN, "reg-happens": Status.SKIPPED}, told(report)
    assert "command not found" in report.notes[0]


def test_a_plugin_that_ends_at_its_start_is_told_of_once_and_at_once() -> None:
    """With its exit code and its last words; nothing else fails, breaks, or passes for want of something to look at."""
    command = ("sh", "-c", "echo no such flag: --foo; exit 3")
    config = SuiteConfig(command=command, isolate=Isolation.NONE, seed=1, start_timeout_s=PATIENCE_S)
    report = only(evolve(config, is_beyond=True))
    made_of_it = {each.check.id: each.status for each in report.outcomes if each.status is not Status.SKIPPED}
    assert made_of_it == {"reg-happens": Status.FAILED}, told(report)
    (finding,) = next(each.findings for each in report.outcomes if each.findings)
    assert re.match(r"the plugin ended with exit code 3, [0-9]+\.[0-9]* s", finding.text), finding.text
    assert finding.text.endswith("never called Register; its last words: no such flag: --foo"), finding.text
    assert finding.evidence == {"exit_code": 3}
    assert report.took_s < PATIENCE_S / 2
    killed = only(evolve(config, command=("sh", "-c", "kill -9 $$"), select=("reg-happens",)))
    assert "the plugin was killed by SIGKILL" in killed.outcomes[0].findings[0].text


def test_a_plugin_that_does_not_register_is_waited_for_once() -> None:
    """Checks with an instance of their own would each wait for it anew."""
    config = evolve(example("faulty", "--fault", "never-registers"), start_timeout_s=1.0, hooks={"no-hardware": "true"})
    chosen = ("reg-happens", "sock-*", "reg-retry-backoff", "restart-during-startup", "life-no-hardware-stays-up")
    report = only(evolve(config, select=chosen))
    came = {each.check.id: each.status for each in report.outcomes if each.status is not Status.SKIPPED}
    assert came == {"reg-happens": Status.FAILED, "life-no-hardware-stays-up": Status.PASSED}, told(report)
    assert report.outcomes[0].findings[0].text == "no Register call came within 1 s"
    alone = only(evolve(config, command=("sh", "-c", "exit 3"), select=("sock-no-leak-on-failed-register",)))
    assert [each.status for each in alone.outcomes] == [Status.SKIPPED], told(alone)


def test_who_does_not_serve_yet_has_no_wrong_endpoint() -> None:
    """That the socket is missing then is no second fault; one that is elsewhere is told of where it is, and by one check."""
    chosen = ("reg-serve-before-register", "reg-endpoint-basename", "reg-listening-when-registered")
    config = evolve(GOOD, select=chosen, start_timeout_s=6.0)
    late = only(evolve(config, command=(sys.executable, "-c", LATE, "{dir}")))
    assert statuses(late)["reg-serve-before-register"] is Status.FAILED, told(late)
    endpoint = next(each for each in late.outcomes if each.check.id == "reg-endpoint-basename")
    assert (endpoint.status, endpoint.findings) == (Status.SKIPPED, ()), told(late)
    assert "see reg-serve-before-register" in endpoint.reason
    elsewhere = only(evolve(config, command=example("faulty", "--fault", "serves-elsewhere").command, cwd=ROOT))
    bad = {each.check.id: each for each in elsewhere.outcomes if each.status is not Status.SKIPPED}
    assert list(bad) == ["reg-endpoint-basename"], told(elsewhere)
    (finding,) = bad["reg-endpoint-basename"].findings
    assert "names no socket: there is no such file; the plugin listens on /" in finding.text


def test_a_second_instance_is_not_started_in_the_same_second() -> None:
    """Socket names that are times in seconds differ, as they do on any node."""
    config = evolve(GOOD, command=(sys.executable, "-c", TIMED, "{dir}"), select=("takeover-unique-socket",), cwd=ROOT)
    report = only(config)
    assert [each.status for each in report.outcomes] == [Status.PASSED], told(report)


def test_a_deadline_that_is_not_sent_may_be_there() -> None:
    """That nothing came does not say that the plugin waits for ever: it is told of as what it is."""
    script = BY_HAND.format("conduct.register_timeout_s = None")
    report = only(
        evolve(GOOD, command=(sys.executable, "-c", script, "{dir}"), select=("reg-deadline-sane",), cwd=ROOT)
    )
    (finding,) = report.outcomes[0].findings
    assert finding.level is Level.INFO
    assert "came without a deadline: unless the plugin has one that it does not send" in finding.text


def test_an_attached_plugin_that_is_lost_gets_a_restart_of_the_kubelet(short_root: Path) -> None:
    """It cannot be started again; where that brings it back the further checks are made, else they say that it was lost."""
    (short_root / "device-plugins").mkdir()
    chosen = ("law-reconnect-after-stream-loss", "restart-quick")
    config = SuiteConfig(attach=short_root, seed=1, select=chosen, patience=0.05, start_timeout_s=5.0)

    def attached(fault: str) -> Report:
        command = [sys.executable, "-m", "plugins_examples.faulty", "--socket-dir", str(short_root / "device-plugins")]
        with subprocess.Popen([*command, "--fault", fault], cwd=ROOT, stderr=subprocess.DEVNULL) as plugin:
            try:
                return only(config)
            finally:
                plugin.terminate()

    report = attached("stays-cut-off")
    expected = {"law-reconnect-after-stream-loss": Status.WARNED, "restart-quick": Status.PASSED}
    assert statuses(report) == expected, told(report)
    assert not any("never got ready" in note for note in report.notes)


async def killed_and_back(ctx: CheckContext) -> None:
    """Its plugin is killed; somebody has to start it again."""
    assert ctx.plugin.pid is not None
    began_s = time.monotonic()
    os.kill(ctx.plugin.pid, signal.SIGKILL)
    if (await ctx.recovered(began_s, 60.0)).took_s is None:
        ctx.error("it did not come back")


@pytest.mark.parametrize("is_supervised, first", [(True, Status.PASSED), (False, Status.FAILED)])
def test_an_attached_plugin_that_ends_may_be_started_by_others(
    short_root: Path, is_supervised: bool, first: Status
) -> None:
    """As by a DaemonSet: then that is how it comes back, and it is tested on. Else it is as for everybody who lets it end: it fails."""
    folder = short_root / "device-plugins"
    folder.mkdir()
    word = "while" if is_supervised else "if"
    end = "done" if is_supervised else "fi"
    begin = "do" if is_supervised else "then"
    plugin = shlex.join([sys.executable, "-m", "plugins_examples.env_gpu", "--socket-dir", str(folder)])
    config = SuiteConfig(attach=short_root, seed=1, start_timeout_s=30.0, patience=1.0 if is_supervised else 0.02)
    script = f"{word} sleep 0.2; {begin} {plugin}; {end}"
    with subprocess.Popen(["sh", "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True) as shell:
        try:
            report = play(
                made("x-kill", killed_and_back, Stage.RESTARTS), made("x-next", passes, Stage.RESTARTS), config=config
            )
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
    expected = {"x-kill": first, "x-next": Status.PASSED if is_supervised else Status.SKIPPED}
    assert statuses(report) == expected, told(report)
    if not is_supervised:
        assert any("nobody has started it again" in note for note in report.outcomes[0].notes)
        assert report.bad


def test_a_run_in_which_nothing_could_be_tested_forgets_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that does not start today is no reason for --rerun-failed to leave out what failed yesterday."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    works = tmp_path / "works"
    plugin = shlex.join([sys.executable, "-m", "plugins_examples.faulty", "--fault", "grants-one", "--socket-dir"])
    script = f"test -e {works} && exec {plugin} $1"
    config = evolve(GOOD, command=("sh", "-c", script, "sh", "{dir}"), select=("alloc-uses-requested-ids",))
    works.touch()
    assert only(config).bad
    works.unlink()
    assert not only(evolve(config, rerun_failed=True)).could_run
    assert read_failed(state_file(config)) == {"alloc-uses-requested-ids"}


def test_what_a_check_has_waited_for_in_vain_is_not_waited_for_again() -> None:
    """A plugin that does not come back is started anew at once for the next check, not after another start's time."""

    async def cuts(ctx: CheckContext) -> None:
        assert (await ctx.recovered(await ctx.cut_streams(), 2.0)).took_s is None

    config = evolve(example("faulty", "--fault", "stays-cut-off"), jobs=1, start_timeout_s=60.0)
    began_s = time.monotonic()
    report = play(made("x-cut", cuts, Stage.RESTARTS), made("x-next", passes, Stage.RESTARTS), config=config)
    assert statuses(report) == {"x-cut": Status.PASSED, "x-next": Status.PASSED}, told(report)
    assert time.monotonic() - began_s < 60


def test_a_plugin_that_does_not_come_back_is_waited_for_once(tmp_path: Path) -> None:
    """The first check after that is broken, so that the run fails; further ones are skipped, and none waits again."""

    async def kills(ctx: CheckContext) -> None:
        await ctx.plugin.kill()

    once = f'if mkdir {shlex.quote(str(tmp_path / "started"))}; then exec "$@"; else sleep 90; fi'
    config = evolve(GOOD, command=("sh", "-c", once, "sh", *GOOD.command), start_timeout_s=10.0)
    report = play(made("x-kill", kills), made("x-one", passes), made("x-other", passes), config=config)
    expected = {"x-kill": Status.PASSED, "x-one": Status.BROKEN, "x-other": Status.SKIPPED}
    assert statuses(report) == expected, told(report)
    assert all("did not come back" in each.reason for each in report.outcomes[1:])
    assert report.took_s < 55


def test_an_expected_resource_that_does_not_come_is_why_others_are_not_tested() -> None:
    """It is not said that no plugin was there."""
    report = play(
        made("x-ok", passes), config=evolve(GOOD, expected_resources=("example.com/none",), start_timeout_s=8.0)
    )
    assert [each.reason for each in report.outcomes] == [NOT_ALL_READY], told(report)


def test_names_are_looked_at_before_what_goes_by_them() -> None:
    """A plugin with other names each time is told of that, and not only lost in the checks before."""
    config = evolve(example("faulty", "--fault", "new-names"), jobs=1, patience=0.02, start_timeout_s=5.0)
    report = play(CHECKS["law-reconnect-after-stream-loss"], CHECKS["name-stable"], config=config)
    assert statuses(report)["name-stable"] is Status.WARNED, told(report)


def test_a_plugin_that_the_check_before_made_deaf_is_tried_from_its_start() -> None:
    """One that misses what comes right after a registration misses the first restart of this check, too, if it comes then."""

    async def restarts(ctx: CheckContext) -> None:
        assert (await ctx.recovered(await ctx.restart_kubelet(), 240.0)).took_s is not None

    config = evolve(example("faulty", "--fault", "drops-late-events"), jobs=1, patience=0.25)
    deaf = CHECKS["restart-created-event-after-register"]
    report = play(made("x-restart", restarts, Stage.RESTARTS, limit_s=70.0), deaf, config=config)
    assert statuses(report) == {"x-restart": Status.PASSED, deaf.id: Status.FAILED}, told(report)


def test_a_plugin_that_can_write_all_the_same_is_no_plugin_without_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user namespace it is root, whoever we are: nothing can be said of how it takes a refusal."""
    access = os.access

    def refused(path: Path, mode: int, **more: Any) -> bool:
        return Path(path).stat().st_mode & 0o777 != 0o500 and access(path, mode, **more)

    monkeypatch.setattr("kubelet_sim.conformance.checks.security.os.access", refused)
    report = only(evolve(GOOD, select=("sec-clear-permission-error",)))
    assert [each.status for each in report.outcomes] == [Status.SKIPPED], told(report)
    assert "made its socket all the same" in report.outcomes[0].reason


def test_what_is_not_tested_for_want_of_devices_is_told() -> None:
    """A verdict on a plugin without a healthy device is one on half of it."""
    report = only(evolve(example("device_nodes", "--device", "/dev/no-such-device"), select=("alloc-*",), seed=1))
    assert report.notes == ("no device is healthy here: what a container would get was not tested",)


def test_each_kubelet_is_announced() -> None:
    """Where there are several, so that progress can be told apart."""
    texts: list[str] = []
    config = evolve(GOOD, select=("name-valid",), kubelet_versions=("1.25", "1.36"))
    run(config, lambda progress: texts.append(progress.text))
    assert [each for each in texts if each] == ["on kubelet v1.25.14", "on kubelet v1.36.2"]


def test_nothing_of_a_plugin_is_left_behind(tmp_path: Path) -> None:
    """Neither what it has started nor a daemon that left its session."""
    script = "import os,sys,time; os.fork() or os.setsid() or os.fork(); open(sys.argv[1]+'/'+str(os.getpid()),'w'); time.sleep(60)"
    config = evolve(GOOD, command=(sys.executable, "-c", script, str(tmp_path), "{dir}"), start_timeout_s=1.0)
    report = play(made("x-ok", passes), config=config)
    assert statuses(report) == {"x-ok": Status.SKIPPED}
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert len(pids) >= 2
    assert not [pid for pid in pids if _runs(pid)]


def _runs(pid: int) -> bool:
    """A zombie, whose parent does not care for it, does not run."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("name, options", [("env_gpu", ("--gpus", "2")), ("aio", ()), ("two_resources", ())])
def test_good_plugins_pass_the_quick_set_without_warnings(name: str, options: tuple[str, ...]) -> None:
    """On the newest kubelet and an old one."""
    from kubelet_sim.conformance import Mode

    for report in run(evolve(example(name, *options), mode=Mode.QUICK, kubelet_versions=("1.36", "1.24"))):
        assert {each.status for each in report.outcomes} <= {Status.PASSED, Status.SKIPPED}, told(report)
        assert report.could_run


def test_the_seed_is_in_the_report() -> None:
    """Given or drawn."""
    report = only(evolve(GOOD, select=("name-valid",), seed=42))
    assert report.about.seed == 42
    assert report.about.resources == ("example.com/gpu",)


def test_a_command_that_there_is_not_could_not_be_run() -> None:
    """One line says so; a report is no verdict, and does not look as if all was well."""
    config = SuiteConfig(command=("./no-such-plugin",), isolate=Isolation.NONE, mode=Mode.QUICK, seed=1)
    reports: list[Report] = []
    with pytest.raises(CannotBeRun, match=r"cannot be run: it ended with exit code 127; .*'\./no-such-plugin'"):
        asyncio.run(conform(config, done=reports.append))
    (report,) = reports
    assert not report.could_run
    assert report.count(Status.BROKEN) == 1
    assert report.count(Status.SKIPPED) == len(report.outcomes) - 1 > 1


@pytest.mark.parametrize("mode", [Mode.QUICK, Mode.DEFAULT])
def test_a_command_that_ends_at_once_does_not_conform_in_any_mode(mode: Mode) -> None:
    """It was run: that it never registers is a finding."""
    report = only(SuiteConfig(command=("/bin/false",), isolate=Isolation.NONE, mode=mode, seed=1))
    assert report.could_run
    assert [each.check.id for each in report.bad] == ["reg-happens"]


def test_a_run_that_is_cancelled_leaves_what_was_found_until_then() -> None:
    """Also by the check under way; the others are skipped, the plugin is gone, and the cancellation is one all the same."""
    pids, reports = [], list[Report]()

    async def finds_and_waits(ctx: CheckContext) -> None:
        pids.append(ctx.plugin.pid)
        ctx.error("seen before the end")
        asyncio.get_running_loop().call_soon(running.cancel)
        await asyncio.Event().wait()

    checks = (made("first", fails), made("second", finds_and_waits), made("third", passes))

    running: asyncio.Future[Report]

    async def cancelled() -> None:
        nonlocal running
        running = asyncio.ensure_future(Suite(GOOD, V1_36, checks).run(reports.append))
        await asyncio.wait([running])
        assert running.cancelled()

    asyncio.run(cancelled())
    (report,) = reports
    assert report.was_interrupted
    assert [(each.status, each.reason) for each in report.outcomes] == [
        (Status.FAILED, ""),
        (Status.FAILED, "interrupted"),
        (Status.SKIPPED, "interrupted"),
    ]
    assert [each.text for each in report.outcomes[1].findings] == ["seen before the end"]
    assert report.notes == ("interrupted after 2 of 3 checks",)
    assert not Path("/proc", str(pids[0])).exists()


def test_evidence_ends_where_the_finding_was_made() -> None:
    """The whole is kept as well, for reports that show it."""

    async def finds_and_goes_on(ctx: CheckContext) -> None:
        ctx.node.transcript.add("note", "node", "before")
        ctx.error("seen")
        ctx.node.transcript.add("note", "node", "after")
        ctx.error("seen again")

    (outcome,) = play(made("goes-on", finds_and_goes_on)).outcomes
    assert [each.text for each in outcome.records if each.subject == "node"][-2:] == ["before", "after"]
    assert outcome.records_then[-1].text == "before"
