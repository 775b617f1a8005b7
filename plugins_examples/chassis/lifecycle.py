"""The life of a plugin: wait for a kubelet, serve, register, watch for a restart, begin again.

A restarted kubelet tells nobody. Its traces are a new `kubelet.sock`, our own socket swept away, and the end of the
stream it had open. All three are looked at, by polling: it works on every file system and misses nothing that stays.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import grpc

from plugins_examples.chassis.devices import Inventory, read_ids, with_health
from plugins_examples.chassis.plugin import Plugin, registration
from plugins_examples.chassis.service import Endpoint
from plugins_examples.chassis.sockets import (
    CHANNEL_OPTIONS,
    KUBELET_SOCKET,
    FileIdentity,
    grpc_address,
    socket_identity,
    socket_stem,
)
from plugins_examples.pb import api_pb2_grpc

LOG = logging.getLogger(__name__)

POLL_S = 0.25
CONNECT_S = 5.0
# The kubelet calls back before it answers, and may take 10 s to reach us.
REGISTER_S = 15.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 8.0
# A kubelet opens a stream once for each registration. Others may open and close some: they get time for the next.
STREAM_LOST_S = 2.0
# A kubelet that lives on has to see the end of the old stream before the new registration, or it takes the one for the
# end of the other.
SETTLE_S = 0.2


@dataclass(frozen=True)
class Settings:
    """What the command line says to every plugin."""

    plugin: str
    """The plugin's name, with which its sockets' names begin."""
    socket_dir: Path
    unhealthy_file: Path | None
    registry: Path | None = None
    """Where the kubelet finds plugins by itself; without it, the plugin calls the kubelet."""

    @property
    def kubelet_socket(self) -> Path:
        """Where the kubelet is registered with."""
        return self.socket_dir / KUBELET_SOCKET


class Lifecycle:
    """One resource's; runs until `stop` is called, from any thread."""

    def __init__(self, settings: Settings, plugin: Plugin) -> None:
        self.resource = plugin.resource
        self._settings = settings
        self._plugin = plugin
        self._inventory = Inventory(plugin.devices())
        self._unhealthy: frozenset[str] = frozenset()
        self._stopping = threading.Event()
        self._pause_s = FIRST_PAUSE_S
        self._complaint = ""

    def stop(self) -> None:
        """Ask `run` to clean up and return."""
        self._stopping.set()

    def run(self) -> None:
        """Serve and register again and again; when it returns, the socket is gone. Raises what `Plugin.start` raises."""
        try:
            self._plugin.start()
            while not self._stopping.is_set():
                self._poll_devices()
                self._serve_once()
        finally:
            self._plugin.stop()

    def _serve_once(self) -> None:
        """Wait a moment for a kubelet, or serve the one that there is until it is gone."""
        kubelet = socket_identity(self._settings.kubelet_socket)
        if kubelet is None:
            self._complain(f"no kubelet at {self._settings.kubelet_socket} yet, waiting")
            self._stopping.wait(POLL_S)
        else:
            self._serve_kubelet(kubelet)

    def _serve_kubelet(self, kubelet: FileIdentity) -> None:
        """One endpoint, from its socket to its end."""
        settings = self._settings
        try:
            stem = socket_stem(settings.plugin, self.resource)
            endpoint = Endpoint(settings.socket_dir, stem, self._plugin, self._inventory)
        except OSError as error:
            self._complain(str(error))
            self._back_off(kubelet)
            return
        registered = False
        try:
            registered = self._register(endpoint)
            if registered:
                LOG.info("registered %s with %s", self.resource, settings.kubelet_socket)
                self._pause_s, self._complaint = FIRST_PAUSE_S, ""
                self._watch(endpoint, kubelet)
        finally:
            streaming = endpoint.close()
        if registered and streaming:
            self._stopping.wait(SETTLE_S)
        if not registered:
            self._back_off(kubelet)

    def _register(self, endpoint: Endpoint) -> bool:
        """Whether the kubelet knows us now."""
        socket = self._settings.kubelet_socket
        with grpc.insecure_channel(grpc_address(socket), options=CHANNEL_OPTIONS) as channel:
            if not self._finished(grpc.channel_ready_future(channel), CONNECT_S):
                self._complain(f"{socket} does not answer")
                return False
            # A kubelet sweeps first and listens then: now that it listens, a socket that is there will stay.
            if not endpoint.is_reachable():
                return False
            request = registration(endpoint.socket.name, self.resource, self._plugin.options())
            call = api_pb2_grpc.RegistrationStub(channel).Register.future(request, timeout=REGISTER_S)
            if not self._finished(call, REGISTER_S + 1):
                return False
            if call.code() is grpc.StatusCode.OK:
                return True
            self._complain(f"the kubelet refused {self.resource}: {call.code().name}: {call.details()}")
            return False

    def _finished(self, future: grpc.Future, limit_s: float) -> bool:  # type: ignore[type-arg]
        """Wait for a call of ours; given up, cancelled, when the time is over or we are to stop."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        deadline = time.monotonic() + limit_s
        while not done.wait(0.05):
            if self._stopping.is_set() or time.monotonic() > deadline:
                future.cancel()
                return False
        return True

    def _watch(self, endpoint: Endpoint, kubelet: FileIdentity) -> None:
        """Returns when this endpoint is of no more use, or when we are to stop."""
        lost_since: float | None = None
        while not self._stopping.wait(POLL_S):
            self._poll_devices()
            now = time.monotonic()
            lost_since = None if not endpoint.stream_lost() else lost_since or now
            if socket_identity(self._settings.kubelet_socket) != kubelet:
                LOG.info("kubelet.sock is another one: the kubelet has restarted")
                return
            if not endpoint.is_reachable():
                LOG.info("our socket is gone: the kubelet has restarted")
                return
            if lost_since is not None and now - lost_since > STREAM_LOST_S:
                LOG.info("the kubelet has dropped our list")
                return

    def _poll_devices(self) -> None:
        path = self._settings.unhealthy_file
        try:
            self._unhealthy = read_ids(path)
        except OSError as error:
            self._complain(f"cannot read {path}: {error.strerror}")
        if self._inventory.set_devices(with_health(self._plugin.devices(), self._unhealthy)):
            LOG.info("the list of %s has changed", self.resource)

    def _back_off(self, kubelet: FileIdentity) -> None:
        """Wait longer each time, but no longer than until another kubelet turns up."""
        until = time.monotonic() + self._pause_s
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        while time.monotonic() < until and not self._stopping.wait(POLL_S):
            if socket_identity(self._settings.kubelet_socket) != kubelet:
                return

    def _complain(self, text: str) -> None:
        """Say it once, not at every try."""
        if text != self._complaint:
            LOG.warning("%s", text)
            self._complaint = text
