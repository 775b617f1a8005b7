"""A scripted plugin as a program of its own: finds its kubelet, registers, comes back after every restart.

It looks twice a second whether the kubelet's socket is another one and its own is still there, as plugins do that do not
watch the directory.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from attrs import evolve

from kubelet_sim.errors import RpcFailed, TransportError, UsageError
from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.plugin import SOCKET_NAME
from kubelet_sim.scenario.plugins.script import Devices, Script
from kubelet_sim.scenario.plugins.scripted_plugin import Say, ScriptedPlugin
from kubelet_sim.text_files import read_text
from kubelet_sim.wire.registration_client import register

PERIOD_S = 0.5
RETRY_S = 3.0
REGISTER_WITHIN_S = 20.0
"""A kubelet waits ten seconds for a plugin to answer (DM-40)."""


class StandIn:
    """A plugin that stands in for a real one.

    Args:
        script: what it does.
        directory: the device-plugin directory, which need not be there yet.
        say: takes each line for people; foreign text in it is not escaped.
        unhealthy_file: names devices that are unhealthy, one a line; may come, change and go at any time.
        plugin: does it in place of the script.
    """

    def __init__(
        self,
        script: Script,
        directory: Path,
        say: Say,
        *,
        unhealthy_file: Path | None = None,
        plugin: ScriptedPlugin | None = None,
    ) -> None:
        self._plugin = plugin or ScriptedPlugin(script, directory, say=say)
        self._devices = script.devices
        self._kubelet_socket = directory / SOCKET_NAME
        self._say = say
        self._unhealthy_file = unhealthy_file
        self._registered_with: tuple[int, int, int] | None = None
        self._last_problem = ""

    async def run(self) -> None:
        """Serve until cancelled; its socket is gone then."""
        try:
            while True:
                await self._step()
                await asyncio.sleep(PERIOD_S)
        finally:
            await self._plugin.stop()

    async def _step(self) -> None:
        kubelet = _identity(self._kubelet_socket)
        if kubelet is None:
            self._registered_with = None
            self._problem(f"waiting for {self._kubelet_place()}")
            return
        try:
            if _identity(self._plugin.socket_path) is None or not self._plugin.is_serving:
                await self._serve_anew()
            self._follow_health()
            if self._registered_with != kubelet:
                await register(self._kubelet_socket, self._plugin.script.registration, REGISTER_WITHIN_S)
                self._registered_with = kubelet
                self._last_problem = ""
                self._say(f"registered {self._plugin.script.resource}")
        except RpcFailed as failure:
            self._problem(f"Register failed, trying again: {failure}")
            await asyncio.sleep(RETRY_S)
        except TransportError as failure:
            self._problem(str(failure))

    def _kubelet_place(self) -> str:
        """What is not there yet; a directory that is misspelt never comes."""
        directory = self._kubelet_socket.parent
        if directory.is_dir():
            return f"a kubelet at {self._kubelet_socket}"
        return f"{directory} to appear, and a kubelet in it"

    async def _serve_anew(self) -> None:
        if self._plugin.is_serving:
            self._say(f"{self._plugin.socket_path.name} has vanished: listening anew")
        await self._plugin.stop()
        await self._plugin.serve()
        self._plugin.devices = self._now()
        self._registered_with = None

    def _problem(self, text: str) -> None:
        """Said once, not at every look."""
        if text != self._last_problem:
            self._last_problem = text
            self._say(text)

    def _follow_health(self) -> None:
        if self._devices is not None and (devices := self._now()) != self._plugin.devices:
            self._plugin.send(devices or ())

    def _now(self) -> Devices | None:
        """The devices of the script, less healthy where the file says so."""
        if self._devices is None or self._unhealthy_file is None:
            return self._devices
        try:
            # A pipe would keep us waiting.
            text = read_text(self._unhealthy_file) if self._unhealthy_file.is_file() else ""
        except (OSError, UsageError):
            text = ""
        ill = set(text.split())
        return tuple(_with_health(device, is_ill=device.id in ill) for device in self._devices)


def _with_health(device: Device, *, is_ill: bool) -> Device:
    return evolve(device, health=UNHEALTHY) if is_ill and device.health == HEALTHY else device


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What tells one socket file from the next of the same name; inode numbers are used again at once."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_ctime_ns
