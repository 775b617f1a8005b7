"""The plugin: puts each device back into a known state before every start of a container that has it.

Allocate is called once for a container, PreStartContainer at each start. A container that crashes and starts again finds
what its forerunner left, if nobody clears it up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import grpc

from plugins_examples.chassis.devices import Device, read_ids
from plugins_examples.chassis.plugin import Plugin, Refused, with_nodes
from plugins_examples.pb import api_pb2


class PreStart(Plugin):
    """Pretended accelerators, each with a log of its resets."""

    def __init__(self, resource: str, count: int, reset_dir: Path, stuck_file: Path | None) -> None:
        super().__init__(resource)
        self._ids = tuple(f"accelerator-{number}" for number in range(count))
        self._reset_dir = reset_dir
        self._stuck_file = stuck_file

    def start(self) -> None:
        """A directory that cannot be made is found now, rather than at a container's start."""
        self._reset_dir.mkdir(parents=True, exist_ok=True)

    def devices(self) -> Sequence[Device]:
        """A stuck device is not unhealthy yet: perhaps it can be reset the next time."""
        return tuple(Device(each) for each in self._ids)

    def options(self) -> api_pb2.DevicePluginOptions:
        """Without this, `pre_start` is never called."""
        return api_pb2.DevicePluginOptions(pre_start_required=True)

    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """The devices. Nothing is reset yet: the container may start much later, or never."""
        return with_nodes(api_pb2.ContainerAllocateResponse(envs={"ACCELERATORS": ",".join(ids)}), ids)

    def pre_start(self, ids: Sequence[str]) -> None:
        """Reset all or none. The kubelet waits 30 s; if it fails, the container does, and is tried again later."""
        try:
            stuck = read_ids(self._stuck_file)
        except OSError as error:
            raise Refused(f"cannot tell what is stuck: {error}", grpc.StatusCode.INTERNAL) from error
        if which := [each for each in ids if each in stuck]:
            raise Refused(f"cannot reset {', '.join(which)}", grpc.StatusCode.FAILED_PRECONDITION)
        for each in ids:
            self._reset(each)

    def _reset(self, device: str) -> None:
        """Another device would be written to here. A line in its log has to do."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            with (self._reset_dir / f"{device}.log").open("a", encoding="utf-8") as log:
                log.write(f"{now} reset\n")
        except OSError as error:
            raise Refused(f"cannot reset {device}: {error}", grpc.StatusCode.INTERNAL) from error
