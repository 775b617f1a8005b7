"""Nodes killed in the middle of work, one after the other on the same root, as a program.

`python -m tests.life.kills ROOT SEED ROUNDS` prints what came of it as JSON. A round forks a node, lets it work for a random
time, kills it with SIGKILL, and holds what is on disk against what the node had noted. Imports are done once; nothing here
makes a thread or opens a connection, so that forking is safe.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.core.checkpoint_file.document_text import checksum
from kubelet_sim.errors import CheckpointError
from kubelet_sim.model.checkpoint import CheckpointDocument
from tests.life import busy_node

PROJECT = Path(__file__).resolve().parents[2]
LONGEST_S = 0.4
"""Of a round. A node is ready after some 50 ms, so that some are killed while they start."""
Ids = dict[str, list[str]]


@define
class Tale:
    """What is known of the world beside the node: what the API server and the disk have to agree with."""

    wanted: dict[str, int] = field(factory=dict)
    """Every pod that exists, by uid."""
    sure: Ids = field(factory=dict)
    """Devices of pods whose admission was answered, and that nobody has asked to remove."""
    on_disk: int | None = None
    """The checksum that is durable."""
    begun: list[int] = field(factory=list)
    """Those of writes begun since."""
    file: Ids = field(factory=dict)
    """Devices by pod in the file after the last kill."""
    counts: Counter[str] = field(factory=Counter)
    problems: list[str] = field(factory=list)

    def hear(self, line: bytes) -> None:
        """One line of a node's notes."""
        kind, *rest = json.loads(line)
        self.counts[kind] += 1
        match kind, rest:
            case "begun", [number]:
                self.begun.append(number)
            case "durable", [number] if number in self.begun:  # else a later write is told of first, and counts
                self.begun = self.begun[self.begun.index(number) + 1 :]
                self.on_disk = number
            case "restored", [ids, shared]:
                if ids != self.file or shared:
                    self.problems.append(f"restored {ids}, shared {shared}, from a file with {self.file}")
            case "admitting", [uid, count]:
                self.wanted[uid] = count
            case "admitted", [uid, ids]:
                if self.sure.get(uid, ids) != ids:
                    self.problems.append(f"{uid} had {self.sure[uid]} and has {ids}")
                self.sure[uid] = ids
            case "removing", [uid]:
                self.wanted.pop(uid, None)
                self.sure.pop(uid, None)
            case "problem", [text]:
                self.problems.append(text)

    def look(self, path: Path) -> None:
        """Hold the file against what is known. Rules: CP-3, CP-13, DM-100, DM-135, DM-136"""
        try:
            document = decode(path.read_bytes()) if path.exists() else CheckpointDocument()
        except CheckpointError as failure:
            self.problems.append(f"the file is not whole: {failure}")
            return
        number = checksum(document) if path.exists() else None
        if number not in (self.on_disk, *self.begun):
            self.problems.append(f"the file is {number}, neither {self.on_disk}, the old one, nor any of {self.begun}")
        self.counts["new file" if number in self.begun else "old file"] += 1
        self.on_disk, self.begun = number, []
        self.file = {}
        for entry in document.entries or ():
            ids = {device for devices in (entry.devices or {}).values() for device in devices or ()}
            self.file[entry.pod_uid] = sorted({*self.file.get(entry.pod_uid, ()), *ids})
        for device, holders in Counter(device for ids in self.file.values() for device in ids).items():
            if holders > 1:
                self.problems.append(f"{device} is held by {holders} pods")
        for uid, held in self.sure.items():
            if self.file.get(uid) != held:
                self.problems.append(f"{uid} has {held}, the file says {self.file.get(uid)}")


def one_round(root: Path, tale: Tale, chance: random.Random) -> None:
    """Fork, work, kill, look."""
    reading, writing = os.pipe()
    lasts_s, seed = chance.uniform(0, LONGEST_S), chance.getrandbits(32)
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            busy_node.run(root, tale.wanted, seed, writing)
        finally:
            os._exit(1)
    os.close(writing)
    ends_at = time.monotonic() + lasts_s
    rest = b""
    try:
        while (left_s := ends_at - time.monotonic()) > 0 and select.select([reading], [], [], left_s)[0]:
            if not (data := os.read(reading, 2**16)):
                break
            rest += data
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    while data := os.read(reading, 2**16):
        rest += data
    os.close(reading)
    for line in rest.splitlines():
        tale.hear(line)
    tale.look(root / "device-plugins" / "kubelet_internal_checkpoint")


@contextmanager
def busy_plugin(socket: Path) -> Iterator[None]:
    """The plugin, as a process of its own, for as long as it is needed."""
    command = [sys.executable, "-m", "tests.life.busy_plugin", str(socket)]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.stdin.close()


def main(root: Path, seed: int, rounds: int) -> None:
    """Run them all; stops at the first problem."""
    tale, done = Tale(), 0
    chance = random.Random(seed)  # noqa: S311 - moments to kill at, no secrets
    with busy_plugin(root / "plugin" / "p.sock"):
        while done < rounds and not tale.problems:
            one_round(root, tale, chance)
            done += 1
    left = sum(path.name.startswith(".") for path in (root / "device-plugins").iterdir())
    said = {
        "rounds": done,
        "seed": seed,
        "problems": tale.problems,
        "counts": tale.counts,
        "temporary files left": left,
    }
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
