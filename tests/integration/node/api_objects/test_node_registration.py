"""The Node of the API, as a kubelet registers it and tells its status."""

from __future__ import annotations

from kubelet_sim.model.ids import ResourceName
from kubelet_sim.node.api_objects.api_server import NODES, Object
from kubelet_sim.node.api_objects.node_registration import REPORT_PERIOD_S
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod


def node(it: Bench, name: str = "kubelet-sim") -> Object:
    """The Node as the API server has it."""
    found = it.node.api_objects.find(NODES, name)
    assert found is not None
    return found


def test_a_node_is_registered_with_its_status(on_bench: RunOnBench) -> None:
    """Labels, amounts in canonical form, the release, a name as its address, four conditions."""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"), device("b", healthy=False))
        await it.node.status_round()
        shown = node(it)
        assert shown["metadata"]["labels"]["kubernetes.io/hostname"] == "kubelet-sim"
        assert shown["metadata"]["labels"].keys() >= {"kubernetes.io/os", "kubernetes.io/arch"}
        status = shown["status"]
        assert (status["capacity"][RESOURCE], status["allocatable"][RESOURCE]) == ("2", "1")
        assert (status["capacity"]["cpu"], status["capacity"]["memory"]) == ("64", "256Gi")
        assert status["nodeInfo"]["kubeletVersion"] == "v1.36.2"
        assert status["addresses"] == [{"type": "Hostname", "address": "kubelet-sim"}]
        assert [(each["type"], each["status"]) for each in status["conditions"]] == [
            ("MemoryPressure", "False"),
            ("DiskPressure", "False"),
            ("PIDPressure", "False"),
            ("Ready", "True"),
        ]

    on_bench(body)


def test_a_quiet_node_is_told_of_every_five_minutes(on_bench: RunOnBench) -> None:
    """Then its heartbeat is new, and what became of it before is as old as it was."""

    async def body(it: Bench) -> None:
        version = node(it)["metadata"]["resourceVersion"]
        await it.node.advance(REPORT_PERIOD_S - 20)
        assert node(it)["metadata"]["resourceVersion"] == version
        await it.node.advance(40)
        ready = node(it)["status"]["conditions"][-1]
        assert ready["lastHeartbeatTime"] > ready["lastTransitionTime"] == "2026-01-01T00:00:00Z"

    on_bench(body)


def test_a_kubelet_goes_on_from_what_the_server_has(on_bench: RunOnBench) -> None:
    """An extended resource that somebody wrote into the Node is there for the next process. Rules: DM-64"""

    async def body(it: Bench) -> None:
        await it.node.api_objects.patch(
            NODES, "kubelet-sim", "", {"status": {"capacity": {"example.com/by-hand": "3"}}}
        )
        await it.node.restart()
        status = node(it)["status"]
        assert status["capacity"]["example.com/by-hand"] == status["allocatable"]["example.com/by-hand"] == "3"
        assert dict(it.node.status().capacity)["memory"] == "256Gi"

    on_bench(body)


def test_a_reboot_is_another_boot(on_bench: RunOnBench) -> None:
    """The boot id is new, the machine the same, and nobody else's resources are forgotten."""

    async def body(it: Bench) -> None:
        before = node(it)["status"]["nodeInfo"]
        await it.node.reboot()
        after = node(it)["status"]["nodeInfo"]
        assert before["bootID"] != after["bootID"]
        assert before["machineID"] == after["machineID"]

    on_bench(body)


def test_the_name_of_a_node_is_a_choice(on_bench: RunOnBench) -> None:
    """It is the Node's, that of its address and events, and the one that pods are bound to."""

    async def body(it: Bench) -> None:
        await it.node.admit(pod("p"))
        assert node(it, "a.b-1")["status"]["addresses"][0]["address"] == "a.b-1"
        assert it.node.events()[0].object == "node/a.b-1"
        assert ResourceName(RESOURCE) not in node(it, "a.b-1")["status"]["capacity"]

    on_bench(body, node_name="a.b-1")
