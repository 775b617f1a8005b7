"""Ways of a good plugin that the faulty one has only when it is told: nothing is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence

from plugins_examples.chassis.sockets import socket_stem
from plugins_examples.faulty.conduct import Conduct
from plugins_examples.pb import api_pb2


def fixed_socket(conduct: Conduct) -> None:
    """Its socket has the same name at each start; gRPC takes a dead one away."""
    conduct.socket_path = lambda folder, resource: folder / f"{socket_stem('faulty', resource)}.sock"


def cdi_annotations(conduct: Conduct) -> None:
    """It names CDI devices in annotations, with a key for each kind of device."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        answer = good(ids)
        kind = ids[0].rpartition("-")[0] if ids else "none"
        answer.annotations[f"cdi.k8s.io/faulty_{kind}"] = ",".join(f"faulty.example.com/{kind}={each}" for each in ids)
        return answer

    conduct.allocate_one = allocate_one
