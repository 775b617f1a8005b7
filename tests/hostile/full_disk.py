"""A node on a disk that is full, as a program: `python -m tests.hostile.full_disk DIRECTORY`.

The directory is a small file system of its own. Prints what came of it as JSON; what that has to be is `test_disks`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from kubelet_sim.model.admission import Rejected
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.root_directory.checkpoint_file import read_file
from kubelet_sim.testing.fake_calls import FakeCalls
from kubelet_sim.transcript import RecordLevel
from tests.integration.node.bench import device, pod, registration
from tests.patience import PATIENCE_S


async def story(folder: Path) -> dict[str, Any]:
    """Admit a pod, fill the disk, admit another, make room, list again."""
    calls = FakeCalls()
    async with Node(NodeConfig(root=folder / "root", has_status_rounds=False), calls=calls) as node:
        peer = calls.peer("p.sock")
        await node.kubelet.register(registration())
        await peer.send(device("a"), device("b"), device("c"))
        await node.admit(pod("one"))
        before = read_file(node.root.layout.checkpoint)

        fill(folder / "filler")
        verdict = await node.admit(pod("two"))
        during = read_file(node.root.layout.checkpoint)
        names = sorted(path.name for path in node.root.layout.device_plugins.iterdir())
        (folder / "filler").unlink()

        await peer.send(device("a"), device("b"), device("c"))
        after = read_file(node.root.layout.checkpoint)
        warnings = [each.text for each in node.transcript if each.level is RecordLevel.WARNING]
    return {
        "message": verdict.message if isinstance(verdict, Rejected) else None,
        "old_file_stayed": before == during,
        "names": names,
        "warnings": warnings,
        "pods_after": [uid for uid in ("one", "two") if f'"{uid}"'.encode() in after],
    }


def fill(path: Path) -> None:
    """Take every byte that is left."""
    with path.open("wb", buffering=0) as file:
        for size in (2**16, 2**10, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(asyncio.wait_for(story(Path(sys.argv[1])), PATIENCE_S))))
