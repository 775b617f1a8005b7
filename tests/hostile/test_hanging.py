"""Plugins that do not answer: who waits for them, and who must not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletGone
from tests.hostile import peers
from tests.hostile.cases import never, one_list, silence, socket_of
from tests.hostile.peers import GOOD, Ground, Serve, on_ground, pod, serves_the_next
from tests.wire import helpers
from tests.wire.helpers import ScriptedPlugin

BAD = "example.com/bad"


@pytest.mark.parametrize(
    "serve",
    [
        peers.says(peers.GARBAGE),
        peers.says(peers.HTTP_1),
        peers.says(b""),
        peers.says_and_closes(b""),
        peers.says_and_closes(peers.GARBAGE),
    ],
)
def test_a_dial_ends_after_ten_seconds(short_root: Path, serve: Serve) -> None:
    """A patient plugin whose socket does not speak HTTP/2 is refused when the kubelet's own deadline is over.

    Rules: DM-40
    """

    async def body(ground: Ground) -> None:
        async with peers.raw_server(ground.path("b.sock"), serve) as spoken:
            registering = asyncio.create_task(ground.register(BAD, "b.sock"))
            await spoken.wait()
            await ground.node.advance(9.9)
            assert not registering.done()
            await ground.node.advance(0.2)
            failure = await registering
        assert failure is not None
        assert failure.description == "failed to dial device plugin: context deadline exceeded"
        assert ground.new_warnings(BAD) == [f"Register refused: {failure.description}"]
        await serves_the_next(ground)

    on_ground(short_root, body, manual=True)


def test_only_the_register_that_hangs_hangs(short_root: Path) -> None:
    """While GetDevicePluginOptions of one plugin hangs, others register, and pods come and go.

    Rules: DM-39
    """

    async def body(ground: Ground) -> None:
        asked = ground.wait_for_text(BAD, "GetDevicePluginOptions to client")
        async with helpers.serving(ScriptedPlugin(options=never), ground.path(socket_of(BAD))):
            registering = asyncio.create_task(ground.register(BAD, socket_of(BAD)))
            await asked
            await serves_the_next(ground)
            assert not registering.done()
        failure = await registering
        assert failure is not None
        assert failure.description.startswith("failed to get device plugin options: rpc error: code = Unavailable")

    on_ground(short_root, body)


def test_a_silent_stream_is_no_fault(short_root: Path) -> None:
    """A plugin that never lists anything has no devices, however long that takes; nobody is warned. Rules: DM-43, DM-50"""

    async def body(ground: Ground) -> None:
        opened = ground.wait_for_text(BAD, "ListAndWatch to client")
        async with helpers.serving(ScriptedPlugin(lists=silence), ground.path(socket_of(BAD))):
            assert await ground.register(BAD, socket_of(BAD)) is None
            await opened
            await ground.node.advance(3600)
            assert ground.new_warnings() == []
            (view,) = ground.node.status().plugins
            assert (view.state, view.has_stream) == ("live", True)
            await serves_the_next(ground)

    on_ground(short_root, body, manual=True)


async def _pod_that_waits(ground: Ground) -> asyncio.Task[object]:
    """Register a plugin, have a pod admitted whose Allocate hangs."""
    listed = ground.wait_for_text(BAD, "listed 1 devices")
    assert await ground.register(BAD, socket_of(BAD)) is None
    await listed
    await ground.node.status_round()
    asked = ground.wait_for_text(BAD, "Allocate(a) to client")
    waiting: asyncio.Task[object] = asyncio.create_task(ground.node.admit(pod(BAD, "waits")))
    await asked
    return waiting


def _hanging() -> ScriptedPlugin:
    return ScriptedPlugin(allocate=never, lists=one_list(Device(DeviceID("a"))))


def test_a_hanging_allocate_holds_up_pods_and_nothing_else(short_root: Path) -> None:
    """Later pods wait, plugins register all the same; a restart of the kubelet ends it, and all are served then.

    Rules: DM-74, DM-98, DM-16
    """

    async def body(ground: Ground) -> None:
        async with helpers.serving(_hanging(), ground.path(socket_of(BAD))):
            waiting = await _pod_that_waits(ground)
            async with peers.good_plugin(ground, GOOD):
                await ground.node.status_round()
                later = asyncio.create_task(ground.node.admit(pod(GOOD, "later")))
                await helpers.soon(_turns())
                assert not waiting.done()
                assert not later.done()
            restarted = asyncio.create_task(ground.node.restart())
            results = await asyncio.gather(waiting, return_exceptions=True)
            assert isinstance(results[0], KubeletGone)
            await restarted
            await asyncio.gather(later, return_exceptions=True)
        await serves_the_next(ground)

    on_ground(short_root, body)


def test_a_node_stops_while_allocate_hangs(short_root: Path) -> None:
    """Nothing of a plugin keeps a node from ending; whoever waits is told. Rules: DM-14"""

    async def body(ground: Ground) -> None:
        async with helpers.serving(_hanging(), ground.path(socket_of(BAD))):
            waiting = await _pod_that_waits(ground)
            await ground.node.stop()
            (result,) = await asyncio.gather(waiting, return_exceptions=True)
            assert isinstance(result, KubeletGone)

    on_ground(short_root, body)


def test_the_node_stops_while_everything_hangs(short_root: Path) -> None:
    """Dials, options, streams and their callers, all at once, end with the node; callers learn it as `Unavailable`."""

    async def body(ground: Ground) -> None:
        async with (
            peers.raw_server(ground.path("mute.sock"), peers.says(b"")) as spoken,
            helpers.serving(ScriptedPlugin(options=never), ground.path("options.sock")),
            helpers.serving(ScriptedPlugin(lists=silence), ground.path("list.sock")),
        ):
            asked = ground.wait_for_text("example.com/options", "GetDevicePluginOptions to client")
            calls = [
                asyncio.create_task(ground.register(f"example.com/{name}", f"{name}.sock"))
                for name in ("mute", "options", "none")
            ]
            assert await ground.register("example.com/list", "list.sock") is None
            await spoken.wait()
            await asked
            await ground.node.stop()
            ends = await asyncio.gather(*calls)
        assert all(isinstance(end, RpcFailed) for end in ends)

    on_ground(short_root, body)


async def _turns(count: int = 50) -> None:
    """Let everybody go on who can."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_the_next_is_served_by_a_node_with_hundreds_of_idle_connections(short_root: Path) -> None:
    """Clients that connect to the kubelet's socket and say nothing take a descriptor each, and nobody's turn."""

    async def body(ground: Ground) -> None:
        pairs = [await asyncio.open_unix_connection(ground.kubelet_socket) for _ in range(300)]
        served = ground.wait_for_text(GOOD, "the stream of client")
        await serves_the_next(ground)
        await served  # the good plugin has ended, and is the only one of whom something is told
        for _, writer in pairs:
            writer.close()
        assert [text for text in ground.new_warnings() if not text.startswith("the stream of client 1 ended")] == []
        assert isinstance(await _admitted_again(ground), Admitted)

    on_ground(short_root, body)


async def _admitted_again(ground: Ground) -> object:
    async with peers.good_plugin(ground, "example.com/again"):
        await ground.node.status_round()
        return await ground.node.admit(pod("example.com/again", "again"))
