"""Kubelets of every release, over real sockets."""

from __future__ import annotations

import asyncio
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from kubelet_sim.profiles import RELEASES
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.play.report import wrong_step_text
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from kubelet_sim.wire.plugin_client import GrpcPluginCalls
from tests.wire.helpers import run, soon

RESOURCE = "example.com/dev"


def _container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {RESOURCE: 1}}, **more}


def _flow(version: str, gates: dict[str, bool]) -> dict[str, Any]:
    """The main flow of the recorded stories: a plugin, a pod with containers of every kind, a kubelet restart, the end."""
    plugin = {
        "resource": RESOURCE,
        "socket": "p.sock",
        "devices": [{"id": "a", "numa": [0]}, {"id": "b", "numa": [0, 1]}, {"id": "c", "numa": []}, {"id": "d"}],
        "options": {"preStart": True, "preferred": True},
        "request_options": {"preStart": True, "preferred": True},
        "preferred": {"ids": ["b", "a"]},
        "allocate": {"envs": {"IDS": "{ids}"}, "cdi": ["vendor.com/class=one"]},
    }
    init = [_container("first"), _container("side", restartPolicy="Always")]
    spec = {"initContainers": init, "containers": [_container("main")]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "uid": "one"}, "spec": spec}
    registered = {"code": "OK", "message": ""}
    admitted = {"admit": True, "reason": "", "message": ""}
    names = ("first", "side", "main")
    return {
        "name": f"flow-{version}",
        "node": {"version": version, "gates": gates, "numa": [0, 1], "policy": "best-effort"},
        "plugins": {"p": plugin},
        "steps": [
            {"do": "register", "plugin": "p", "expect": registered},
            {"do": "capacity"},
            {"do": "admit", "pod": pod, "expect": admitted},
            *({"do": "container", "pod": "one", "container": name} for name in names),
            {"do": "restart", "running": [["one", "side"], ["one", "main"]], "ready": False},
            {"do": "admit", "pod": pod},
            {"do": "stop", "plugin": "p"},
            {"do": "register", "plugin": "p", "expect": registered},
            {"do": "ready", "value": True},
            {"do": "admit", "pod": pod, "expect": admitted},
            {"do": "update", "plugin": "p", "devices": [{"id": "b", "health": "Ill", "numa": [1]}]},
            {"do": "status", "pod": "one"},
            {"do": "drop", "plugin": "p"},
            {"do": "remove", "pod": "one"},
            {"do": "advance", "seconds": 400},
            {"do": "capacity"},
        ],
    }


@pytest.mark.parametrize(
    "version, gates",
    [
        *((version, {}) for version in RELEASES),
        ("1.28", {"SidecarContainers": True, "DevicePluginCDIDevices": True}),
        ("1.31", {"AllAlpha": True}),
        ("1.36", {"AllAlpha": True}),
    ],
)
def test_the_main_flow_under_every_release(version: str, gates: dict[str, bool]) -> None:
    """Each step can be done, and what every release agrees on comes."""
    played = asyncio.run(play(story_from_mapping(_flow(version, gates))))
    assert played.wrong is None, wrong_step_text(played)
    assert all(not step.failure for step in played.steps)


class _Notes(grpc.GenericRpcHandler):
    """Answers everything with nothing, and takes the authority of each call down."""

    def __init__(self) -> None:
        self.authorities: list[str] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        del handler_call_details

        def answer(_request: bytes, context: Any) -> bytes:
            self.authorities.append(context._rpc_event.call_details.host.decode())
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.mark.parametrize("is_localhost", [True, False])
def test_the_authority_of_calls(is_localhost: bool) -> None:
    """`localhost` since 1.26; before, a plugin's server sees the path of its socket. Rules: DM-40, DM-163, DM-169"""

    async def body(directory: Path) -> None:
        path, notes = directory / "p.sock", _Notes()
        server = grpc.server(futures.ThreadPoolExecutor(1))
        server.add_generic_rpc_handlers([notes])
        server.add_insecure_port(f"unix:{path}")
        server.start()
        connection = GrpcPluginCalls(authority_is_localhost=is_localhost).connection(str(path))
        try:
            await soon(connection.get_device_plugin_options())
        finally:
            await connection.close()
            server.stop(None).wait()
        assert notes.authorities == ["localhost" if is_localhost else str(path)]

    run(body)
