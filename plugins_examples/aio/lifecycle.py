"""The life of the plugin as one coroutine: it runs until it is cancelled, and cleans up on the way out.

It does what `plugins_examples.chassis.lifecycle` does with threads. Whatever is waited for can be cancelled, so no loop has
to ask whether it is to stop: the socket goes when the context of its endpoint is left.
"""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import grpc

from plugins_examples.aio.service import Board, Endpoint
from plugins_examples.chassis.devices import Device, read_ids, with_health
from plugins_examples.chassis.lifecycle import (
    CONNECT_S,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    POLL_S,
    REGISTER_S,
    SETTLE_S,
    STREAM_LOST_S,
    Settings,
)
from plugins_examples.chassis.plugin import registration
from plugins_examples.chassis.sockets import CHANNEL_OPTIONS, FileIdentity, grpc_address, socket_identity, socket_stem
from plugins_examples.pb import api_pb2, api_pb2_grpc

LOG = logging.getLogger(__name__)


class Lifecycle:
    """One resource's, with devices that only `--unhealthy-file` changes."""

    def __init__(self, settings: Settings, resource: str, devices: tuple[Device, ...]) -> None:
        self._settings = settings
        self._resource = resource
        self._devices = devices
        self._board = Board(devices)
        self._unhealthy: frozenset[str] = frozenset()
        self._pause_s = FIRST_PAUSE_S
        self._complaint = ""

    async def run(self) -> None:
        """Serve and register again and again, until cancelled; then the socket is gone."""
        while True:
            self._poll_health()
            kubelet = socket_identity(self._settings.kubelet_socket)
            if kubelet is None:
                self._complain(f"no kubelet at {self._settings.kubelet_socket} yet, waiting")
                await asyncio.sleep(POLL_S)
            elif await self._serve_kubelet(kubelet):
                self._pause_s = FIRST_PAUSE_S
                # A kubelet that lives on has to see the end of the old stream before it hears of the new socket.
                await asyncio.sleep(SETTLE_S)
            else:
                await self._back_off(kubelet)

    async def _serve_kubelet(self, kubelet: FileIdentity) -> bool:
        """One endpoint, from its socket to its end. Returns whether it was registered."""
        stem = socket_stem(self._settings.plugin, self._resource)
        try:
            async with Endpoint(self._settings.socket_dir, stem, self._board) as endpoint:
                if not await self._register(endpoint):
                    return False
                LOG.info("registered %s with %s", self._resource, self._settings.kubelet_socket)
                self._complaint = ""
                LOG.info("%s", await self._reason_to_leave(endpoint, kubelet))
                return True
        except OSError as error:
            self._complain(str(error))
            return False

    async def _register(self, endpoint: Endpoint) -> bool:
        """Whether the kubelet knows us now."""
        socket = self._settings.kubelet_socket
        async with grpc.aio.insecure_channel(grpc_address(socket), options=CHANNEL_OPTIONS) as channel:
            try:
                await asyncio.wait_for(channel.channel_ready(), CONNECT_S)
            except TimeoutError:
                self._complain(f"{socket} does not answer")
                return False
            # A kubelet sweeps first and listens then: now that it listens, a socket that is there will stay.
            if not endpoint.is_reachable():
                return False
            stub = cast("api_pb2_grpc.RegistrationAsyncStub", api_pb2_grpc.RegistrationStub(channel))
            request = registration(endpoint.socket.name, self._resource, api_pb2.DevicePluginOptions())
            try:
                await stub.Register(request, timeout=REGISTER_S)
            except grpc.aio.AioRpcError as error:
                self._complain(f"the kubelet refused {self._resource}: {error.code().name}: {error.details()}")
                return False
            return True

    async def _reason_to_leave(self, endpoint: Endpoint, kubelet: FileIdentity) -> str:
        """Returns when this endpoint is of no more use, and says why."""
        lost_polls = 0
        while True:
            await asyncio.sleep(POLL_S)
            self._poll_health()
            lost_polls = lost_polls + 1 if endpoint.stream_lost() else 0
            if socket_identity(self._settings.kubelet_socket) != kubelet:
                return "kubelet.sock is another one: the kubelet has restarted"
            if not endpoint.is_reachable():
                return "our socket is gone: the kubelet has restarted"
            if lost_polls * POLL_S > STREAM_LOST_S:
                return "the kubelet has dropped our list"

    def _poll_health(self) -> None:
        path = self._settings.unhealthy_file
        try:
            self._unhealthy = read_ids(path)
        except OSError as error:
            self._complain(f"cannot read {path}: {error.strerror}")
        if self._board.put(with_health(self._devices, self._unhealthy)):
            LOG.info("the list of %s has changed", self._resource)

    async def _back_off(self, kubelet: FileIdentity) -> None:
        """Wait longer each time, but no longer than until another kubelet turns up."""
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, LONGEST_PAUSE_S)
        try:
            async with asyncio.timeout(pause_s):
                while socket_identity(self._settings.kubelet_socket) == kubelet:  # noqa: ASYNC110 - nobody tells us
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            return

    def _complain(self, text: str) -> None:
        """Say it once, not at every try."""
        if text != self._complaint:
            LOG.warning("%s", text)
            self._complaint = text
