"""Faults on a node with real sockets, for callers without an event loop."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.faults import Fault
from kubelet_sim.node.sync import SyncNode
from kubelet_sim.testing.fake_plugin import FakePlugin

RESOURCE = "example.com/dev"


def test_a_fault_is_undone_with_its_context(kubelet: SyncNode) -> None:
    """Register is refused as long as the block lasts, and the fault knows how often."""
    with FakePlugin(kubelet, RESOURCE) as plugin:
        with kubelet.inject(Fault("refuse-register", {"text": "not now"})) as refused:
            with pytest.raises(RpcFailed, match="not now"):
                plugin.register()
            assert refused.view().applied == 1
            assert [each.view().name for each in kubelet.faults()] == ["refuse-register"]
        plugin.register()
        assert kubelet.faults() == ()
        assert not refused.view().is_active


def test_a_stream_is_cut_and_the_plugin_registers_again(kubelet: SyncNode) -> None:
    """The socket stays, devices are unhealthy until then. Rules: DM-42, DM-44"""
    with FakePlugin(kubelet, RESOURCE) as plugin:
        plugin.register()
        cut = kubelet.inject(Fault("cut-stream", resource=RESOURCE)).view()
        assert (cut.did, cut.undo) == (f"the stream of {RESOURCE} is cut", "nothing to undo: it has happened")
        kubelet.wait_for(lambda node: [each.healthy for each in node.resources] == [0])
        plugin.register()
        kubelet.wait_for(lambda node: [each.healthy for each in node.resources] == [2])
