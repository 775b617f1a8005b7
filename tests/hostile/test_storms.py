"""Plugins that register, and register, and register."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, DeviceID
from kubelet_sim.node.kubelet_process.driver import SPENT_LINKS
from tests.hostile.cases import fails, one_list
from tests.hostile.peers import GOOD, Ground, good_plugin, on_ground, serves_the_next
from tests.wire import helpers
from tests.wire.helpers import ScriptedPlugin

BAD = "example.com/bad"
NAMES = [f"example.com/bad-{number}" for number in range(100)]


def test_two_names_in_one_moment(short_root: Path) -> None:
    """Two resources of one process, registered from two threads at once, do not get in each other's way. Rules: DM-38"""

    async def body(ground: Ground) -> None:
        names = NAMES[:2]
        plugins = [ScriptedPlugin(lists=one_list(Device(DeviceID(name)))) for name in names]
        async with (
            helpers.serving(plugins[0], ground.path("0.sock")),
            helpers.serving(plugins[1], ground.path("1.sock")),
        ):
            listed = [ground.wait_for_text(name, "listed 1 devices") for name in names]
            calls = [ground.register(name, f"{number}.sock") for number, name in enumerate(names)]
            assert await asyncio.gather(*calls) == [None, None]
            await asyncio.gather(*listed)
            views = ground.node.status().resources
            assert [(view.name, view.endpoint, view.healthy) for view in views] == [(name, "live", 1) for name in names]
            assert ground.new_warnings() == []
            await serves_the_next(ground)

    on_ground(short_root, body)


def test_a_storm_of_names(short_root: Path) -> None:
    """A process that registers a hundred names at once, all on one socket, gets a connection and a stream for each.

    Rules: DM-20, DM-37, DM-38
    """

    async def body(ground: Ground) -> None:
        plugin = ScriptedPlugin(lists=one_list(Device(DeviceID("a"))))
        async with helpers.serving(plugin, ground.path("b.sock")):
            listed = [ground.wait_for_text(name, "listed 1 devices") for name in NAMES]
            assert await asyncio.gather(*(ground.register(name, "b.sock") for name in NAMES)) == [None] * len(NAMES)
            await asyncio.gather(*listed)
            assert ground.new_warnings() == []
            await serves_the_next(ground)

    on_ground(short_root, body)


def test_five_hundred_refusals_at_once_are_told_once(short_root: Path) -> None:
    """Each call is answered, and what they have in common is told once. Rules: DM-23"""

    async def body(ground: Ground) -> None:
        calls = [ground.register("cpu", f"{number}.sock") for number in range(500)]
        failures = await asyncio.gather(*calls)
        assert {str(failure) for failure in failures} == {
            'rpc error: code = Unknown desc = the ResourceName "cpu" is invalid'
        }
        assert ground.new_warnings() == ['Register refused: the ResourceName "cpu" is invalid']
        await serves_the_next(ground)

    on_ground(short_root, body)


def test_a_plugin_that_registers_for_ever_and_fails_leaves_a_bounded_number_of_connections(short_root: Path) -> None:
    """The kubelet closes none of them; we keep the last, so that a day of retries does not fill the memory. Rules: DM-36"""

    async def body(ground: Ground) -> None:
        options = fails(grpc.StatusCode.UNIMPLEMENTED, "an old plugin")
        async with helpers.serving(ScriptedPlugin(options=options), ground.path("b.sock")), good_plugin(ground, GOOD):
            for _ in range(SPENT_LINKS + 20):
                assert await ground.register(BAD, "b.sock") is not None
            plugins = ground.node.status().plugins
            assert SPENT_LINKS <= len(plugins) <= SPENT_LINKS + 2
            assert {plugin.state for plugin in plugins if plugin.resource == BAD} == {"failed"}
            # The oldest is the one that counts.
            assert [plugin.state for plugin in plugins if plugin.resource == GOOD] == ["live"]
            assert ground.node.kubelet.driver.links[ClientID(plugins[1].client)].is_closed is False
            assert len(ground.new_warnings(BAD)) == 1

    on_ground(short_root, body)


def test_a_plugin_that_names_the_socket_of_another(short_root: Path) -> None:
    """The kubelet calls whoever listens there: two resources with the same devices, and no harm to the first.

    Rules: DM-25, DM-37
    """

    async def body(ground: Ground) -> None:
        async with good_plugin(ground, GOOD) as plugin:
            listed = ground.wait_for_text(BAD, "listed 4 devices")
            assert await ground.register(BAD, plugin.script.socket) is None
            await listed
            views = ground.node.status().resources
            assert {(view.name, view.endpoint, view.healthy) for view in views} == {(BAD, "live", 4), (GOOD, "live", 4)}
            assert ground.new_warnings() == []

    on_ground(short_root, body)
