"""The plugin: one of several resources of a card, each with a socket, a registration and a stream of its own.

The kubelet knows nothing of a card. To it these are plugins that have nothing to do with each other: it connects to each,
may refuse one and take the other, and merges what they answer for a container that asks for both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Plugin, with_nodes
from plugins_examples.pb import api_pb2


class Units(Plugin):
    """Pretended units of one kind."""

    def __init__(self, resource: str, count: int) -> None:
        super().__init__(resource)
        self._kind = resource.partition("/")[2]
        self._ids = tuple(f"{self._kind}-{number}" for number in range(count))

    def devices(self) -> Sequence[Device]:
        """Ids need to differ within a resource only."""
        return tuple(Device(each) for each in self._ids)

    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """The devices, and their ids in a variable that no other resource uses: of two with the same name a container would get either."""
        return with_nodes(api_pb2.ContainerAllocateResponse(envs={variable_of(self._kind): ",".join(ids)}), ids)


def variable_of(kind: str) -> str:
    """The variable of a kind: `ENCODER_IDS` for `encoder`."""
    return re.sub(r"\W", "_", kind.upper()) + "_IDS"
