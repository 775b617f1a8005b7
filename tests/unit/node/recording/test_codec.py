"""Values to JSON and back."""

from __future__ import annotations

import json

import pytest

from kubelet_sim.core.effects import CallAllocate, WriteCheckpoint
from kubelet_sim.core.facts import (
    Applied,
    CheckpointRestored,
    DevicesListed,
    RestoredEntry,
    RuntimeListed,
    StatusRoundDue,
    StreamEnded,
)
from kubelet_sim.core.walks import AdmissionAsked, PreparationAsked, RegisterAsked, ResizeAsked
from kubelet_sim.errors import PreparationFailed, RpcFailed, UsageError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.response import ContainerResponse, ContainerSpec, Mount
from kubelet_sim.node.recording.codec import decode, encode

DEV = ResourceName("example.com/dev")
POD = pod_from_mapping(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "labels": {"a": "b"}},
        "spec": {
            "initContainers": [{"name": "side", "restartPolicy": "Always"}],
            "containers": [{"name": "main", "resources": {"limits": {DEV: "2", "cpu": "500m"}}}],
        },
    }
)
RESPONSE = ContainerResponse({"K": "\x00[bold]"}, (Mount("/a", "/b", read_only=True),), raw=b"\xff\x00")
VALUES = [
    DevicesListed(
        ClientID(1), (Device(DeviceID("a")), Device(DeviceID(""), "bad", (NumaNode(0),)), Device(DeviceID("c"), "", ()))
    ),
    StreamEnded(ClientID(2), 1.5),
    RuntimeListed(frozenset({(PodUID("u"), ContainerName("c")), (PodUID("t"), ContainerName("c"))})),
    StatusRoundDue(3.0),
    CheckpointRestored(
        (RestoredEntry(PodUID("u"), ContainerName("c"), DEV, {NumaNode(-1): (DeviceID("a"),)}, RESPONSE),), (DEV,), 0.0
    ),
    AdmissionAsked(POD),
    ResizeAsked(POD),
    PreparationAsked(POD, ContainerName("main")),
    RegisterAsked(Registration("v1beta1", "p.sock", DEV, PluginOptions(pre_start_required=True))),
    CallAllocate(ClientID(1), (DeviceID("a"), DeviceID("b"))),
    AllocateAnswer((RESPONSE,)),
    Admitted(),
    Rejected("R", "m"),
    ContainerSpec(envs=(("A", "b"),)),
    ("a", "b"),
    7,
    None,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    """What went through JSON equals what went in: topology absent and topology empty are two things, bytes stay bytes."""
    assert decode(json.loads(json.dumps(encode(value)))) == value


def test_a_pod_keeps_its_manifest() -> None:
    """The manifest does not count for equality, but container specs are made from it: it comes back, too."""
    assert decode(json.loads(json.dumps(encode(AdmissionAsked(POD))))).pod.manifest == POD.manifest


@pytest.mark.parametrize(
    "failure", [RpcFailed("Internal", "bad device"), PreparationFailed("text", rule="DM-103", shown="shown")]
)
def test_a_failure_comes_back_with_its_facts(failure: Exception) -> None:
    """A failure has the same type, text and fields again."""
    back = decode(json.loads(json.dumps(encode(failure))))
    assert (type(back), str(back), vars(back)) == (type(failure), str(failure), vars(failure))
    ended = decode(encode(StreamEnded(ClientID(1), 0.0, RpcFailed("Unavailable", "gone"))))
    assert str(ended.error) == "rpc error: code = Unavailable desc = gone"


def test_a_checkpoint_is_counted_only() -> None:
    """What a checkpoint holds follows from what came before it."""
    document = CheckpointDocument((CheckpointEntry(),), {"a": ("x", "y"), "b": None})
    applied = Applied(None, (WriteCheckpoint(document),))
    counted = {"type": "WriteCheckpoint", "records": 1, "registered": {"a": 2, "b": 0}}
    assert encode(applied) == {"answer": None, "effects": [counted]}


@pytest.mark.parametrize(
    "value, text",
    [
        ({"type": "Nonsense"}, "Nonsense"),
        ({"error": "Nonsense"}, "Nonsense"),
        ({"error": "RpcFailed", "colour": "red"}, "RpcFailed"),
        ({"a": 1}, "without its type"),
        ({"type": "StatusRoundDue", "at_s": "soon"}, "StatusRoundDue"),
        ({"type": "StatusRoundDue", "at_s": 1.0, "colour": "red"}, "StatusRoundDue"),
    ],
)
def test_what_is_none_of_ours_is_refused(value: object, text: str) -> None:
    """A transcript that somebody edited, or of a later version, is said to be so."""
    with pytest.raises(UsageError, match=text):
        decode(value)


def test_what_cannot_be_written_is_refused() -> None:
    """A value that no reader could make again is a mistake of whoever records it."""
    with pytest.raises(UsageError, match="object"):
        encode(object())
