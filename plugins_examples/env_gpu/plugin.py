"""The plugin: grants by one environment variable and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Plugin
from plugins_examples.env_gpu.inventory import gpu_ids
from plugins_examples.pb import api_pb2

LOG = logging.getLogger(__name__)


class EnvGpu(Plugin):
    """Pretended GPUs, as many as it is told."""

    def __init__(self, resource: str, count: int, variable: str) -> None:
        super().__init__(resource)
        self._gpus = tuple(Device(each) for each in gpu_ids(resource, count))
        self._variable = variable

    def devices(self) -> Sequence[Device]:
        """Always the same: what breaks one is `--unhealthy-file`."""
        return self._gpus

    def allocate(self, ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        """The variable with the granted ids, in the order of the list."""
        granted = ",".join(ids)
        LOG.info("granted %s=%s", self._variable, granted)
        return api_pb2.ContainerAllocateResponse(envs={self._variable: granted})
