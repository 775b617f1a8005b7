"""What the node does differently under the profiles of other releases."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubelet_sim.errors import RegistrationRefused, TransportError, UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.root_directory.device_plugin_directory import clean_directory
from kubelet_sim.profiles import profile_of
from kubelet_sim.testing.stores import MemoryCheckpointStore
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import Bench, bench, device, pod, registration, soon


def played(root: Path, version: str, body: object) -> None:
    """Run a test's body on a node of that release."""

    async def run() -> None:
        async with bench(root, profile=profile_of(version)) as it:
            await body(it)  # type: ignore[operator]  # a coroutine function

    asyncio.run(run())


def test_register_returns_before_the_plugin_listens(short_root: Path) -> None:
    """Up to 1.24 the answer does not wait, and the dial goes on for 10 s. Rules: DM-163"""

    async def body(it: Bench) -> None:
        peer = it.calls.peer("p.sock", listening=False)
        await soon(it.node.kubelet.register(registration()))
        assert not it.node.kubelet.state.endpoints
        peer.listening.set()
        await soon(peer.send(device("a")))
        assert it.node.kubelet.state.healthy == {"example.com/dev": {"a"}}

    played(short_root, "1.24", body)


def test_a_plugin_that_never_listens_is_told_in_the_transcript(short_root: Path) -> None:
    """Up to 1.24 that is the only place; asyncio has nothing to complain about. Rules: DM-163"""

    async def body(it: Bench) -> None:
        complaints: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        it.calls.peer("p.sock", listening=False)
        await soon(it.node.kubelet.register(registration()))
        await it.node.advance(11)
        assert any("is refused: failed to dial" in text for text in it.texts())
        assert not it.node.kubelet.state.resource_of
        assert not complaints

    played(short_root, "1.24", body)


@pytest.mark.parametrize("version, goes_on", [("1.34", True), ("1.35", False)])
def test_a_register_caller_that_leaves(short_root: Path, version: str, goes_on: bool) -> None:
    """Since 1.35 the dial ends with it, before that it goes on. Rules: DM-30, DM-178"""

    async def body(it: Bench) -> None:
        peer = it.calls.peer("p.sock", listening=False)
        caller = asyncio.ensure_future(it.node.kubelet.register(registration()))
        await it.node.wait_for(lambda now: bool(now.plugins))
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        peer.listening.set()
        if goes_on:
            await soon(peer.send(device("a")))
        else:
            await it.node.wait_for(lambda _: not it.node.kubelet.state.clients)
        assert bool(it.node.kubelet.state.endpoints) is goes_on

    played(short_root, version, body)


@pytest.mark.parametrize("version, prefix", [("1.25", "Pod Node "), ("1.26", "Pod was rejected: Node ")])
def test_the_prefix_of_a_refusal(short_root: Path, version: str, prefix: str) -> None:
    """It stands in the pod's status, never in the event. Rules: DM-77, DM-163, DM-169"""

    async def body(it: Bench) -> None:
        greedy = Container(ContainerName("main"), requests={"cpu": it.node.config.machine["memory"]})
        assert isinstance(await it.node.admit(Pod("one", "default", PodUID("one"), (), (greedy,))), Rejected)
        assert it.node.pod("one")["status"]["message"].startswith(prefix)

    played(short_root, version, body)


def test_a_sweep_that_fails(short_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 1.24 it is logged, since then the kubelet does not start. Rules: DM-9, DM-163, DM-168"""

    def failing(*_: object) -> tuple[str, ...]:
        raise TransportError("unlinkat x: busy")

    async def start(version: str) -> list[str]:
        async with bench(short_root, profile=profile_of(version)) as it:
            return [record.text for record in it.node.transcript if record.level is RecordLevel.WARNING]

    monkeypatch.setattr("kubelet_sim.node.kubelet_process.kubelet_start.clean_directory", failing)
    assert "the directory could not be cleaned: unlinkat x: busy" in asyncio.run(start("1.24"))
    with pytest.raises(TransportError, match="unlinkat"):
        asyncio.run(start("1.25"))
    assert clean_directory is not failing


def test_a_deprecation_file_that_cannot_be_made(short_root: Path) -> None:
    """Up to 1.24 that is logged, and the kubelet runs. Rules: DM-163"""
    (short_root / "device-plugins").mkdir()
    (short_root / "device-plugins" / "DEPRECATION").mkdir()

    async def body(it: Bench) -> None:
        assert any("no DEPRECATION file could be made" in text for text in it.texts())
        assert isinstance(it.node.kubelet, KubeletProcess)

    played(short_root, "1.24", body)


@pytest.mark.parametrize("version, is_sidecar", [("1.27", False), ("1.29", True)])
def test_a_sidecar_is_run_as_what_it_is(short_root: Path, version: str, is_sidecar: bool) -> None:
    """Where the field does not exist it runs to its end. Rules: DM-171"""

    async def body(it: Bench) -> None:
        side = Container(ContainerName("side"), ContainerKind.SIDECAR)
        wanted = Pod("one", "default", PodUID("one"), (side,), (Container(ContainerName("main")),))
        assert isinstance(await it.node.admit(wanted), Admitted)
        await it.node.wait_for(
            lambda now: any(c.name == "main" and c.state == "running" for c in now.pods[0].containers)
        )
        (found,) = (c for c in it.node.status().pods[0].containers if c.name == "side")
        assert (found.kind, found.state) == (("sidecar", "running") if is_sidecar else ("init", "exited"))

    played(short_root, version, body)


def test_a_stretch_of_nothing(short_root: Path) -> None:
    """Up to 1.22 the node status is computed exactly every 10 s. Rules: DM-65, DM-163, DM-166"""

    async def rounds(version: str) -> int:
        async with bench(short_root, profile=profile_of(version)) as it:
            before = it.texts().count("node status is due")
            await it.node.advance(100)
            return it.texts().count("node status is due") - before

    assert asyncio.run(rounds("1.20")) == 10
    assert asyncio.run(rounds("1.36")) == 9


def test_a_memory_store_reads_what_it_is_told_to() -> None:
    """A file of before 1.20, empty of pods, is the same in both formats. Rules: DM-144"""
    data = b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}'
    for reads in (True, False):
        document = asyncio.run(MemoryCheckpointStore(data, reads_before_1_20=reads).read())
        assert document.registered == {}


def test_refusals_reach_the_caller_in_every_release(short_root: Path) -> None:
    """A name that is none is refused before anybody is let go. Rules: DM-23, DM-163"""

    async def body(it: Bench) -> None:
        with pytest.raises(RegistrationRefused):
            await it.node.kubelet.register(registration(resource="cpu"))
        assert pod("one").name == "one"
        with pytest.raises(UsageError):
            profile_of("1.19")

    played(short_root, "1.24", body)
