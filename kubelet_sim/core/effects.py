"""What the core asks the world to do. Imperative; each says what it answers with: `Effect[T]`.

A walk yields them one by one and gets the answer back, or the failure thrown in; a fact hands them over in the order in
which they are to be performed.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from attrs import frozen

from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import ClientID, DeviceID, PodUID, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, PluginSocket

T = TypeVar("T")
R = TypeVar("R")


class Effect(Generic[T]):
    """Something for the world to do, answered with a `T`."""

    __slots__ = ()


Walk = Generator[Effect[Any], Any, R]
"""A decision that needs answers in the middle. It yields only where the kubelet lets its lock go."""


def ask(effect: Effect[T]) -> Generator[Effect[T], T, T]:
    """Perform one effect inside a walk: `answer = yield from ask(...)`."""
    return (yield effect)


@frozen
class AnswerCaller(Effect[None]):
    """Let whoever waits for the walk go; the rest of it is done without them. Rules: DM-163"""


@frozen
class Dial(Effect[None]):
    """Connect to the plugin's socket, waiting at most 10 s. Raises `DialFailed`. Rules: DM-40"""

    client: ClientID
    resource: ResourceName
    socket: PluginSocket
    """As the plugin sent it; the node joins a name to the device-plugin directory. Rules: DM-25, DM-150"""


@frozen
class CallGetDevicePluginOptions(Effect[PluginOptions]):
    """Raises `RpcFailed`. No deadline but the Register caller's. Rules: DM-26, DM-30"""

    client: ClientID


@frozen
class OpenListAndWatch(Effect[None]):
    """Start reading the plugin's list, in the background; answered at once. Rules: DM-26, DM-42"""

    client: ClientID


@frozen
class CloseConnection(Effect[None]):
    """Close it; calls in progress on it fail. Rules: DM-44"""

    client: ClientID


@frozen
class CallAllocate(Effect[AllocateAnswer]):
    """One container request with these ids. No deadline. Raises `RpcFailed`. Rules: DM-98"""

    client: ClientID
    device_ids: tuple[DeviceID, ...]


@frozen
class CallGetPreferredAllocation(Effect[tuple[DeviceID, ...]]):
    """One container request; answered with the ids of the first response, none if there is none. No deadline.

    Raises `RpcFailed`. Rules: DM-94, DM-95
    """

    client: ClientID
    available: tuple[DeviceID, ...]
    must_include: tuple[DeviceID, ...]
    size: int


@frozen
class CallPreStartContainer(Effect[None]):
    """With all ids of the container; 30 s. Raises `RpcFailed`. Rules: DM-103"""

    client: ClientID
    device_ids: tuple[DeviceID, ...]


@frozen
class TakeAdmissionTurn(Effect[bool]):
    """Wait until no admission and no other late allocation is under way; held to the end of the walk.

    Answered with whether there was one. Rules: DM-86
    """


@frozen
class NotifyPodHealth(Effect[None]):
    """Have the status of these pods brought up to date now; each is named once. Rules: DM-157, DM-158, DM-174"""

    pods: tuple[PodUID, ...]


@frozen
class WriteCheckpoint(Effect[None]):
    """Store the document in place of the one there is. Raises `CheckpointNotWritten`. Rules: CP-2, CP-3"""

    document: CheckpointDocument
