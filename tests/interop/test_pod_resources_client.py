"""A client in Go, with Kubernetes' own package of the pod resources API, against a node of ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted
from kubelet_sim.node.sync import SyncNode
from kubelet_sim.testing.fake_plugin import FakePlugin
from tests.interop.looking import BUILD_LIMIT_S
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.timeout(BUILD_LIMIT_S)
RESOURCE = "example.com/dev"


def ask(client: Path, socket: str, *names: str) -> list[dict[str, Any]]:
    """What each call of the client brought: List of both versions, GetAllocatableResources, Get for each name."""
    done = subprocess.run([client, socket, *names], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def entry(device: str, *nodes: int) -> dict[str, Any]:
    """An entry as protobuf's JSON has it: zero values are left out, node 0 is an empty node."""
    bare = {"resource_name": RESOURCE, "device_ids": [device]}
    return bare | ({"topology": {"nodes": [{"ID": str(node)} if node else {} for node in nodes]}} if nodes else {})


def test_kubernetes_own_client_reads_the_node(
    pod_resources_client: Path, kubelet: SyncNode, fake_plugin: Callable[..., FakePlugin]
) -> None:
    """Every call, before and after a restart; refusals as status; then the rate limit. Rules: PR-4, PR-6, PR-8…PR-10, PR-16"""
    devices = [{"id": "a", "numa": [0]}, {"id": "b", "numa": [0, 1]}, {"id": "c"}]
    plugin = fake_plugin(RESOURCE, devices=devices)
    plugin.register()
    container = {"name": "main", "image": "x", "resources": {"limits": {RESOURCE: 3}}}
    manifest = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    assert kubelet.admit(pod_from_mapping(manifest)) == Admitted()
    kubelet.wait_for(lambda now: now.pods[0].phase == "Running")
    entries = [entry("a", 0), entry("b", 0), entry("b", 1), entry("c")]
    pod = {"name": "p", "namespace": "default", "containers": [{"name": "main", "devices": entries}]}
    bare = [entry("a"), entry("b"), entry("b"), entry("c")]
    older = {"name": "p", "namespace": "default", "containers": [{"name": "main", "devices": bare}]}
    missing = {"error": "rpc error: code = Unknown desc = pod q in namespace default not found"}
    held = [{"pod_resources": [pod]}, {"pod_resources": [older]}]
    answers = ask(pod_resources_client, kubelet.pod_resources_socket, "p", "q")
    assert answers == [*held, {"devices": entries}, {"pod_resources": pod}, missing]
    kubelet.restart()
    answers = ask(pod_resources_client, kubelet.pod_resources_socket, *"ppppppppp")
    assert answers[:4] == [*held, {}, {"pod_resources": pod}]
    refused = {"error": "rpc error: code = ResourceExhausted desc = rejected by rate limit"}
    assert answers[-2:] == [refused, refused]
