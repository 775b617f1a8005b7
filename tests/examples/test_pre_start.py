"""The example with PreStartContainer: what a reset leaves, and what one that fails says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from plugins_examples.pb import api_pb2
from plugins_examples.pre_start.plugin import PreStart
from tests.examples.fleet import Example, Fleet
from tests.patience import PATIENCE_S

RESOURCE = "example.com/accelerator"


def _resets(directory: Path) -> dict[str, int]:
    return {path.name: len(path.read_text().splitlines()) for path in directory.iterdir()}


def test_resets_before_each_start(run_example: Callable[[str], tuple[Fleet, Example]]) -> None:
    """Each call resets each device once; if one is stuck the call fails, names it, and resets none; then it works again."""
    fleet, example = run_example("pre_start")
    place = fleet.place(example)
    both = api_pb2.PreStartContainerRequest(devices_ids=["accelerator-1", "accelerator-0"])
    one = api_pb2.PreStartContainerRequest(devices_ids=["accelerator-1"])
    with fleet.call(RESOURCE) as plugin:
        plugin.PreStartContainer(both, timeout=PATIENCE_S)
        plugin.PreStartContainer(one, timeout=PATIENCE_S)
        assert _resets(place / "resets") == {"accelerator-0.log": 1, "accelerator-1.log": 2}
        (place / "stuck").write_text("accelerator-0\n")
        with pytest.raises(grpc.RpcError) as caught:
            plugin.PreStartContainer(both, timeout=PATIENCE_S)
        assert isinstance(caught.value, grpc.Call)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert caught.value.details() == "cannot reset accelerator-0"
        assert _resets(place / "resets") == {"accelerator-0.log": 1, "accelerator-1.log": 2}
        (place / "stuck").unlink()
        plugin.PreStartContainer(both, timeout=PATIENCE_S)
        assert _resets(place / "resets") == {"accelerator-0.log": 2, "accelerator-1.log": 3}


def test_refuses_ids_that_it_never_listed(run_example: Callable[[str], tuple[Fleet, Example]]) -> None:
    """An id becomes part of a file's name: one that leads elsewhere is refused before."""
    fleet, example = run_example("pre_start")
    strange = api_pb2.PreStartContainerRequest(devices_ids=["../accelerator-0"])
    with fleet.call(RESOURCE) as plugin, pytest.raises(grpc.RpcError) as caught:
        plugin.PreStartContainer(strange, timeout=PATIENCE_S)
    assert isinstance(caught.value, grpc.Call)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not list(fleet.place(example).rglob("*.log"))


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    """A place for the logs that cannot be made is an error at the start."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        PreStart(RESOURCE, 1, tmp_path / "file" / "resets", None).start()
