"""The other way to a kubelet: serve on a socket in its `plugins_registry`, and be found.

The kubelet watches that directory, asks what it finds there, and says how it went. It does not clean the directory when it
restarts: our socket stays, and is found again. It tries again by itself what failed, but for one thing: a plugin whose
connection it has dropped it takes back only with a new socket.
"""

from __future__ import annotations

import logging
import time

import grpc

from plugins_examples.chassis.lifecycle import FIRST_PAUSE_S, POLL_S, STREAM_LOST_S, Lifecycle
from plugins_examples.chassis.plugin import API_VERSION
from plugins_examples.chassis.service import Endpoint
from plugins_examples.chassis.sockets import socket_stem
from plugins_examples.pb import registration_pb2, registration_pb2_grpc

LOG = logging.getLogger(__name__)


class Registration(registration_pb2_grpc.RegistrationServicer):
    """Says who we are, and hears how it went."""

    def __init__(self, resource: str) -> None:
        self._resource = resource

    def GetInfo(  # noqa: N802
        self,
        request: registration_pb2.InfoRequest,  # noqa: ARG002
        context: grpc.ServicerContext,  # noqa: ARG002
    ) -> registration_pb2.PluginInfo:
        """Without an endpoint: this socket serves the resource, too."""
        return registration_pb2.PluginInfo(type="DevicePlugin", name=self._resource, supported_versions=[API_VERSION])

    def NotifyRegistrationStatus(  # noqa: N802
        self,
        request: registration_pb2.RegistrationStatus,
        context: grpc.ServicerContext,  # noqa: ARG002
    ) -> registration_pb2.RegistrationStatusResponse:
        """Nothing to do but to tell it: the kubelet tries again."""
        if request.plugin_registered:
            LOG.info("the kubelet has found %s", self._resource)
        else:
            LOG.warning("the kubelet did not register %s: %s", self._resource, ascii(request.error))
        return registration_pb2.RegistrationStatusResponse()


class FoundLifecycle(Lifecycle):
    """The life of a plugin that lets itself be found. No kubelet need be there."""

    def _serve_once(self) -> None:
        """One socket, from its making until it is gone or of no more use."""
        registry = self._settings.registry or self._settings.socket_dir
        try:
            stem = socket_stem(self._settings.plugin, self.resource)
            endpoint = Endpoint(registry, stem, self._plugin, self._inventory, self._add_registration)
        except OSError as error:
            self._complain(str(error))
            self._stopping.wait(FIRST_PAUSE_S)
            return
        LOG.info("waiting to be found on %s", endpoint.socket)
        self._complaint = ""
        try:
            self._watch_until_lost(endpoint)
        finally:
            endpoint.close()

    def _add_registration(self, server: grpc.Server) -> None:
        registration_pb2_grpc.add_RegistrationServicer_to_server(Registration(self.resource), server)

    def _watch_until_lost(self, endpoint: Endpoint) -> None:
        """Returns when another socket is needed, or when we are to stop."""
        lost_since: float | None = None
        while not self._stopping.wait(POLL_S):
            self._poll_devices()
            now = time.monotonic()
            lost_since = None if not endpoint.stream_lost() else lost_since or now
            if not endpoint.is_reachable():
                LOG.info("our socket is gone")
                return
            if lost_since is not None and now - lost_since > STREAM_LOST_S:
                LOG.info("the kubelet has dropped our list")
                return
