"""What a node shows of its kubelet over HTTP, seen with the standard library and read with the official parser."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from contextlib import aclosing
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from attrs import evolve
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from kubelet_sim.core.topology.settings import TopologySettings
from kubelet_sim.errors import RegistrationRefused, RpcFailed, TransportError, UsageError
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.node import DEFAULT_MACHINE
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.clock import settle
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.profiles import V1_36
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod, soon
from tests.patience import PATIENCE_S

HTTP = {"http_address": "127.0.0.1:0"}
Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def _get(node: Node, path: str, accept: str = "") -> tuple[int, str, str]:
    """Status, content type and text."""

    def look() -> tuple[int, str, str]:
        try:
            with urlopen(Request(f"{node.http_url}{path}", headers={"Accept": accept}), timeout=PATIENCE_S) as answer:  # noqa: S310
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.headers["Content-Type"], error.read().decode()

    return await soon(asyncio.to_thread(look))


async def _values(node: Node) -> Values:
    """Every sample by name and labels."""
    _, _, text = await _get(node, "/metrics")
    families = text_string_to_metric_families(text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value for each in families for sample in each.samples
    }


def _value(values: Values, name: str, **labels: str) -> float | None:
    return values.get((name, frozenset(labels.items())))


def test_registrations_are_counted(on_bench: RunOnBench) -> None:
    """Refused ones, too, by the name as it was sent. Rules: DM-21, DM-161"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        for name in ("no-domain", 'odd"\\\n'):
            with pytest.raises(RegistrationRefused):
                await it.node.kubelet.register(Registration("v1beta1", "p.sock", ResourceName(name)))
        values = await _values(it.node)
        for name in (RESOURCE, "no-domain", 'odd"\\\n'):
            assert _value(values, "kubelet_device_plugin_registration_total", resource_name=name) == 1

    on_bench(body, **HTTP)


def test_allocate_calls_are_measured(on_bench: RunOnBench) -> None:
    """On the node's clock, failed ones included; the admission is measured from its turn on. Rules: DM-161, TM-50"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))

        async def slow(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            await it.clock.sleep(0.3)
            raise RpcFailed("Unknown", "boom")

        peer.allocate = slow
        first, second = (asyncio.ensure_future(it.node.admit(pod(name))) for name in ("one", "two"))
        await it.node.advance(0.6)
        await soon(asyncio.gather(first, second))
        values = await _values(it.node)
        name = "kubelet_device_plugin_alloc_duration_seconds"
        assert _value(values, f"{name}_count", resource_name=RESOURCE) == 2
        assert _value(values, f"{name}_sum", resource_name=RESOURCE) == pytest.approx(0.6)
        assert _value(values, f"{name}_bucket", resource_name=RESOURCE, le="0.25") == 0
        assert _value(values, f"{name}_bucket", resource_name=RESOURCE, le="0.5") == 2
        name = "kubelet_topology_manager_admission"
        assert _value(values, f"{name}_duration_ms_bucket", le="204.8") == 0
        assert _value(values, f"{name}_duration_ms_bucket", le="409.6") == 2
        assert _value(values, f"{name}_requests_total") == 2
        assert _value(values, f"{name}_errors_total") == 0
        assert _value(values, "kubelet_admission_rejections_total", reason="UnexpectedAdmissionError") == 2

    on_bench(body, **HTTP)


def test_a_resource_that_lacks_has_a_common_name(on_bench: RunOnBench) -> None:
    """Before 1.32 there is no such counter. Rules: DM-161, DM-175"""

    async def body(it: Bench) -> None:
        for name in ("one", "two", "three"):
            await it.node.admit(pod(name, 0, other="example.com/fixed"))
        values = await _values(it.node)
        counted = _value(values, "kubelet_admission_rejections_total", reason="OutOfExtendedResources")
        assert counted == (2 if it.node.config.profile.counts_rejections else None)

    machine = {**DEFAULT_MACHINE, "example.com/fixed": Quantity.of(1)}
    on_bench(body, **HTTP, machine=machine)
    on_bench(body, **HTTP, machine=machine, profile=evolve(V1_36, counts_rejections=False))


def test_containers_that_cannot_be_created_are_counted(on_bench: RunOnBench) -> None:
    """By kind of container, at every try. Rules: DM-104, DM-161"""

    async def body(it: Bench) -> None:
        peer = it.calls.peer("p.sock")

        async def options() -> PluginOptions:
            return PluginOptions(pre_start_required=True)

        async def refuse(_: tuple[DeviceID, ...]) -> None:
            raise RpcFailed("Unknown", "boom")

        peer.options, peer.pre_start = options, refuse
        await it.plugin(device("a"))
        await it.node.admit(pod("one", 1, init_count=1))
        await it.node.advance(10)
        labels = {"container_type": "init_container", "code": "CreateContainerConfigError"}
        assert _value(await _values(it.node), "kubelet_started_containers_errors_total", **labels) == 2

    on_bench(body, **HTTP)


def test_counters_of_others_are_shown(on_bench: RunOnBench) -> None:
    """Those of the pod resources API, and what the watcher has. Rules: DM-161, PR-32"""

    async def body(it: Bench) -> None:
        observed = it.node.kubelet.observed
        for name in ("requests_total", "requests_list", "requests_get", "requests_get_allocatable", "errors_get"):
            observed.count_pod_resources(f"pod_resources_endpoint_{name}", "v1")
        observed.watched_plugins = lambda: {("/p/a.sock", "actual_state_of_world"): 1}
        values = await _values(it.node)
        for name in ("requests_total", "requests_list", "requests_get", "requests_get_allocatable", "errors_get"):
            assert _value(values, f"kubelet_pod_resources_endpoint_{name}", server_api_version="v1") == 1
        labels = {"socket_path": "/p/a.sock", "state": "actual_state_of_world"}
        assert _value(values, "plugin_manager_total_plugins", **labels) == 1

    on_bench(body, **HTTP)


def test_plugins_of_the_watcher_are_shown(on_bench: RunOnBench) -> None:
    """From the moment on when their socket is there, registered or not. Rules: DM-161"""

    async def body(it: Bench) -> None:
        with socket.socket(socket.AF_UNIX) as plugin:
            plugin.bind(str(it.node.root.layout.plugins_registry / "p.sock"))

            async def until_seen() -> None:
                async with aclosing(it.node.changes()) as changes:
                    async for _ in changes:
                        if any("p.sock is there" in text for text in it.texts()):
                            return

            await soon(until_seen())
            values = await _values(it.node)
        (labels,) = [dict(labels) for name, labels in values if name == "plugin_manager_total_plugins"]
        assert labels["socket_path"].endswith("/plugins_registry/p.sock")
        assert labels["state"] == "desired_state_of_world"

    on_bench(body, **HTTP)


def test_aligned_counters_are_there_from_the_start(on_bench: RunOnBench) -> None:
    """For both scopes, unless the policy is none; other counters with labels are not. Rules: TM-50"""

    async def body(it: Bench) -> None:
        values = await _values(it.node)
        assert all(value == 0 for value in values.values())
        names = {name for name, _ in values if not name.startswith("kubelet_topology_manager_admission_")}
        prefix = "kubelet_container_aligned_compute_resources"
        policy = it.node.config.topology.policy
        assert names == (set() if policy == "none" else {f"{prefix}_count", f"{prefix}_failure_count"})

    on_bench(body, **HTTP)
    on_bench(body, **HTTP, topology=TopologySettings("best-effort"))


def test_a_new_process_counts_anew_at_the_same_address(on_bench: RunOnBench) -> None:
    """The port that was found once stays the node's. Rules: DM-161"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        await it.node.admit(pod("one"))
        url = it.node.http_url
        await it.node.restart()
        assert it.node.http_url == url
        assert _value(await _values(it.node), "kubelet_topology_manager_admission_requests_total") == 1
        await it.node.kill()
        with pytest.raises(OSError, match="refused"):
            await _get(it.node, "/metrics")

    on_bench(body, **HTTP)


def test_the_format_is_negotiated(on_bench: RunOnBench) -> None:
    """OpenMetrics for those who ask for it. Rules: DM-161"""

    async def body(it: Bench) -> None:
        _, content_type, text = await _get(it.node, "/metrics", "application/openmetrics-text; version=1.0.0")
        assert content_type.startswith("application/openmetrics-text; version=1.0.0")
        assert list(openmetrics_families(text))  # type: ignore[no-untyped-call]
        _, content_type, _ = await _get(it.node, "/metrics", "*/*")
        assert content_type.startswith("text/plain; version=0.0.4")

    on_bench(body, **HTTP, topology=TopologySettings("restricted"))


def test_a_lost_registration_server_is_told(on_bench: RunOnBench) -> None:
    """The check fails until a restart, the socket's file is gone, plugins that are there go on. Rules: DM-12"""

    async def body(it: Bench) -> None:
        await it.plugin(device("a"))
        assert await _get(it.node, "/healthz") == (200, "text/plain; charset=utf-8", "ok")
        await it.node.lose_registration_server("accept: boom")
        words = "device plugin registration gRPC server failed and no device plugins can register: accept: boom"
        status, _, text = await _get(it.node, "/healthz/device-plugin")
        assert (status, text) == (500, f"internal server error: device registration error: {words}\n")
        status, _, text = await _get(it.node, "/healthz")
        assert status == 500
        assert "[-]device-plugin failed: reason withheld\n" in text
        assert not it.node.root.layout.registration_socket.exists()
        assert it.node.status().resources[0].healthy == 1
        await it.node.admit(pod("one"))
        assert it.node.status().allocations
        await it.node.restart()
        assert (await _get(it.node, "/healthz/device-plugin"))[2] == "ok"

    on_bench(body, **HTTP)


def test_a_hanging_admission_is_told_after_five_minutes(on_bench: RunOnBench) -> None:
    """Of the node's clock. Rules: DM-74"""

    async def body(it: Bench) -> None:
        peer = await it.plugin(device("a"))
        answer = asyncio.Event()

        async def hang(_: tuple[DeviceID, ...]) -> AllocateAnswer:
            await answer.wait()
            return AllocateAnswer((ContainerResponse(),))

        peer.allocate = hang
        admission = asyncio.ensure_future(it.node.admit(pod("one")))
        await it.node.advance(299)
        assert (await _get(it.node, "/healthz/syncloop"))[0] == 200
        await it.node.advance(2)
        status, _, text = await _get(it.node, "/healthz/syncloop")
        assert (status, text) == (500, "internal server error: sync Loop took longer than expected\n")
        answer.set()
        await soon(admission)
        await settle()
        assert (await _get(it.node, "/healthz/syncloop"))[0] == 200

    on_bench(body, **HTTP)


def test_checks_are_those_of_the_release(on_bench: RunOnBench) -> None:
    """Older kubelets have no check of the registration server. Rules: DM-12, DM-175"""

    async def body(it: Bench) -> None:
        _, _, text = await _get(it.node, "/healthz?verbose")
        assert text == "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"
        assert (await _get(it.node, "/healthz/device-plugin"))[0] == 404
        assert (await _get(it.node, "/"))[0] == 404

    on_bench(body, **HTTP, profile=evolve(V1_36, has_device_plugin_check=False))


def test_without_an_address_there_is_nothing(on_bench: RunOnBench) -> None:
    """It is off unless asked for."""

    async def body(it: Bench) -> None:
        assert it.node.http_url is None

    on_bench(body)


def test_an_address_that_cannot_be(on_bench: RunOnBench) -> None:
    """The node does not start, and says why: what is written wrongly, or what is taken."""

    async def nothing(_: Bench) -> None:
        pytest.fail("it started")

    async def body(it: Bench) -> None:
        second = Node(NodeConfig(root=it.node.config.root.parent / "2", http_address=str(it.node.http_url)[7:]))
        with pytest.raises(TransportError, match="address already in use"):
            await second.start()

    with pytest.raises(UsageError, match="HOST:PORT"):
        on_bench(nothing, http_address="here")
    on_bench(body, **HTTP)


def test_a_node_without_an_http_address_needs_no_aiohttp() -> None:
    """It takes a moment to be imported, which every start of a node would pay."""
    code = "import sys, kubelet_sim.node.sync; print(sorted({'aiohttp', 'prometheus_client', 'psutil'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert done.stdout == "[]\n"
