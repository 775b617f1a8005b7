"""Disks and files that refuse: what the pod sees is the kubelet's word, what helps is told beside, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.errors import UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.plugin.isolation import namespaces_available
from kubelet_sim.node.root_directory.checkpoint_file import MOST_VALUES, read_file
from kubelet_sim.testing.fake_calls import FakeCalls, FakePeer
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import device, pod, registration
from tests.patience import PATIENCE_S

PROJECT = Path(__file__).resolve().parents[2]
WHY_NO_TMPFS = namespaces_available() or next(
    (f"there is no {tool}" for tool in ("unshare", "mount") if shutil.which(tool) is None), None
)
ON_A_SMALL_DISK = 'mount -t tmpfs -o size=256k none "$1" && exec "$2" -m tests.hostile.full_disk "$1"'
NAME = "kubelet_internal_checkpoint"
Body = Callable[[Node, FakePeer], Awaitable[None]]


def _on_node(root: Path, body: Body) -> None:
    async def whole() -> None:
        calls = FakeCalls()
        async with Node(NodeConfig(root=root, has_status_rounds=False), calls=calls) as node:
            peer = calls.peer("p.sock")
            await node.kubelet.register(registration())
            await peer.send(device("a"), device("b"), device("c"))
            await body(node, peer)

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def _warnings(node: Node) -> list[str]:
    return [record.text for record in node.transcript if record.level is RecordLevel.WARNING]


def _text(verdict: object) -> str:
    assert isinstance(verdict, Rejected)
    return verdict.message


def _names(node: Node) -> list[str]:
    return sorted(path.name for path in node.root.layout.device_plugins.iterdir())


# ------------------------------------------------------------------------------------------------------------- writing


@pytest.mark.skipif(WHY_NO_TMPFS is not None, reason=str(WHY_NO_TMPFS))
def test_a_full_disk_refuses_the_pod_and_keeps_the_old_file(tmp_path: Path) -> None:
    """The pod is refused in the kubelet's words; the old file stays, the next write has both. Rules: CP-3, DM-100, DM-135"""
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        ON_A_SMALL_DISK,
        "sh",
        str(tmp_path),
        sys.executable,
    ]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)

    assert f'failed to write checkpoint file "{NAME}": write ' in said["message"]
    assert ": no space left on device" in said["message"]
    assert "free some space" not in said["message"]
    assert said["old_file_stayed"]
    assert said["names"] == ["kubelet.sock", NAME]
    (advice,) = [text for text in said["warnings"] if "free some space" in text]
    assert f"{tmp_path}/root/device-plugins/{NAME}" in advice
    assert said["pods_after"] == ["one", "two"]


def test_a_limit_on_the_size_of_files(short_root: Path) -> None:
    """`ulimit -f` is a small disk of its own; what helps is another remedy. Rules: CP-3, DM-100"""

    async def body(node: Node, _: FakePeer) -> None:
        await node.admit(pod("one"))
        before = read_file(node.root.layout.checkpoint)
        with _files_up_to(len(before)):
            message = _text(await node.admit(pod("two")))
        assert "file too large" in message
        assert read_file(node.root.layout.checkpoint) == before
        assert any("ulimit -f" in text for text in _warnings(node))
        assert _names(node) == ["kubelet.sock", NAME]

    _on_node(short_root, body)


@contextmanager
def _files_up_to(size: int) -> Iterator[None]:
    """No file may become longer; the signal that comes with it is ignored, as Python does it for others."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_directory_that_may_not_be_written(short_root: Path) -> None:
    """A list is dealt with all the same, its failed write is only told; the next one stores everything. Rules: CP-3, DM-136"""

    async def body(node: Node, peer: FakePeer) -> None:
        await node.admit(pod("one"))
        folder = node.root.layout.device_plugins
        before = read_file(folder / NAME)
        with _not_writable(folder):
            await peer.send(device("a"), device("b"), device("c"), device("d"))
            message = _text(await node.admit(pod("two")))
        assert node.status().resources[0].healthy == 4
        assert f'failed to write checkpoint file "{NAME}": open {folder}/.' in message
        assert message.endswith("permission denied, which is unexpected")
        assert read_file(folder / NAME) == before
        assert any(f"make {folder} writable for the user that runs the node" in text for text in _warnings(node))

        assert await node.admit(pod("three")) == Admitted()
        document = decode(read_file(folder / NAME))
        # The refused pod is not active, so that the third one's admission has freed what it held (DM-115).
        assert [entry.pod_uid for entry in document.entries or ()] == ["one", "three"]

    _on_node(short_root, body)


@contextmanager
def _not_writable(folder: Path) -> Iterator[None]:
    mode, user = folder.stat().st_mode, os.geteuid()
    folder.chmod(0o555)
    for parent in folder.parents[:2]:
        parent.chmod(0o755)
    if user == 0:  # modes do not bind root
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(mode)


def test_a_directory_in_the_place_of_the_file(short_root: Path) -> None:
    """The start goes on without it, each write fails until it is moved away. Rules: CP-3, DM-135, DM-143"""
    path = short_root / "device-plugins" / NAME

    async def first(node: Node, _: FakePeer) -> None:
        await node.admit(pod("one"))

    async def second(node: Node, peer: FakePeer) -> None:
        assert any("is a directory" in text and f"(move {path} away: " in text for text in _warnings(node))
        assert "file exists" in _text(await node.admit(pod("one")))
        assert any(f"move {path} away" in text for text in _warnings(node))
        path.rmdir()
        await peer.send(device("a"))
        assert decode(read_file(path)).entries is not None

    _on_node(short_root, first)
    path.unlink()
    path.mkdir()
    _on_node(short_root, second)


@pytest.mark.parametrize("kind", ["socket", "pipe"])
def test_a_socket_or_a_pipe_in_the_place_of_the_file(short_root: Path, kind: str) -> None:
    """The start neither waits nor fails; the first write puts a file there. Rules: DM-8, DM-143"""
    path = short_root / "device-plugins" / NAME

    async def nothing(_node: Node, _peer: FakePeer) -> None:
        return

    async def body(node: Node, _: FakePeer) -> None:
        assert any("the checkpoint is not used" in text for text in _warnings(node))
        assert path.is_file()

    _on_node(short_root, nothing)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    _on_node(short_root, body)


# ------------------------------------------------------------------------------------------------------------- reading


def _many_ids() -> bytes:
    return encode(CheckpointDocument(None, {"example.com/dev": tuple(map(str, range(MOST_VALUES + 1)))}))


@pytest.mark.parametrize("kind", ["500 MB", "ids"])
def test_hostile_sizes_end_the_start(short_root: Path, kind: str) -> None:
    """A file that would take the memory is named, with what to do; it is not replaced, for a kubelet may read it. Rules: DM-143"""
    path = short_root / "device-plugins" / NAME

    async def nothing(_node: Node, _peer: FakePeer) -> None:
        return

    _on_node(short_root, nothing)
    if kind == "ids":
        path.write_bytes(_many_ids())
    else:
        os.truncate(path, 500 * 10**6)
    size = path.stat().st_size

    with pytest.raises(UsageError, match=f"{path}: it .*move the file away"):
        _on_node(short_root, nothing)

    assert path.stat().st_size == size
    path.unlink()
    _on_node(short_root, nothing)


def test_deep_nesting_is_unreadable(short_root: Path) -> None:
    """10,000 levels are no checkpoint: the start goes on without it. Rules: CP-12, DM-143"""
    path = short_root / "device-plugins" / NAME

    async def nothing(_node: Node, _peer: FakePeer) -> None:
        return

    async def body(node: Node, _: FakePeer) -> None:
        assert any("nested too deeply" in text for text in _warnings(node))

    _on_node(short_root, nothing)
    path.write_bytes(b'{"X":' + b"[" * 10_000 + b"]" * 10_000 + b"}")
    _on_node(short_root, body)


def test_a_large_but_possible_file_is_read(short_root: Path) -> None:
    """10,000 devices in use by 1,000 pods are far from the bounds. Rules: CP-15"""
    path = short_root / "device-plugins" / NAME
    ids = [f"device-{number:05}" for number in range(10_000)]
    entries = tuple(
        CheckpointEntry(f"pod-{n}", "main", "example.com/dev", {-1: tuple(ids[n * 10 : n * 10 + 10])}, b"")
        for n in range(1000)
    )

    async def nothing(_node: Node, _peer: FakePeer) -> None:
        return

    async def body(node: Node, _: FakePeer) -> None:
        assert node.status().resources[0].allocated == len(ids)

    _on_node(short_root, nothing)
    path.write_bytes(encode(CheckpointDocument(entries, {"example.com/dev": tuple(ids)})))
    _on_node(short_root, body)
