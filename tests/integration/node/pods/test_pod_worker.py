"""Containers of a node from their start to their end, on a manual clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.life import Deletion
from kubelet_sim.model.plugin import PluginOptions
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.views import ContainerView, NodeSnapshot, PodView
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod, soon
from tests.unit.node.example_pods import manifest_pod

DEVICE = {RESOURCE: 1}


def view(it: Bench, name: str = "p") -> PodView:
    """The pod of that name."""
    return next(each for each in it.node.status().pods if each.name == name)


def main(it: Bench, name: str = "p") -> ContainerView:
    """Its last container."""
    return view(it, name).containers[-1]


def is_in(name: str, phase: str) -> Callable[[NodeSnapshot], bool]:
    """Whether that pod is in that phase."""
    return lambda now: any(each.name == name and each.phase == phase for each in now.pods)


async def running(it: Bench, *pods: Pod) -> None:
    """Have these pods on the node, admitted, and all that can run of them running."""
    for each in pods:
        assert await it.node.admit(each) == Admitted()
    for each in pods:
        await it.node.wait_for(is_in(each.name, "Running"))


async def ends(it: Bench, code: int, container: str = "main", name: str = "p") -> None:
    """A container ends, and the kubelet has done what it does about it at once."""
    it.node.exit_container(name, container, code=code)
    await it.node.advance(0)


def test_a_container_restarts_without_another_allocate(on_bench: RunOnBench) -> None:
    """At once the first time; PreStartContainer is called again, with the devices it had, and nothing else.

    Rules: DM-103, DM-107
    """

    async def body(it: Bench) -> None:
        peer = it.calls.peer("p.sock")
        prepared: list[tuple[DeviceID, ...]] = []

        async def wants_pre_start() -> PluginOptions:
            return PluginOptions(pre_start_required=True)

        async def pre_start(ids: tuple[DeviceID, ...]) -> None:
            prepared.append(ids)

        peer.options, peer.pre_start = wants_pre_start, pre_start
        await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        first = main(it).id
        await ends(it, 1)
        assert (main(it).state, main(it).restart_count, main(it).last_exit_code) == ("running", 1, 1)
        assert main(it).id != first
        assert (peer.allocated, prepared) == ([("a",)], [("a",), ("a",)])

    on_bench(body)


def test_a_container_that_crashes_again_and_again_waits_longer_each_time(on_bench: RunOnBench) -> None:
    """0 s, 10 s, 20 s, 40 s; meanwhile it waits in CrashLoopBackOff, and its pod counts as running."""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod())
        for restarts, wait_s in enumerate((0, 10, 20, 40), start=1):
            await ends(it, 1)
            if wait_s:
                waiting = main(it)
                assert (waiting.state, waiting.reason) == ("waiting", "CrashLoopBackOff")
                assert waiting.message == f"back-off {wait_s}s restarting failed container=main pod=p_default(p)"
                await it.node.advance(wait_s - 0.1)
                assert (main(it).state, view(it).phase) == ("waiting", "Running")
                await it.node.advance(0.1)
            assert (main(it).state, main(it).restart_count) == ("running", restarts)
        assert [event.reason for event in it.node.events()].count("BackOff") == 1

    on_bench(body)


def test_ten_minutes_of_running_end_a_crash_loop(on_bench: RunOnBench) -> None:
    """The next crash is as the first one; so is one after a restart of the kubelet, which remembers nothing."""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod())
        await ends(it, 1)
        await it.node.advance(601)
        await ends(it, 1)
        assert main(it).state == "running"
        await ends(it, 1)
        assert main(it).reason == "CrashLoopBackOff"
        await soon(it.node.restart())
        await it.node.advance(0)
        assert (main(it).state, main(it).restart_count) == ("running", 3)

    on_bench(body)


@pytest.mark.parametrize(
    "policy, code, phase, reason",
    [
        ("Never", 0, "Succeeded", "Completed"),
        ("Never", 1, "Failed", "Error"),
        ("OnFailure", 0, "Succeeded", "Completed"),
    ],
)
def test_a_pod_that_is_over_gives_its_devices_back(
    on_bench: RunOnBench, policy: str, code: int, phase: str, reason: str
) -> None:
    """It is not active any more: the next pod that asks for devices gets them, and no restart admits it again.

    Rules: DM-73, DM-115, DM-116
    """

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(policy=policy, limits=DEVICE))
        await ends(it, code)
        assert (view(it).phase, view(it).is_active) == (phase, False)
        assert (main(it).state, main(it).reason, main(it).exit_code) == ("exited", reason, code)
        assert len(it.node.status().allocations) == 1
        before = view(it)
        await running(it, pod("two"))
        assert [each.pod for each in it.node.status().allocations] == ["default/two"]
        await soon(it.node.restart())
        assert view(it) == before

    on_bench(body)


def test_a_failed_container_starts_again_on_failure(on_bench: RunOnBench) -> None:
    """`OnFailure` restarts what has failed. Rules: DM-107"""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod(policy="OnFailure"))
        await ends(it, 1)
        assert (main(it).state, view(it).phase) == ("running", "Running")

    on_bench(body)


def test_a_sidecar_goes_with_the_last_container(on_bench: RunOnBench) -> None:
    """It restarts whatever the policy says, runs beside the others, and is stopped when nothing else is to run."""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod(sidecars=["s"], init=["i"], policy="Never"))
        await ends(it, 1, container="s")
        assert [each.state for each in view(it).containers] == ["running", "exited", "running"]
        assert view(it).containers[0].restart_count == 1
        await ends(it, 0)
        assert view(it).phase == "Succeeded"
        assert [each.state for each in view(it).containers] == ["exited", "exited", "exited"]

    on_bench(body)


def test_an_init_container_holds_up_the_others(on_bench: RunOnBench) -> None:
    """One that ends with an error is started again, ever later; the pod is pending until it has ended well."""

    async def body(it: Bench) -> None:
        assert await it.node.admit(manifest_pod(init=["i"], annotations={"exit.kubelet-sim/i": "never"})) == Admitted()
        await it.node.advance(0)
        assert [(each.state, each.reason) for each in view(it).containers] == [
            ("running", ""),
            ("waiting", "PodInitializing"),
        ]
        await ends(it, 1, container="i")
        await ends(it, 1, container="i")
        assert (view(it).phase, view(it).containers[0].reason) == ("Pending", "CrashLoopBackOff")
        await it.node.advance(10)
        await ends(it, 0, container="i")
        assert (view(it).phase, main(it).state) == ("Running", "running")

    on_bench(body)


def test_a_failed_init_container_fails_a_pod_that_is_never_restarted(on_bench: RunOnBench) -> None:
    """The app containers never begin."""

    async def body(it: Bench) -> None:
        broken = manifest_pod(init=["i"], policy="Never", annotations={"exit.kubelet-sim/i": "4"})
        assert await it.node.admit(broken) == Admitted()
        await it.node.wait_for(is_in("p", "Failed"))
        assert [(each.state, each.exit_code) for each in view(it).containers] == [("exited", 4), ("waiting", None)]

    on_bench(body)


def test_a_container_ends_at_its_time(on_bench: RunOnBench) -> None:
    """On the node's clock, with a kubelet or without."""

    async def body(it: Bench) -> None:
        job = manifest_pod(policy="Never", annotations={"exit.kubelet-sim/main": "0 after 90s"})
        await running(it, job)
        await it.node.advance(89)
        assert view(it).phase == "Running"
        await it.node.crash()
        await it.node.advance(1)
        assert (main(it).state, view(it).phase) == ("exited", "Running")
        await soon(it.node.start_kubelet())
        await it.node.wait_for(is_in("p", "Succeeded"))

    on_bench(body)


def test_a_pod_stuck_on_its_image(on_bench: RunOnBench) -> None:
    """It has its devices, and their health is in its status; the container is never created, and the plugin not asked.

    Rules: DM-103, DM-155
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        containers = [{"name": "main", "image": "registry.invalid/x", "resources": {"limits": DEVICE}}]
        assert await it.node.admit(manifest_pod(containers=containers)) == Admitted()
        await it.node.advance(0)
        assert (view(it).phase, main(it).state, main(it).reason) == ("Pending", "waiting", "ErrImagePull")
        await it.node.advance(20)
        assert (main(it).reason, main(it).message) == (
            "ImagePullBackOff",
            'Back-off pulling image "registry.invalid/x"',
        )
        await peer.send(device("a", healthy=False))
        (status,) = it.node.pod("p")["status"]["containerStatuses"]
        (resource,) = status["allocatedResourcesStatus"]
        assert resource["resources"] == [{"resourceID": "a", "health": "Unhealthy"}]
        with pytest.raises(UsageError, match="has not been created: Back-off pulling"):
            it.node.container_spec("p")
        assert not any("PreStartContainer" in text for text in it.texts())

    on_bench(body)


@pytest.mark.parametrize(
    "name, container, code, said",
    [
        ("q", None, 0, "there is no pod default/q"),
        ("p", "x", 0, "has no container x"),
        ("p", None, 0, "several containers"),
        ("p", "main", 256, "256 is no exit code"),
        ("p", "i", 0, r"container i of pod default/p does not run: it is exited \(Completed\)"),
    ],
)
def test_what_cannot_end(on_bench: RunOnBench, name: str, container: str | None, code: int, said: str) -> None:
    """The error says what there is instead."""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod("main", "other", init=["i"]))
        with pytest.raises(UsageError, match=said):
            it.node.exit_container(name, container, code=code)

    on_bench(body)


def test_a_manifest_that_makes_no_sense_is_refused_as_a_whole(on_bench: RunOnBench) -> None:
    """None of the pods that came with it is there."""

    async def body(it: Bench) -> None:
        with pytest.raises(UsageError, match=r"exit\.kubelet-sim/main"):
            await it.node.apply([pod("one"), manifest_pod(annotations={"exit.kubelet-sim/main": "x"})])
        assert it.node.status().pods == ()

    on_bench(body)


# --- deletion

SLOW = {"stop.kubelet-sim/main": "20s"}


def test_devices_stay_until_the_containers_have_stopped(on_bench: RunOnBench) -> None:
    """A pod that is being deleted is active as long as anything of it runs. Rules: DM-116"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(annotations=SLOW, limits=DEVICE))
        await it.node.remove("p", how=Deletion(waits=False))
        await it.node.advance(19)
        assert (view(it).is_deleting, view(it).is_active, main(it).state) == (True, True, "running")
        assert it.node.pod("p")["metadata"]["deletionGracePeriodSeconds"] == 30
        refused = await it.node.admit(pod("two"))
        assert isinstance(refused, Rejected)
        await it.node.advance(1)
        assert [each.name for each in it.node.status().pods] == ["two"]
        assert await it.node.admit(pod("three")) == Admitted()

    on_bench(body)


@pytest.mark.parametrize("grace_s, gone_after_s, code", [(None, 20, 0), (5.0, 5, 137), (1.0, 1, 137)])
def test_the_grace_period_ends_what_does_not_stop(
    on_bench: RunOnBench, grace_s: float | None, gone_after_s: float, code: int
) -> None:
    """A container is killed at its end, with 137; one that stops in time has ended well."""

    async def body(it: Bench) -> None:
        await running(it, manifest_pod("main", "quick", annotations=SLOW))
        removal = it.node.remove("p", how=Deletion(grace_s=grace_s, waits=False))
        await soon(removal)
        await it.node.advance(0)
        assert [each.state for each in view(it).containers] == ["running", "exited"]
        ended: list[str] = []
        it.node.transcript.listen(lambda record: ended.append(record.text))
        await it.node.advance(gone_after_s)
        assert it.node.status().pods == ()
        assert any("killed" in text for text in ended) == (code == 137)

    on_bench(body)


def test_a_forced_deletion_forgets_the_pod_at_once(on_bench: RunOnBench) -> None:
    """Its devices can be given away although its container is still stopping. Rules: DM-116"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        slow = manifest_pod(annotations=SLOW, limits=DEVICE)
        await running(it, slow)
        await it.node.remove("p", how=Deletion(is_forced=True))
        assert it.node.status().pods == ()
        assert await it.node.admit(pod("two")) == Admitted()
        # Its successor of the same name and uid begins when all of it has stopped.
        await it.node.apply([manifest_pod()])
        await it.node.advance(19)
        assert view(it).phase == "Pending"
        await it.node.advance(1)
        assert (main(it).state, main(it).restart_count) == ("running", 0)

    on_bench(body)


def test_a_deletion_without_a_kubelet(on_bench: RunOnBench) -> None:
    """The pod is gone at once; the next kubelet kills its containers, and its devices are free at the first reclaim.

    Rules: DM-111, DM-118
    """

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        await running(it, manifest_pod(limits=DEVICE))
        await it.node.crash()
        await it.node.remove("p")
        assert it.node.status().pods == ()
        await soon(it.node.start_kubelet())
        assert any("its containers are killed" in text for text in it.texts())
        assert [each.pod for each in it.node.status().allocations] == ["p"]
        await it.plugin(device("a"))
        await it.node.status_round()
        assert await it.node.admit(pod("two")) == Admitted()
        assert [each.pod for each in it.node.status().allocations] == ["default/two"]
        assert peer.allocated == [("a",), ("a",)]

    on_bench(body)


def test_a_deletion_goes_on_after_a_restart(on_bench: RunOnBench) -> None:
    """The next kubelet does not admit such a pod, and stops what is left of it. Rules: DM-73, DM-116"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await running(it, manifest_pod(annotations=SLOW, limits=DEVICE))
        await it.node.remove("p", how=Deletion(waits=False))
        await it.node.advance(5)
        await soon(it.node.restart())
        assert (view(it).is_deleting, view(it).is_active, view(it).phase) == (True, True, "Running")
        await it.node.advance(20)
        assert it.node.status().pods == ()

    on_bench(body)
