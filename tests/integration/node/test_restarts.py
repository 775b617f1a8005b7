"""Restarts, reboots and crashes of a node: what each leaves of its pods, its files and its books."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing, closing
from pathlib import Path

import pytest
from attrs import evolve

from kubelet_sim.errors import RpcFailed, TransportError, UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.life import Comeback
from kubelet_sim.model.plugin import API_VERSION, PluginInfo
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.root_directory.checkpoint_store import write_file
from kubelet_sim.profiles import V1_36
from kubelet_sim.testing.fake_calls import FakeCalls, FakeStream
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod, registration, soon
from tests.integration.node.pods.test_pod_worker import DEVICE, ends, is_in, main, running, view
from tests.patience import PATIENCE_S
from tests.unit.node.example_pods import manifest_pod

NO_HEALTHY = (
    "Pod was rejected: Allocate failed due to no healthy devices present; "
    f"cannot allocate unhealthy devices {RESOURCE}, which is unexpected"
)


@pytest.fixture
def on_disk(short_root: Path) -> Callable[[Callable[[Node, FakeCalls], Awaitable[None]]], None]:
    """Run a test's body with a node whose checkpoint is a file."""

    def run(body: Callable[[Node, FakeCalls], Awaitable[None]]) -> None:
        async def whole() -> None:
            calls = FakeCalls()
            async with Node(NodeConfig(root=short_root), clock=ManualClock(), calls=calls) as node:
                await body(node, calls)

        asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE_S))

    return run


def refuses(path: Path) -> bool:
    """Whether a socket's file is there and nobody listens."""
    with closing(socket.socket(socket.AF_UNIX)) as caller:
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False


# --- what is admitted again (DM-111); the running container and the init container have tests beside the node's


def test_a_container_in_its_back_off_is_not_running(on_bench: RunOnBench) -> None:
    """Its pod is rejected if the plugin is not back, and all of it is ended. Rules: DM-108, DM-110, DM-111"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        await ends(it, 1)
        await ends(it, 1)
        assert main(it).reason == "CrashLoopBackOff"
        await soon(it.node.restart())
        assert (view(it).phase, view(it).reason, view(it).message) == ("Failed", "UnexpectedAdmissionError", NO_HEALTHY)

    on_bench(body)


def test_a_container_that_runs_is_spared(on_bench: RunOnBench) -> None:
    """Even one that was restarted before, with an attempt that is over beside it. Rules: DM-110, DM-111"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        await ends(it, 1)
        before = view(it)
        await soon(it.node.restart())
        assert view(it) == before
        assert peer.allocated == [("a",)]

    on_bench(body)


def test_after_a_reboot_nothing_runs(on_bench: RunOnBench) -> None:
    """A pod with a device is rejected, as its plugin cannot be back yet; one without begins again from its first container.

    Rules: DM-108, DM-111
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE, name="p"), manifest_pod(init=["i"], name="q"))
        await soon(it.node.reboot())
        await it.node.advance(0)
        assert (view(it).phase, view(it).message) == ("Failed", NO_HEALTHY)
        assert [(each.state, each.restart_count) for each in view(it, "q").containers] == [
            ("exited", 1),
            ("running", 1),
        ]
        assert (main(it, "q").last_reason, main(it, "q").last_exit_code) == ("Unknown", 255)
        await it.plugin(device("a"))
        await it.node.status_round()
        assert await it.node.admit(pod("next")) == Admitted()
        assert "Rebooted" in [event.reason for event in it.node.events()]

    on_bench(body)


@pytest.mark.parametrize(
    "policy, ended, phase, restarts",
    [("Never", False, "Failed", 0), ("OnFailure", False, "Running", 1), ("OnFailure", True, "Succeeded", 0)],
)
def test_a_reboot_and_the_restart_policy(
    on_bench: RunOnBench, policy: str, ended: bool, phase: str, restarts: int
) -> None:
    """Containers count as failed; a pod that had ended is left alone. Rules: DM-73, DM-108"""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod(policy=policy))
        if ended:
            await ends(it, 0)
        await soon(it.node.reboot())
        await it.node.wait_for(is_in("p", phase))
        assert main(it).restart_count == restarts

    on_bench(body)


def test_after_a_reboot_pods_come_in_any_order(on_bench: RunOnBench) -> None:
    """The oldest is first; with a seed it is another order, the same for the same seed."""

    async def body(it: Bench) -> None:
        names = [f"p{number}" for number in range(6)]
        await running(it, *(pod(name, 0) for name in names))

        async def admitted(seed: int | None) -> list[str]:
            before = len(it.texts())
            await soon(it.node.reboot(seed=seed))
            records = list(it.node.transcript)[before:]
            return [record.subject.removeprefix("default/") for record in records if record.text == "admitted"]

        assert await admitted(None) == names
        shuffled = await admitted(3)
        assert sorted(shuffled) == names
        assert shuffled != names
        assert await admitted(3) == shuffled

    on_bench(body)


# --- crashes


def test_after_a_crash_the_socket_refuses(on_bench: RunOnBench) -> None:
    """The node goes on without a kubelet: it shows what is known, containers run on, pods wait; then a kubelet comes.

    Rules: DM-16, DM-108
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.status_round()
        await running(it, manifest_pod(limits=DEVICE))
        await it.node.crash()
        assert refuses(it.node.root.layout.registration_socket)
        now = it.node.status()
        assert (now.has_kubelet, now.plugins, now.allocations) == (False, (), ())
        assert dict(now.capacity)[RESOURCE] == "1"
        assert main(it).state == "running"
        await it.node.apply([manifest_pod(name="q")])
        assert view(it, "q").phase == "Pending"
        for cannot in (it.node.crash(), it.node.admit(pod("r")), it.node.prepare("p", "main"), it.node.status_round()):
            with pytest.raises(UsageError, match="no kubelet runs on this node; start or restart it"):
                await cannot
        await soon(it.node.start_kubelet())
        await it.node.wait_for(is_in("q", "Running"))
        assert it.node.status().incarnation == 2
        assert view(it).phase == "Running"
        with pytest.raises(UsageError, match="a kubelet runs on this node already"):
            await it.node.start_kubelet()

    on_bench(body)


def test_what_ends_while_no_kubelet_looks(on_bench: RunOnBench) -> None:
    """Its pod keeps its phase until a kubelet is there; then it is no running container, and rejected. Rules: DM-111"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        await it.node.crash()
        it.node.exit_container("p", code=1)
        assert (main(it).state, view(it).phase) == ("exited", "Running")
        await soon(it.node.restart())
        assert (view(it).phase, view(it).message) == ("Failed", NO_HEALTHY)

    on_bench(body)


def test_twice_in_a_row(on_bench: RunOnBench) -> None:
    """The second restart finds what the first one left. Rules: DM-111, DM-112"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        before = it.node.status()
        await soon(it.node.restart())
        await soon(it.node.restart())
        after = it.node.status()
        assert (after.pods, after.allocations, after.incarnation) == (before.pods, before.allocations, 3)
        assert peer.allocated == [("a",)]

    on_bench(body)


# --- files


def test_a_socket_that_appears_late(on_bench: RunOnBench) -> None:
    """The directory is cleaned at once, no pod is admitted before the socket is there; another restart begins anew.

    Rules: DM-5, DM-6, DM-17
    """

    async def body(it: Bench) -> None:
        await running(it, manifest_pod())
        path = it.node.root.layout.registration_socket
        late = Comeback(socket_after_s=30)
        await soon(it.node.restart(late))
        assert not path.exists()
        await it.node.advance(20)
        with pytest.raises(UsageError, match="is starting: its socket is not there yet"):
            await it.node.status_round()
        await soon(it.node.restart(late))
        await it.node.advance(29)
        assert not path.exists()
        assert not it.node.status().has_kubelet
        await it.node.advance(1)
        await it.node.wait_for(lambda now: now.sources_ready)
        assert path.is_socket()
        assert view(it).phase == "Running"

    on_bench(body)


@pytest.mark.parametrize("is_lost, shown", [(False, "2"), (True, "0")])
def test_a_runtime_that_is_late(on_bench: RunOnBench, is_lost: bool, shown: str) -> None:
    """The directory is left alone until it is ready; if nothing lies there, the node counts as a new one.

    A device manager that has not started mentions no resource, so what there was counts as allocatable in full.

    Rules: DM-5, DM-64, DM-68, CP-4
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b", healthy=False))
        await it.node.status_round()
        stale = it.node.root.layout.registration_socket
        await soon(it.node.reboot(Comeback(socket_after_s=5, runtime_after_s=30, keeps_directory=not is_lost)))
        node = it.node.status()
        assert not node.has_kubelet
        assert (dict(node.capacity)[RESOURCE], dict(node.allocatable)[RESOURCE]) == (shown, shown)
        await it.node.advance(29)
        assert stale.exists() is not is_lost
        await it.node.advance(1)
        assert not stale.exists()
        await it.node.advance(5)
        await it.node.wait_for(lambda now: now.sources_ready)
        assert stale.is_socket()

    on_bench(body)


def test_a_late_start_that_fails_is_told(on_bench: RunOnBench) -> None:
    """Nobody waits for it, so it is in the transcript; the node is without a kubelet. Rules: DM-9"""

    async def body(it: Bench) -> None:
        await soon(it.node.restart(Comeback(socket_after_s=5)))
        it.node.root.layout.registration_socket.write_text("in the way")
        await it.node.advance(5)
        assert any("the kubelet could not start: listen unix" in text for text in it.texts())
        with pytest.raises(TransportError, match="address already in use"):
            await soon(it.node.restart())
        it.node.root.layout.registration_socket.unlink()
        await soon(it.node.restart())
        assert it.node.status().has_kubelet

    on_bench(body)


@pytest.mark.parametrize("late", [lambda s: Comeback(socket_after_s=s), lambda s: Comeback(runtime_after_s=s)])
@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_a_time_that_is_none(on_bench: RunOnBench, seconds: float, late: Callable[[float], Comeback]) -> None:
    """The kubelet that runs is left alone."""

    async def body(it: Bench) -> None:
        with pytest.raises(UsageError, match=r"a (socket appears|runtime is ready) after"):
            await it.node.restart(late(seconds))
        assert it.node.status().incarnation == 1

    on_bench(body)


@pytest.mark.parametrize("how", [Comeback(keeps_checkpoint=False), Comeback(keeps_directory=False)])
def test_a_lost_checkpoint(
    on_disk: Callable[[Callable[[Node, FakeCalls], Awaitable[None]]], None], how: Comeback
) -> None:
    """A running pod is admitted without a record, and its device counts as free: it is given away a second time.

    A directory that is gone is made again. Rules: DM-2, DM-113
    """

    async def body(node: Node, calls: FakeCalls) -> None:
        it = Bench(node, node.clock, calls, None)  # type: ignore[arg-type]  # the clock is manual, the store is the file
        peer = await it.plugin(device("a"), device("b"))
        await running(it, manifest_pod(limits=DEVICE))
        await soon(node.restart(how))
        assert node.status().allocations == ()
        assert view(it).phase == "Running"
        assert node.root.layout.device_plugins.is_dir()
        await it.plugin(device("a"), device("b"))
        await node.status_round()
        assert await node.admit(pod("two")) == Admitted()
        assert peer.allocated == [("a",), ("a",)]
        # The number of pods is limited all the same: the running pod's request counts.
        third = await node.admit(pod("three"))
        assert isinstance(third, Rejected)
        assert third.reason == f"OutOf{RESOURCE}"

    on_disk(body)


def test_a_directory_removed_under_a_running_kubelet(
    on_disk: Callable[[Callable[[Node, FakeCalls], Awaitable[None]]], None],
) -> None:
    """Connected plugins go on, and the checkpoint makes it again; the socket comes back with the next kubelet.

    Rules: DM-12, DM-13, DM-135
    """

    async def body(node: Node, calls: FakeCalls) -> None:
        it = Bench(node, node.clock, calls, None)  # type: ignore[arg-type]  # as above
        await it.plugin(device("a"))
        for path in node.root.layout.device_plugins.iterdir():
            path.unlink()
        node.root.layout.device_plugins.rmdir()
        assert await node.admit(pod("one")) == Admitted()
        assert node.root.layout.checkpoint.is_file()
        assert not node.root.layout.registration_socket.exists()
        await soon(node.restart())
        assert node.root.layout.registration_socket.is_socket()
        assert len(node.status().allocations) == 1

    on_disk(body)


@pytest.mark.parametrize("any_counts, phase", [(True, "Running"), (False, "Failed")])
def test_which_container_of_a_name_counts(on_bench: RunOnBench, any_counts: bool, phase: str) -> None:
    """A container that was restarted has an attempt beside it that is over; earlier releases looked at either.

    Rules: DM-110, DM-177
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        await ends(it, 1)
        await soon(it.node.restart())
        assert view(it).phase == phase

    on_bench(body, profile=evolve(V1_36, any_running_container_counts=any_counts))


def test_a_write_under_way_does_not_bring_a_lost_checkpoint_back(
    on_disk: Callable[[Callable[[Node, FakeCalls], Awaitable[None]]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the process before had begun to write is lost, too: it is on disk before anything is. Rules: DM-113, DM-137"""
    released = threading.Event()

    def slow(path: Path, data: bytes) -> None:
        released.wait(PATIENCE_S)
        write_file(path, data)

    async def body(node: Node, calls: FakeCalls) -> None:
        peer = calls.peer("p.sock")
        await soon(node.kubelet.register(registration()))
        monkeypatch.setattr("kubelet_sim.node.root_directory.checkpoint_store.write_file", slow)
        monkeypatch.setattr("kubelet_sim.node.root_directory.checkpoint_store.QUICK_S", 0.0)
        sending = asyncio.ensure_future(peer.send(device("a")))
        await node.wait_for(lambda now: [each.healthy for each in now.resources] == [1], PATIENCE_S)
        restarting = asyncio.ensure_future(node.restart(Comeback(keeps_checkpoint=False)))
        async with aclosing(node.changes()) as changes:
            async for _ in changes:
                if any("the kubelet process ended" in record.text for record in node.transcript):
                    break
        released.set()
        await soon(restarting)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        assert node.kubelet.state.healthy == {}

    on_disk(body)


def test_time_stands_still_until_the_stream_of_a_closed_connection_has_ended(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a node it ends at once; an end that came seconds later could disconnect the next client. Rules: DM-33"""
    ended = FakeStream.end

    def end_later(stream: FakeStream, error: RpcFailed | None) -> None:
        asyncio.get_running_loop().call_later(0.05, ended, stream, error)

    monkeypatch.setattr(FakeStream, "end", end_later)

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.kubelet.deregister_watched(PluginInfo("DevicePlugin", RESOURCE, "", (API_VERSION,)), "reg.sock")
        (link,) = it.node.kubelet.driver.links.values()
        assert link.has_stream
        await it.clock.advance(1)
        ends = [record.at_s for record in it.node.transcript if "the stream of client 1 ended" in record.text]
        assert ends == [0.0]

    on_bench(body)
