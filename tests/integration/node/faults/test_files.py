"""Faults of files: what is changed, and that it is changed back."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_IMODE

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.faults import Fault
from tests.integration.node.bench import Bench, RunOnBench


def test_a_directory_without_rights_gets_its_mode_back(on_bench: RunOnBench) -> None:
    """The mode that it had before."""

    async def body(bench: Bench) -> None:
        directory = bench.node.root.layout.device_plugins
        directory.chmod(0o750)
        fault = await bench.node.inject(Fault("no-rights"))
        assert S_IMODE(directory.stat().st_mode) == 0
        assert "the mode 000 instead of 750" in fault.did
        await fault.undo()
        assert S_IMODE(directory.stat().st_mode) == 0o750
        with pytest.raises(UsageError, match="octal digits"):
            await bench.node.inject(Fault("no-rights", {"mode": "9"}))

    on_bench(body)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_stale_socket_of_a_foreign_owner(on_bench: RunOnBench) -> None:
    """It is there, is theirs, and is removed again."""

    async def body(bench: Bench) -> None:
        fault = await bench.node.inject(Fault("stale-socket", {"name": "theirs.sock", "owner": 65534}))
        path = bench.node.root.layout.device_plugins / "theirs.sock"
        assert path.lstat().st_uid == 65534
        await fault.undo()
        assert not path.exists()

    on_bench(body)


def test_a_socket_that_somebody_else_has_made_meanwhile_stays(on_bench: RunOnBench) -> None:
    """Only the file of the fault is removed."""

    async def body(bench: Bench) -> None:
        fault = await bench.node.inject(Fault("stale-socket"))
        path = bench.node.root.layout.device_plugins / "stale.sock"
        path.rename(path.with_name("away"))
        path.write_text("somebody else's")
        await fault.undo()
        assert path.read_text() == "somebody else's"

    on_bench(body)


def test_what_was_made_in_place_of_a_missing_directory_is_kept(on_bench: RunOnBench) -> None:
    """Newer files win, older sockets stay: plugins serve on them."""

    async def body(bench: Bench) -> None:
        directory = bench.node.root.layout.device_plugins
        (directory / "checkpoint").write_text("old")
        fault = await bench.node.inject(Fault("missing-directory"))
        directory.mkdir()
        (directory / "checkpoint").write_text("new")
        with pytest.raises(UsageError, match="gone already"):
            await bench.node.inject(Fault("missing-directory"))
        await fault.undo()
        assert (directory / "checkpoint").read_text() == "new"
        assert (directory / "kubelet.sock").is_socket()
        assert not directory.with_name("device-plugins.away").exists()

    on_bench(body)


def test_a_change_that_cannot_be_taken_back_is_told(on_bench: RunOnBench) -> None:
    """As a warning; the fault is over all the same."""

    async def body(bench: Bench) -> None:
        fault = await bench.node.inject(Fault("missing-directory"))
        directory = bench.node.root.layout.device_plugins
        directory.with_name("device-plugins.away").rename(directory.with_name("elsewhere"))
        await fault.undo()
        assert fault.is_over
        assert any("could not be taken back" in text for text in bench.texts())
        directory.with_name("elsewhere").rename(directory)

    on_bench(body)


def test_nothing_is_broken_without_our_marker(on_bench: RunOnBench) -> None:
    """A root whose marker has gone may be anybody's."""

    async def body(bench: Bench) -> None:
        bench.node.root.layout.marker.unlink()
        for name in ("delete-kubelet-socket", "no-rights", "missing-directory", "stale-socket", "truncate-checkpoint"):
            with pytest.raises(UsageError, match="does not lie below a root that kubelet-sim made"):
                await bench.node.inject(Fault(name))
        assert Path(bench.node.root.layout.registration_socket).is_socket()

    on_bench(body)
