"""Faults of what a plugin grants, lets others do, and survives."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import grpc

from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Answer = api_pb2.ContainerAllocateResponse


def _bend(conduct: Conduct, bend: Callable[[Answer], object]) -> None:
    """Change every answer to Allocate before it goes out."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> Answer:
        answer = good(ids)
        bend(answer)
        return answer

    conduct.allocate_one = allocate_one


@fault("mounts-etc", "sec-mount-not-host-root")
def mounts_etc(conduct: Conduct) -> None:
    """It mounts the host's configuration, writable."""
    _bend(conduct, lambda answer: answer.mounts.add(container_path="/host/etc", host_path="/etc"))


@fault("grants-disk", "sec-device-not-memory-or-disk", also="spec-host-path-exists")
def grants_disk(conduct: Conduct) -> None:
    """It grants a whole disk beside the device."""

    def bend(answer: Answer) -> None:
        answer.devices.add(container_path="/dev/scratch", host_path="/dev/sda", permissions="rw")

    _bend(conduct, bend)


@fault("env-only", "sec-env-only-grant", also="spec-device-nodes-or-cdi")
def env_only(conduct: Conduct) -> None:
    """It grants a variable and nothing else."""
    _bend(conduct, lambda answer: answer.ClearField("devices"))


@fault("open-socket", "sec-socket-mode")
def open_socket(conduct: Conduct) -> None:
    """Everyone may write to its socket."""

    def at_start() -> None:
        os.umask(0)

    conduct.at_start = at_start


@fault("silent-without-rights", "sec-clear-permission-error")
def silent_without_rights(conduct: Conduct) -> None:
    """Where it may not write it waits, and says nothing."""
    conduct.complains_of_rights = False


class _Fragile(grpc.GenericRpcHandler):
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> None:
        """Nothing, unless it does not know the method: that is the end."""
        if handler_call_details.method.endswith("/Nonsense"):
            os._exit(2)


@fault("dies-of-unknown-method", "sec-survives-bad-input")
def dies_of_unknown_method(conduct: Conduct) -> None:
    """A method that it does not know is its end."""
    conduct.handlers = [_Fragile()]
