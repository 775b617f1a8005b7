"""A node with its plugin watcher, plugins on real sockets, and a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, PluginInfo, Registration
from kubelet_sim.model.views import PluginView, ResourceView
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.services.plugin_watcher import PluginWatcher
from kubelet_sim.profiles import V1_36
from kubelet_sim.scenario.plugins.script import Script
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.transcript import RecordLevel
from kubelet_sim.wire.plugin_server import PluginServer
from tests.wire.helpers import run, soon, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the plugin watcher needs inotify")

GPU, NIC = ResourceName("example.com/gpu"), ResourceName("example.com/nic")
OK = (True, "")


class Plugin:
    """A plugin of its resource that lets itself be found; it says what `info` says."""

    def __init__(self, directory: Path, resource: ResourceName = GPU, *, serves: Path | None = None) -> None:
        self.socket = directory / f"{resource.rpartition('/')[2]}-reg.sock"
        self.device_plugin = ScriptedPlugin(
            Script(resource, "x.sock", (Device(DeviceID("a")), Device(DeviceID("b")))), directory
        )
        self.info_said = PluginInfo("DevicePlugin", resource, str(serves or ""), (API_VERSION,))
        self.info_failure: RpcFailed | None = None
        self.notify_failure: RpcFailed | None = None
        self.silent = asyncio.Event()
        self.silent.set()
        self.asked = 0
        self.told: list[tuple[bool, str]] = []
        self._serves = serves
        self._endpoint = PluginServer(self.device_plugin)
        self._server = PluginServer(None if serves else self.device_plugin, self)

    async def info(self) -> PluginInfo:
        self.asked += 1
        await self.silent.wait()
        if self.info_failure is not None:
            raise self.info_failure
        return self.info_said

    async def notified(self, *, registered: bool, error: str) -> None:
        self.told.append((registered, error))
        if self.notify_failure is not None:
            raise self.notify_failure

    async def start(self) -> None:
        if self._serves is not None:
            await self._endpoint.serve(self._serves)
        await self._server.serve(self.socket)

    async def stop(self, *, leave_socket: bool = False) -> None:
        await self._server.stop(leave_socket=leave_socket)
        await self._endpoint.stop(leave_socket=leave_socket)


@define
class Stage:
    """A started node, and what its test looks at."""

    node: Node
    root: Path
    plugins: list[Plugin] = field(factory=list)

    @property
    def registry(self) -> Path:
        return self.root / "plugins_registry"

    async def plugin(self, resource: ResourceName = GPU, *, serves: Path | None = None) -> Plugin:
        """One that is listening."""
        plugin = self.made(resource, serves=serves)
        await plugin.start()
        return plugin

    def made(self, resource: ResourceName = GPU, *, serves: Path | None = None) -> Plugin:
        """One that is not listening yet."""
        plugin = Plugin(self.registry, resource, serves=serves)
        self.plugins.append(plugin)
        return plugin

    async def seconds(self, seconds: float) -> None:
        await soon(self.node.advance(seconds))

    async def healthy(self, count: int, resource: str = GPU) -> ResourceView:
        """The resource, as soon as it has so many healthy devices."""
        await until(lambda: self.resource(resource) is not None and self.known(resource).healthy == count)
        return self.known(resource)

    def resource(self, name: str = GPU) -> ResourceView | None:
        return next((view for view in self.node.status().resources if view.name == name), None)

    def known(self, name: str = GPU) -> ResourceView:
        found = self.resource(name)
        assert found is not None
        return found

    def connections(self) -> Sequence[PluginView]:
        return self.node.status().plugins

    def texts(self, rule: str, *, warnings: bool = False) -> list[str]:
        return [
            record.text
            for record in self.node.transcript
            if rule in record.rules and (not warnings or record.level is RecordLevel.WARNING)
        ]


def on_stage(body: Callable[[Stage], Awaitable[None]], *, retries: bool = True, watcher: bool = True) -> None:
    """Run a body with a started node."""

    async def whole(root: Path) -> None:
        profile = evolve(V1_36, watcher_retries=retries)
        config = NodeConfig(root, profile, has_plugin_watcher=watcher, has_status_rounds=False, runs_containers=False)
        async with Node(config, clock=ManualClock()) as node:
            stage = Stage(node, root)
            try:
                await body(stage)
            finally:
                for plugin in stage.plugins:
                    await plugin.stop()

    run(whole)


def test_a_socket_in_the_directory_is_a_registration() -> None:
    """Dialled, asked, registered, told: the plugin does nothing but listen. Rules: DM-146, DM-147, DM-148"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        assert it.connections() == ()  # not before the reconciler's next second
        await it.seconds(1)

        assert plugin.told == [OK]
        await it.healthy(2)
        (connection,) = it.connections()
        assert (connection.state, connection.resource) == ("live", GPU)
        assert connection.socket_path == connection.registration_socket == str(plugin.socket)
        # The counter is Register's. Rules: DM-150
        assert it.node.kubelet.state.registrations == {}
        await it.seconds(30)
        assert (plugin.asked, plugin.told) == (1, [OK])

    on_stage(body)


def test_the_endpoint_is_another_socket_by_its_path() -> None:
    """As given: absolute, not joined with any directory. Rules: DM-150"""

    async def body(it: Stage) -> None:
        await it.plugin(serves=it.root / "elsewhere" / "gpu.sock")
        await it.seconds(1)
        await it.healthy(2)
        (connection,) = it.connections()
        assert connection.socket_name == connection.socket_path == str(it.root / "elsewhere" / "gpu.sock")

    on_stage(body)


def test_a_relative_endpoint_counts_from_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from the device-plugin directory. Rules: DM-150"""

    async def body(it: Stage) -> None:
        monkeypatch.chdir(it.root)
        plugin = await it.plugin(serves=it.root / "here" / "gpu.sock")
        plugin.info_said = evolve(plugin.info_said, endpoint="here/gpu.sock")
        await it.seconds(1)
        await it.healthy(2)
        monkeypatch.undo()

    on_stage(body)


def test_an_endpoint_below_the_kubelets_root_is_below_ours() -> None:
    """A plugin that `exec` isolates sees the node's directories there, and says so. Rules: DM-150"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin(serves=it.root / "device-plugins" / "gpu.sock")
        plugin.info_said = evolve(plugin.info_said, endpoint="/var/lib/kubelet/device-plugins/gpu.sock")
        await it.seconds(1)
        await it.healthy(2)
        (connection,) = it.connections()
        assert connection.socket_name == "/var/lib/kubelet/device-plugins/gpu.sock"
        assert connection.socket_path == str(it.root / "device-plugins" / "gpu.sock")

    on_stage(body)


def test_the_directory_is_there_before_the_registration_socket_or_not_at_all() -> None:
    """Plugins look whether it exists, and then never call Register. Rules: DM-146"""

    async def with_watcher(it: Stage) -> None:
        assert it.registry.is_dir()
        assert it.registry.stat().st_mtime_ns <= (it.root / "device-plugins" / "kubelet.sock").stat().st_ctime_ns
        assert not list((it.root / "device-plugins").glob("DEPRECATION"))  # Rules: DM-15

    async def without(it: Stage) -> None:
        assert not it.registry.exists()

    on_stage(with_watcher)
    on_stage(without, watcher=False)


def test_a_directory_that_nobody_watches_is_warned_of() -> None:
    """A node without a watcher removes an empty directory of an earlier one, but nothing that is in it. Rules: DM-146"""

    async def body(it: Stage) -> None:
        it.registry.mkdir()
        await it.node.restart()
        assert not it.registry.exists()
        it.registry.mkdir()
        (it.registry / "file").touch()
        await it.node.restart()
        assert [text for text in it.texts("DM-146", warnings=True) if "nobody watches it" in text]

    on_stage(body, watcher=False)


def test_sockets_that_are_there_at_the_start() -> None:
    """Registered without any action of the plugin, at once; the directory is not cleaned. Rules: DM-153"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        (it.registry / "sub").mkdir()
        other = it.made(NIC)
        other.socket = it.registry / "sub" / "nic.sock"
        await other.start()
        await it.seconds(1)
        await it.healthy(2)

        await it.node.restart()

        await it.seconds(0)  # the first pass is made at the start
        assert (plugin.told, other.told) == ([OK, OK], [OK, OK])
        await it.healthy(2)
        await it.healthy(2, NIC)
        assert plugin.socket.exists()

    on_stage(body)


@pytest.mark.parametrize(
    "changes, text",
    [
        (
            {"type": "CSIPlugin"},
            "RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket {socket}",
        ),
        (
            {"type": "deviceplugin"},
            "RegisterPlugin error -- no handler registered for plugin type: deviceplugin at socket {socket}",
        ),
        (
            {"type": "", "name": "", "endpoint": "", "supported_versions": ()},
            "RegisterPlugin error -- no handler registered for plugin type:  at socket {socket}",
        ),
        (
            {"supported_versions": ("v1", "v2")},
            (
                "RegisterPlugin error -- plugin validation failed with err: manager version, v1beta1, is not among plugin "
                "supported versions [v1 v2]"
            ),
        ),
        (
            {"name": "cpu"},
            (
                "RegisterPlugin error -- plugin validation failed with err: invalid name of device plugin socket: "
                'the ResourceName "cpu" is invalid'
            ),
        ),
    ],
)
@pytest.mark.parametrize("retries", [True, False])
def test_what_is_not_valid_is_told_and_tried_again(changes: dict[str, Any], text: str, *, retries: bool) -> None:
    """At every try, in every release, until the answer is right. Rules: DM-147, DM-149, DM-151"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        right = plugin.info_said
        plugin.info_said = evolve(right, **changes)
        expected = (False, text.format(socket=plugin.socket))

        for pause_s, tries in ((1, 1), (1, 2), (1, 2), (1, 3), (2, 3), (1, 4)):
            await it.seconds(pause_s)
            assert plugin.told == [expected] * tries
        assert it.connections() == ()
        assert it.texts("DM-147")[-1] == f"socket {plugin.socket} is left alone for 5 s"

        plugin.info_said = right
        await it.seconds(4.9)
        assert len(plugin.told) == 4
        await it.seconds(0.1)
        assert plugin.told[4:] == [OK]
        await it.healthy(2)

    on_stage(body, retries=retries)


def test_a_plugin_that_cannot_say_what_it_is_is_not_told() -> None:
    """A failed GetInfo leads to another try, and to nothing else. Rules: DM-147, DM-148"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        plugin.info_failure = RpcFailed("Internal", "not ready")
        await it.seconds(2)
        assert (plugin.asked, plugin.told) == (2, [])
        assert f"GetInfo at socket {plugin.socket}: rpc error: code = Internal desc = not ready" in "".join(
            it.texts("DM-148", warnings=True)
        )

        plugin.info_failure = None
        await it.seconds(2)
        assert plugin.told == [OK]

    on_stage(body)


def test_getinfo_has_a_second() -> None:
    """A silent plugin holds up nobody else; what it would have said later counts no more. Rules: DM-147, DM-148"""

    async def body(it: Stage) -> None:
        silent = await it.plugin()
        silent.silent.clear()
        other = await it.plugin(NIC)
        await it.seconds(1)
        assert other.told == [OK]
        await until(lambda: bool(it.texts("DM-147")))
        assert "DeadlineExceeded" in "".join(it.texts("DM-148", warnings=True))
        silent.silent.set()
        assert (silent.asked, silent.told) == (1, [])
        await it.seconds(1)
        assert (silent.asked, silent.told) == (2, [OK])

    on_stage(body)


def test_a_socket_on_which_nobody_listens_is_dialled_for_ten_seconds() -> None:
    """Then it is left alone, and tried again; a plugin that listens meanwhile is found. Rules: DM-147, DM-148"""

    async def body(it: Stage) -> None:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as unheard:
            unheard.bind(str(it.registry / "stale.sock"))
        await it.seconds(1)
        await it.seconds(9.9)
        assert it.texts("DM-148", warnings=True) == []
        await it.seconds(0.1)
        (text,) = it.texts("DM-148", warnings=True)
        assert text == f"nobody serves on socket {it.registry}/stale.sock, for 10 s now; it is tried again"

    on_stage(body)


def test_a_failed_registration_is_tried_again() -> None:
    """The endpoint has no plugin: told, and retried since 1.36. Rules: DM-151, DM-179"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        plugin.device_plugin.change({"resource": GPU, "socket": "x", "options_error": ["INTERNAL", "no"]})
        await it.seconds(2)
        text = "RegisterPlugin error -- plugin registration failed with err: failed to get device plugin options: "
        assert plugin.told == [(False, f"{text}rpc error: code = Internal desc = no")] * 2
        assert {each.state for each in it.connections()} == {"failed"}

        plugin.device_plugin.change({"resource": GPU, "socket": "x"})
        plugin.device_plugin.script = Script(GPU, "x", plugin.device_plugin.devices)
        await it.seconds(2)
        assert plugin.told[2:] == [OK]
        await it.healthy(2)

    on_stage(body)


def test_before_1_36_a_failed_registration_was_left_as_it_was() -> None:
    """Told once; it counts as registered, so only another socket makes a difference. Rules: DM-151, DM-179"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        plugin.device_plugin.change({"resource": GPU, "socket": "x", "options_error": ["INTERNAL", "no"]})
        await it.seconds(300)
        assert (plugin.asked, len(plugin.told)) == (1, 1)

        plugin.device_plugin.script = Script(GPU, "x", plugin.device_plugin.devices)
        await plugin.stop()
        await plugin.start()
        await it.seconds(2)
        assert plugin.told[1:] == [OK]

    on_stage(body, retries=False)


def test_a_success_that_cannot_be_told_is_undone() -> None:
    """The client is disconnected, and all of it is tried again. Rules: DM-151, DM-179"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        plugin.notify_failure = RpcFailed("Unavailable", "no time")
        await it.seconds(1)
        await until(lambda: [connection.state for connection in it.connections()] == ["stopped"])
        assert plugin.told == [OK]
        assert any("cannot be told, so it is deregistered" in text for text in it.texts("DM-179", warnings=True))

        plugin.notify_failure = None
        await it.seconds(1)
        await it.healthy(2)
        await until(lambda: plugin.told == [OK, OK])

    on_stage(body)


def test_before_1_36_a_success_that_could_not_be_told_stayed() -> None:
    """The client stays connected, and nothing is tried again. Rules: DM-151, DM-179"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        plugin.notify_failure = RpcFailed("Unavailable", "no time")
        await it.seconds(300)
        assert (plugin.asked, plugin.told) == (1, [OK])
        await it.healthy(2)

    on_stage(body, retries=False)


def test_the_removal_of_the_socket_deregisters() -> None:
    """Devices unhealthy, connection closed, although the plugin goes on serving. Rules: DM-44, DM-152"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        await it.seconds(1)
        await it.healthy(2)

        plugin.socket.unlink()
        assert it.known().healthy == 2  # until the reconciler's next second
        await it.seconds(1)

        assert (it.known().endpoint, it.known().healthy, it.known().unhealthy) == ("stopped", 0, 2)
        await until(lambda: not plugin.device_plugin.streams)
        await it.seconds(60)
        assert (plugin.asked, plugin.told) == (1, [OK])

    on_stage(body)


def test_a_new_file_is_a_new_registration() -> None:
    """Deregistered at the next second, registered at the one after it. Rules: DM-147, DM-152"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        await it.seconds(1)
        await it.healthy(2)
        plugin.device_plugin.devices = (Device(DeviceID("c")),)

        await plugin.stop()
        await plugin.start()
        await it.seconds(1)
        assert it.known().endpoint == "stopped"
        assert plugin.told == [OK]
        # Or its end would disconnect the newer client (DM-33).
        await until(lambda: not any(link.has_stream for link in it.node.kubelet.driver.links.values()))
        await it.seconds(1)
        assert plugin.told == [OK, OK]
        await it.healthy(1)
        assert it.known().endpoint == "live"

    on_stage(body)


def test_the_end_of_the_stream_is_no_reason_to_register_again() -> None:
    """Only a new socket file is. Rules: DM-42, DM-152"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        await it.seconds(1)
        await it.healthy(2)
        plugin.device_plugin.end_streams()
        await until(lambda: it.known().endpoint == "stopped")
        await it.seconds(300)
        assert (plugin.asked, plugin.told) == (1, [OK])

    on_stage(body)


def test_the_removal_disconnects_a_newer_client_that_called_register() -> None:
    """Whoever has the name. Rules: DM-152"""

    async def body(it: Stage) -> None:
        watched = await it.plugin()
        await it.seconds(1)
        await it.healthy(2)
        newer = ScriptedPlugin(Script(GPU, "n.sock", (Device(DeviceID("n")),)), it.root / "device-plugins")
        await newer.serve()
        await soon(it.node.kubelet.register(Registration(API_VERSION, "n.sock", GPU)))
        await it.healthy(1)

        watched.socket.unlink()
        await it.seconds(1)

        first, second = it.connections()
        assert (first.state, first.has_stream) == ("replaced", True)
        assert second.state == "stopped"
        await until(lambda: not newer.streams)
        await newer.stop()

    on_stage(body)


def test_what_is_removed_while_it_is_asked_is_deregistered_after_that() -> None:
    """Operations on one socket never overlap. Rules: DM-147, DM-152"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin(serves=it.root / "gpu.sock")
        plugin.silent.clear()
        moving = asyncio.ensure_future(it.node.advance(1))
        await until(lambda: plugin.asked == 1)
        plugin.socket.unlink()
        plugin.silent.set()
        await soon(moving)
        assert plugin.told == [OK]
        await it.seconds(1)
        assert it.known().endpoint == "stopped"

    on_stage(body)


def test_a_plugin_keeps_its_place_over_restarts_of_the_kubelet() -> None:
    """The socket stays, so the plugin has nothing to do, unlike one that called Register. Rules: DM-17, DM-153"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        await it.seconds(1)
        for number in range(2, 5):
            await it.node.restart()
            await it.seconds(0)
            assert plugin.told == [OK] * number
            await it.healthy(2)

    on_stage(body)


def test_a_plugin_that_serves_in_the_swept_directory_is_lost_at_a_restart() -> None:
    """Its registration socket stays, its other one does not: told again and again, until it listens anew. Rules: DM-8, DM-153"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin(serves=it.root / "device-plugins" / "gpu.sock")
        await it.seconds(1)
        await it.node.restart()
        await it.seconds(0)
        await it.seconds(10)
        text = "RegisterPlugin error -- plugin registration failed with err: failed to dial device plugin: "
        assert plugin.told == [OK, (False, f"{text}context deadline exceeded")]

        await plugin.stop()
        await plugin.start()
        await it.seconds(1)
        assert plugin.told[2:] == [OK]
        await it.healthy(2)

    on_stage(body)


def test_a_directory_that_is_removed_whole() -> None:
    """Every socket in it is gone. Rules: DM-146, DM-152"""

    async def body(it: Stage) -> None:
        plugin = it.made()
        (it.registry / "sub").mkdir()
        plugin.socket = it.registry / "sub" / "gpu.sock"
        await plugin.start()
        await it.seconds(1)
        await it.healthy(2)
        shutil.rmtree(it.registry / "sub")
        await it.seconds(1)
        assert it.known().endpoint == "stopped"

    on_stage(body)


def test_the_gauge_counts_wanted_sockets_and_registered_plugins() -> None:
    """Sockets that are wanted and plugins that are registered, by path. Rules: DM-161"""

    async def body(it: Stage) -> None:
        (watcher,) = (part for part in it.node.kubelet.parts if isinstance(part, PluginWatcher))
        plugin = await it.plugin()
        await it.seconds(0)
        assert watcher.counts() == {(str(plugin.socket), "desired_state_of_world"): 1}
        await it.seconds(1)
        assert watcher.counts() == {
            (str(plugin.socket), "actual_state_of_world"): 1,
            (str(plugin.socket), "desired_state_of_world"): 1,
        }

    on_stage(body)


def test_an_idle_watcher_costs_no_time() -> None:
    """Passes that can begin nothing are left out: nobody waits for them."""

    async def body(it: Stage) -> None:
        assert isinstance(it.node.clock, ManualClock)
        plugin = await it.plugin()
        await it.seconds(1)
        assert plugin.told == [OK]
        assert it.node.clock.sleeper_count == 0

    on_stage(body)


def test_the_plugin_is_told_nothing_when_the_kubelet_ends() -> None:
    """Its calls are cut, as at the end of a process; the next kubelet asks it again. Rules: DM-16, DM-153"""

    async def body(it: Stage) -> None:
        plugin = await it.plugin()
        plugin.silent.clear()
        moving = asyncio.ensure_future(it.node.advance(1))
        await until(lambda: plugin.asked == 1)
        await soon(it.node.kill())
        plugin.silent.set()
        await soon(moving)
        assert plugin.told == []
        await soon(it.node.restart())
        await it.seconds(0)
        assert plugin.told == [OK]

    on_stage(body)
