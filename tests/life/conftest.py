"""The fixtures that build and start other people's plugins."""

from __future__ import annotations

from tests.interop.conftest import (
    built_sample_device_plugin,
    go,
    rdma_card,
    rdma_machine,
    rdma_shared_device_plugin,
    sample_device_plugin,
    start_isolated,
)

__all__ = [
    "built_sample_device_plugin",
    "go",
    "rdma_card",
    "rdma_machine",
    "rdma_shared_device_plugin",
    "sample_device_plugin",
    "start_isolated",
]
