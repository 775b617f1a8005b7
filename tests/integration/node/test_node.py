"""The node as a whole, with plugins that need no sockets."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.core.topology.hints import Hint
from kubelet_sim.core.topology.settings import NumaNodeInfo, TopologySettings
from kubelet_sim.errors import DialFailed, RegistrationRefused, RpcFailed, TransportError, UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from kubelet_sim.model.views import NodeSnapshot, ResourceView
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletGone
from kubelet_sim.node.node import Node
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, bench, device, pod, registration, soon
from tests.patience import PATIENCE_S


def _resource(snapshot: NodeSnapshot, name: str = RESOURCE) -> ResourceView:
    return next(each for each in snapshot.resources if each.name == name)


def _phase(name: str, phase: str) -> Callable[[NodeSnapshot], bool]:
    return lambda now: any(each.name == name and each.phase == phase for each in now.pods)


def test_a_pod_is_admitted_and_run(on_bench: RunOnBench) -> None:
    """A pod gets its devices from one Allocate call, its container is created with the merged answer, and it runs.

    Rules: DM-72, DM-98, DM-107, DM-123
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))

        async def answer(ids: tuple[DeviceID, ...]) -> AllocateAnswer:
            return AllocateAnswer((ContainerResponse({"IDS": ",".join(ids)}),))

        peer.allocate = answer
        await it.node.apply([pod("one", 2)])
        await it.node.wait_for(_phase("one", "Running"))
        assert it.node.container_spec("one") == ContainerSpec(envs=(("IDS", "a,b"),))
        assert await it.node.prepare("one", "main") == ContainerSpec(envs=(("IDS", "a,b"),))
        assert peer.allocated == [("a", "b")]

    on_bench(body)


def test_a_refused_pod_fails_for_good(on_bench: RunOnBench) -> None:
    """Phase, reason and message are those that the kubelet writes into the pod's status.

    Rules: DM-77, DM-78, TM-44
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        verdict = await it.node.admit(pod("big", 2))
        text = "Allocate failed due to requested number of devices unavailable for example.com/dev. Requested: 2, Available: 1"
        assert verdict == Rejected("UnexpectedAdmissionError", f"{text}, which is unexpected")
        (view,) = it.node.status().pods
        assert (view.phase, view.reason) == ("Failed", "UnexpectedAdmissionError")
        assert view.message == f"Pod was rejected: {text}, which is unexpected"
        with pytest.raises(UsageError, match="has not been created: Pod was rejected"):
            it.node.container_spec("big")

    on_bench(body)


def test_pods_are_admitted_one_after_the_other(on_bench: RunOnBench) -> None:
    """While a plugin thinks about one pod, the next one waits, and a deletion, too; registrations do not.

    Rules: DM-20, DM-41, DM-74, TM-48
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        asked, answers = asyncio.Event(), asyncio.Event()

        async def slow(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            asked.set()
            await answers.wait()
            return AllocateAnswer((ContainerResponse(),))

        peer.allocate = slow
        first = asyncio.create_task(it.node.admit(pod("first")))
        await soon(asked.wait())
        second = asyncio.create_task(it.node.admit(pod("second")))
        removal = asyncio.create_task(it.node.remove("first"))
        await it.plugin(device("x"), socket_name="q.sock", resource="example.com/net")
        assert len(peer.allocated) == 1
        assert not removal.done()
        answers.set()
        assert await soon(first) == await soon(second) == Admitted()
        await soon(removal)
        assert [view.name for view in it.node.status().pods] == ["second"]

    on_bench(body)


def test_a_dial_ends_after_ten_seconds_of_the_clock(on_bench: RunOnBench) -> None:
    """Nobody listens: Register is refused when 10 s have passed, and not before.

    Rules: DM-29, DM-39, DM-40
    """

    async def body(it: Bench) -> None:
        call = asyncio.create_task(it.node.kubelet.register(registration("late.sock")))
        await it.node.wait_for(lambda now: bool(now.plugins))
        await it.clock.advance(9.9)
        assert not call.done()
        assert [view.state for view in it.node.status().plugins] == ["connecting"]
        await it.clock.advance(0.2)
        with pytest.raises(RegistrationRefused) as refusal:
            await soon(call)
        assert refusal.value.text == "failed to dial device plugin: context deadline exceeded"
        assert [view.state for view in it.node.status().plugins] == ["failed"]

    on_bench(body)


def test_a_plugin_that_listens_late_is_found(on_bench: RunOnBench) -> None:
    """A socket that appears within the 10 s is as good as one that was there. Rules: DM-27, DM-40"""

    async def body(it: Bench) -> None:
        call = asyncio.create_task(it.node.kubelet.register(registration("late.sock")))
        await it.node.wait_for(lambda now: bool(now.plugins))
        await it.clock.advance(9)
        it.calls.peer("late.sock")
        await soon(call)
        assert [view.state for view in it.node.status().plugins] == ["live"]

    on_bench(body)


@pytest.mark.parametrize("phase", ["dial", "options"])
def test_a_caller_that_leaves_ends_its_registration(on_bench: RunOnBench, phase: str) -> None:
    """The dial and the options call end with their caller, and the name is free again.

    Rules: DM-30
    """

    async def body(it: Bench) -> None:
        asked = asyncio.Event()

        async def silent() -> PluginOptions:
            asked.set()
            await asyncio.Event().wait()
            return PluginOptions()

        peer = it.calls.peer("p.sock", listening=phase == "options")
        peer.options = silent
        call = asyncio.create_task(it.node.kubelet.register(registration()))
        await (soon(asked.wait()) if phase == "options" else it.node.wait_for(lambda now: bool(now.plugins)))
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        texts = {
            "dial": f"Register refused: failed to dial device plugin: {DialFailed('context canceled')}",
            "options": f"Register refused: failed to get device plugin options: {RpcFailed('Canceled', 'context canceled')}",
        }
        await it.node.wait_for(lambda _: texts[phase] in it.texts())
        assert it.node.kubelet.state.clients == {}

    on_bench(body)


def test_a_restart_keeps_a_running_pod(on_bench: RunOnBench) -> None:
    """The new kubelet knows the resource without devices, leaves the running container alone, and calls nobody.

    Rules: DM-16, DM-17, DM-19, DM-108, DM-109, DM-110, DM-111, DM-112
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        assert await it.node.admit(pod("one")) == Admitted()
        before = await it.node.wait_for(_phase("one", "Running"))
        await soon(it.node.restart())
        after = it.node.status()
        assert (after.incarnation, after.sources_ready) == (2, True)
        assert (after.pods, after.allocations) == (before.pods, before.allocations)
        found = _resource(after)
        assert (found.healthy, found.endpoint, found.node_capacity) == (0, "placeholder", "0")
        assert after.plugins == ()
        assert len(peer.allocated) == 1
        refused = await it.node.admit(pod("two"))
        assert isinstance(refused, Rejected)
        assert "no healthy devices present" in refused.message

    on_bench(body)


def test_a_restart_rejects_a_pod_whose_init_container_has_ended(on_bench: RunOnBench) -> None:
    """A completed init container with a device is not running, so its pod dies on a kubelet restart.

    Rules: DM-108, DM-111
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b"))
        assert await it.node.admit(pod("one", init_count=1)) == Admitted()
        await it.node.wait_for(_phase("one", "Running"))
        await soon(it.node.restart())
        (view,) = it.node.status().pods
        assert (view.phase, view.reason) == ("Failed", "UnexpectedAdmissionError")
        assert [each.state for each in view.containers] == ["exited", "exited"]

    on_bench(body)


def test_a_checkpoint_that_cannot_be_read_does_not_stop_the_start(on_bench: RunOnBench) -> None:
    """The start goes on with nothing restored, and says so; a device in use counts as free, and is given away again.

    Rules: DM-113, DM-143, CP-15
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"), device("b"))
        assert await it.node.admit(pod("one")) == Admitted()
        await it.node.wait_for(_phase("one", "Running"))
        it.store.data = b"{"
        await soon(it.node.restart())
        assert it.node.status().allocations == ()
        assert it.store.data == b"{"
        assert any("the checkpoint is not used" in text for text in it.texts())
        await it.plugin(device("a"), device("b"))
        await it.node.status_round()
        assert await it.node.admit(pod("two")) == Admitted()
        assert peer.allocated == [("a",), ("a",)]

    on_bench(body)


def test_a_failed_write_after_a_list_is_only_told(on_bench: RunOnBench) -> None:
    """The list counts all the same; only an allocation's write can refuse a pod.

    Rules: DM-60, DM-100, DM-136, CP-2, CP-3
    """

    async def body(it: Bench) -> None:
        it.store.fail_next_write("disk full")
        await it.plugin(device("a"))
        assert _resource(it.node.status()).healthy == 1
        assert any(record.level is RecordLevel.WARNING and "disk full" in record.text for record in it.node.transcript)
        it.store.fail_next_write("disk full")
        verdict = await it.node.admit(pod("one"))
        assert isinstance(verdict, Rejected)
        assert 'failed to write checkpoint file "kubelet_internal_checkpoint": disk full' in verdict.message
        assert len(it.node.status().allocations) == 1

    on_bench(body)


def test_the_node_status_is_computed_every_ten_seconds(on_bench: RunOnBench) -> None:
    """A list is not in the node object before the next round, which comes within 10.4 s.

    Rules: DM-65, DM-194
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b", healthy=False))
        assert _resource(it.node.status()).node_capacity is None
        await it.node.advance(9.9)
        assert _resource(it.node.status()).node_capacity is None
        await it.node.advance(0.5)
        found = _resource(it.node.status())
        assert (found.node_capacity, found.node_allocatable) == ("2", "1")

    on_bench(body)


def test_a_lost_plugin_is_forgotten_after_five_minutes(on_bench: RunOnBench) -> None:
    """Capacity stays for the grace period with nothing allocatable; then both are 0 for ever.

    Rules: DM-44, DM-47, DM-66, DM-69, DM-70
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await it.node.status_round()
        peer.end_streams()
        await it.node.wait_for(lambda now: _resource(now).endpoint == "stopped")
        await it.node.advance(300)
        found = _resource(it.node.status())
        assert (found.node_capacity, found.node_allocatable, found.endpoint) == ("1", "0", "stopped")
        await it.node.advance(10.5)
        found = _resource(it.node.status())
        assert (found.node_capacity, found.node_allocatable, found.endpoint) == ("0", "0", "none")

    on_bench(body)


def test_a_container_of_a_forgotten_resource_cannot_be_created(on_bench: RunOnBench) -> None:
    """After the grace period no container that holds a device of the resource can be created. Rules: DM-103"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        assert await it.node.admit(pod("one")) == Admitted()
        peer.end_streams()
        await it.node.wait_for(lambda now: _resource(now).endpoint == "stopped")
        await it.clock.advance(301)
        await it.node.status_round()
        assert _resource(it.node.status()).endpoint == "none"
        with pytest.raises(Exception, match=r"endpoint not found in cache for a registered resource: example\.com/dev"):
            await it.node.prepare("one", "main")

    on_bench(body, runs_containers=False, has_status_rounds=False)


def test_the_pod_worker_waits_with_the_kubelets_reason(on_bench: RunOnBench) -> None:
    """A container whose preparation fails is waiting with CreateContainerConfigError, and runs after the next try.

    Rules: DM-104
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        net = await it.plugin(device("x"), socket_name="q.sock", resource="example.com/net")

        async def five_minutes(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            peer.end_streams()
            await it.node.wait_for(lambda now: _resource(now).endpoint == "stopped")
            await it.clock.advance(301)
            await it.node.status_round()
            return AllocateAnswer((ContainerResponse(),))

        net.allocate = five_minutes
        await it.node.apply([pod("one", other="example.com/net")])
        waiting = await it.node.wait_for(lambda now: bool(now.pods[0].containers[0].message))
        (container,) = waiting.pods[0].containers
        assert (container.state, container.reason) == ("waiting", "CreateContainerConfigError")
        assert container.message == "endpoint not found in cache for a registered resource: example.com/dev"
        assert waiting.pods[0].phase == "Pending"
        await it.plugin(device("a"))
        await it.node.advance(10)
        await it.node.wait_for(_phase("one", "Running"))

    on_bench(body)


def test_apply_takes_all_pods_or_none(on_bench: RunOnBench) -> None:
    """A name that is taken refuses the whole lot."""

    async def body(it: Bench) -> None:
        await it.node.apply([pod("one")])
        with pytest.raises(UsageError, match="pod default/one already exists"):
            await it.node.apply([pod("two"), pod("one")])
        assert [view.name for view in it.node.status().pods] == ["one"]

    on_bench(body)


def test_devices_of_a_deleted_pod_stay_in_use(on_bench: RunOnBench) -> None:
    """Nothing is freed when a pod goes, only when the next one asks.

    Rules: DM-115, DM-116
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        assert await it.node.admit(pod("one")) == Admitted()
        await it.node.remove("one")
        assert _resource(it.node.status()).allocated == 1
        assert [view.pod for view in it.node.status().allocations] == ["one"]
        assert await it.node.admit(pod("two")) == Admitted()
        assert [view.pod for view in it.node.status().allocations] == ["default/two"]

    on_bench(body)


def test_a_pod_that_is_deleted_is_not_tried_again(on_bench: RunOnBench) -> None:
    """Its worker ends with it: nothing of it is created later. Rules: DM-104"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        assert await it.node.admit(pod("one")) == Admitted()
        await it.node.wait_for(_phase("one", "Running"))
        await it.node.remove("one")
        peer.end_streams()
        before = len(it.texts())
        await it.node.advance(60)
        assert not any("container main" in text for text in it.texts()[before:])
        assert it.node.status().pods == ()

    on_bench(body)


def test_a_hung_allocate_does_not_keep_the_node_from_stopping(short_root: Path) -> None:
    """The walk is closed, and whoever waits for the verdict is told that the kubelet is gone."""

    async def whole() -> None:
        async with bench(short_root) as it:
            peer = await it.plugin(device("a"))

            async def never(_: tuple[DeviceID, ...]) -> AllocateAnswer:
                await asyncio.Event().wait()
                raise AssertionError

            peer.allocate = never
            verdict = asyncio.create_task(it.node.admit(pod("one")))
            await it.node.wait_for(lambda _: bool(peer.allocated))
        with pytest.raises(KubeletGone):
            await soon(verdict)
        others = asyncio.all_tasks() - {asyncio.current_task(), waiting}
        assert others == set()

    waiting: asyncio.Task[None] | None = None

    async def within_time() -> None:
        nonlocal waiting
        waiting = asyncio.current_task()
        await asyncio.wait_for(whole(), PATIENCE_S)

    asyncio.run(within_time())


def test_a_restart_in_the_middle_of_an_allocate(on_bench: RunOnBench) -> None:
    """A late answer reaches nobody: the pod is admitted anew by the new kubelet, which knows nothing of the call.

    Rules: DM-16, DM-108
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        asked = asyncio.Event()

        async def never(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        peer.allocate = never
        await it.node.apply([pod("one")])
        await soon(asked.wait())
        await soon(it.node.restart())
        snapshot = await it.node.wait_for(_phase("one", "Failed"))
        assert snapshot.allocations == ()

    on_bench(body)


def test_a_start_that_fails_leaves_nothing_behind(short_root: Path) -> None:
    """A file in the place of the socket ends the start with the kubelet's words; the root can be used again.

    Rules: DM-9
    """

    async def whole() -> None:
        async with bench(short_root) as it:
            socket = it.node.root.layout.registration_socket
        socket.write_text("in the way")
        with pytest.raises(TransportError, match=r"listen unix .*kubelet\.sock: bind: address already in use"):
            async with bench(short_root):
                raise AssertionError
        assert socket.read_text() == "in the way"
        socket.unlink()
        async with bench(short_root) as it:
            assert it.node.status().incarnation == 1

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_a_stopped_node_leaves_no_socket(short_root: Path) -> None:
    """After a stop only regular files of ours are there. Rules: DM-14"""

    async def whole() -> Node:
        async with bench(short_root) as it:
            assert it.node.root.layout.registration_socket.is_socket()
        return it.node

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))
    assert [path for path in short_root.rglob("*") if path.is_socket()] == []


def test_time_cannot_be_moved_on_the_real_clock(short_root: Path) -> None:
    """The error says what to do."""

    async def whole() -> None:
        node = Node(NodeConfig(root=short_root))
        with pytest.raises(UsageError, match="manual clock"):
            await node.advance(1)

    asyncio.run(whole())


def test_the_socket_is_there_before_any_pod_is_admitted(on_bench: RunOnBench) -> None:
    """After a restart, too: runtime, checkpoint, cleaning and socket come first, in this order.

    Rules: DM-5, DM-6
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        assert await it.node.admit(pod("one")) == Admitted()
        await it.node.wait_for(_phase("one", "Running"))
        before = len(it.texts())
        await soon(it.node.restart())
        beginnings = ("the runtime reports", "checkpoint: 1", "directory cleaned", "listening on", "admitted")
        seen = [text for text in it.texts()[before:] if text.startswith(beginnings)]
        assert [next(b for b in beginnings if text.startswith(b)) for text in seen] == list(beginnings)

    on_bench(body)


def test_a_pod_that_has_failed_is_not_admitted_again(on_bench: RunOnBench) -> None:
    """A restart leaves terminal pods alone, though there would be devices for them now. Rules: DM-73"""

    async def body(it: Bench) -> None:
        assert await it.node.admit(pod("early")) == Admitted()
        await it.plugin(device("a"))
        assert isinstance(await it.node.admit(pod("big", 2)), Rejected)
        before = it.node.status().pods
        await soon(it.node.restart())
        assert [view for view in it.node.status().pods if view.name == "big"] == [v for v in before if v.name == "big"]

    on_bench(body)


def test_records_of_pods_that_are_gone_go_when_the_sources_are_ready(on_bench: RunOnBench) -> None:
    """A pod deleted while the kubelet was down keeps its devices until somebody asks for some. Rules: DM-118, CP-17"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        assert await it.node.admit(pod("one")) == Admitted()
        await it.node.kill()
        kubelet = await it.node.boot(frozenset(), ())
        await it.plugin(device("a"))
        await kubelet.reclaim()
        assert _resource(it.node.status()).allocated == 1
        await kubelet.sources_ready(ready=True)
        await kubelet.reclaim()
        assert _resource(it.node.status()).allocated == 0

    on_bench(body, runs_containers=False)


def test_a_lost_socket_file_does_not_touch_connected_plugins(on_bench: RunOnBench) -> None:
    """Nobody watches `kubelet.sock`: a plugin that is connected goes on, the file does not come back before a restart.

    Rules: DM-12, DM-13
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        socket = it.node.root.layout.registration_socket
        socket.unlink()
        await soon(peer.send(device("a"), device("b")))
        assert await it.node.admit(pod("one", 2)) == Admitted()
        assert not socket.exists()
        await soon(it.node.restart())
        assert socket.is_socket()

    on_bench(body)


def test_an_older_stream_ends_while_the_newer_plugin_is_dialled(on_bench: RunOnBench) -> None:
    """There is no connection to close yet: the dial goes on, and the registration succeeds. Rules: DM-33, DM-38"""

    async def body(it: Bench) -> None:
        older = await it.plugin(device("a"))
        call = asyncio.create_task(it.node.kubelet.register(registration("late.sock")))
        await it.node.wait_for(lambda now: len(now.plugins) == 2)
        older.end_streams()
        await it.node.wait_for(lambda now: _resource(now).endpoint == "stopped")
        it.calls.peer("late.sock")
        await soon(call)
        assert _resource(it.node.status()).endpoint == "live"

    on_bench(body)


def test_the_affinity_of_a_deleted_pod_is_forgotten(on_bench: RunOnBench) -> None:
    """Its containers are removed from the runtime, and with them the stored hints. Rules: TM-46"""

    async def body(it: Bench) -> None:
        assert await it.node.admit(pod("one")) == Admitted()
        affinities = it.node.kubelet.state.affinities
        uid, name = PodUID("one"), ContainerName("main")
        assert affinities.of(uid, name).is_preferred
        await it.node.remove("one")
        assert affinities.of(uid, name) == Hint()

    numa = (NumaNodeInfo(0), NumaNodeInfo(1))
    on_bench(body, topology=TopologySettings("best-effort"), numa=numa, runs_containers=False)


def test_settings_that_a_kubelet_refuses_end_the_start(short_root: Path) -> None:
    """The node says it in the kubelet's words, and leaves the root free. Rules: TM-12"""

    async def whole() -> None:
        numa = tuple(NumaNodeInfo(node) for node in range(9))
        with pytest.raises(UsageError, match="unsupported on machines with more than 8 NUMA Nodes"):
            async with bench(short_root, topology=TopologySettings("restricted"), numa=numa):
                raise AssertionError
        async with bench(short_root) as it:
            assert it.node.status().sources_ready

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_pre_start_has_a_deadline_of_the_clock(on_bench: RunOnBench) -> None:
    """A plugin that does not answer PreStartContainer fails the container after 30 s, and the next try succeeds.

    Rules: DM-41, DM-103, DM-104
    """

    async def body(it: Bench) -> None:
        peer = it.calls.peer("p.sock")
        asked, hangs = asyncio.Event(), True

        async def wants_pre_start() -> PluginOptions:
            return PluginOptions(pre_start_required=True)

        async def start(_: tuple[DeviceID, ...]) -> None:
            asked.set()
            if hangs:
                await asyncio.Event().wait()

        peer.options, peer.pre_start = wants_pre_start, start
        await it.plugin(device("a"))
        await it.node.apply([pod("one")])
        await soon(asked.wait())
        await it.node.advance(31)
        waiting = await it.node.wait_for(lambda now: bool(now.pods[0].containers[0].message))
        assert waiting.pods[0].containers[0].message == (
            "device plugin PreStartContainer rpc failed with err: "
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
        )
        hangs = False
        await it.node.advance(10)
        await it.node.wait_for(_phase("one", "Running"))

    on_bench(body)


def test_a_late_allocation_waits_for_an_admission(on_bench: RunOnBench) -> None:
    """They take turns, and the transcript says that a kubelet might have crashed. Rules: DM-86, DM-106"""

    async def body(it: Bench) -> None:
        assert await it.node.admit(pod("early")) == Admitted()
        peer = await it.plugin(device("a"), device("b"))
        await it.node.status_round()
        asked, answers = asyncio.Event(), asyncio.Event()

        async def slow(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            asked.set()
            await answers.wait()
            return AllocateAnswer((ContainerResponse(),))

        peer.allocate = slow
        admission = asyncio.create_task(it.node.admit(pod("other")))
        await soon(asked.wait())
        late = asyncio.create_task(it.node.prepare("early", "main"))
        await it.node.wait_for(lambda _: "a late allocation waits for its turn" in it.texts())
        assert len(peer.allocated) == 1
        answers.set()
        assert await soon(admission) == Admitted()
        assert await soon(late) == ContainerSpec()
        assert sorted(peer.allocated) == [("a",), ("b",)]
        assert any("a kubelet of this version may crash here" in text for text in it.texts())

    on_bench(body, runs_containers=False)


def test_of_a_bare_status_only_the_description_is_shown(on_bench: RunOnBench) -> None:
    """When Allocate fails as a container is created, its waiting message leaves the code out. Rules: DM-104, DM-106"""

    async def body(it: Bench) -> None:
        gate = asyncio.Event()
        net = it.calls.peer("q.sock")

        async def wait(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            await gate.wait()
            return AllocateAnswer((ContainerResponse(),))

        net.allocate = wait
        await it.plugin(device("x"), socket_name="q.sock", resource="example.com/net")
        await it.node.apply([pod("one", other="example.com/net")])
        await it.node.wait_for(lambda _: bool(net.allocated))
        peer = await it.plugin(device("a"))

        async def refuse(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            raise RpcFailed("InvalidArgument", "bad device")

        peer.allocate = refuse
        gate.set()
        waiting = await it.node.wait_for(lambda now: bool(now.pods[0].containers[0].message))
        assert waiting.pods[0].containers[0].message == "bad device"

    on_bench(body)


def test_a_deep_folder_for_temporary_files_does_no_harm(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets are bound through a short path, wherever `TMPDIR` leads."""
    deep = short_root / ("x" * 90)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", None)

    async def whole() -> None:
        async with bench(short_root / "r", has_control_socket=True) as it:
            assert it.node.root.layout.registration_socket.is_socket()
            assert it.node.root.layout.control_socket.is_socket()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_an_orphan_does_not_take_its_successors_sockets_along(short_root: Path) -> None:
    """A node whose root was removed under it leaves the sockets of the next node in the same place alone."""
    root = short_root / "r"

    async def whole() -> None:
        orphan = bench(root, has_control_socket=True)
        await orphan.__aenter__()
        shutil.rmtree(root)
        async with bench(root, has_control_socket=True):
            sockets = {path for path in root.rglob("*") if path.is_socket()}
            assert len(sockets) == 4
            await orphan.__aexit__(None, None, None)
            assert {path for path in root.rglob("*") if path.is_socket()} == sockets

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_a_pod_that_runs_without_a_device_says_so(on_bench: RunOnBench) -> None:
    """What nobody has listed is missing from a running pod; a resource that it got is not, and neither is one of 0.

    Rules: DM-81
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.apply([pod("whole", 1), pod("odd", 0, other="example.com/typo")])
        await it.node.wait_for(_phase("odd", "Running"))
        await it.node.wait_for(_phase("whole", "Running"))
        assert {view.name: view.missing for view in it.node.status().pods} == {
            "odd": ("example.com/typo",),
            "whole": (),
        }

    on_bench(body)


def test_of_many_pods_ten_are_named(on_bench: RunOnBench) -> None:
    """An error about a name that there is not stays one line to read."""

    async def body(it: Bench) -> None:
        await it.node.apply([pod(f"p{number:02}", 0) for number in range(12)])
        with pytest.raises(UsageError) as caught:
            it.node.container_spec("x")
        assert str(caught.value).endswith("default/p08, default/p09, … and 2 more")

    on_bench(body)


def test_without_a_kubelet_nobody_says_what_a_pod_lacks() -> None:
    """The books are with the kubelet: a running pod is shown as it was, and its devices as safe."""
    from kubelet_sim.model.views import PodView
    from kubelet_sim.node.node_views import _pods

    views = (
        PodView("a", "default", "a", "Running", is_active=False, missing=("example.com/dev",)),
        PodView("b", "default", "b", "Failed", is_active=False),
    )
    assert _pods(views, has_books=True) == views
    assert [(view.missing, view.is_active) for view in _pods(views, has_books=False)] == [((), True), ((), False)]
