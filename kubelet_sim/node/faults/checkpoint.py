"""Faults of the checkpoint: its file damaged for the next start, its writes lost, refused or slow."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

from attrs import evolve

from kubelet_sim.core.checkpoint_file.decoder import parse
from kubelet_sim.core.checkpoint_file.document_text import as_json, checksum, encode, entry_object
from kubelet_sim.errors import CheckpointNotWritten, CheckpointUnreadable, UsageError
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import choice, number, seconds, text
from kubelet_sim.node.faults.kinds import kind
from kubelet_sim.node.faults.through import FaultHook, lasting
from kubelet_sim.node.root_directory.checkpoint_file import write_advice
from kubelet_sim.node.root_directory.checkpoint_store import write_file
from kubelet_sim.node.root_directory.os_errors import os_error_text

_UNTIL = "A kubelet that runs does not look; its next write replaces the file, a restart before that reads it."


@kind("delete-checkpoint", "checkpoint", f"The checkpoint file is gone. {_UNTIL}", rules=("DM-113", "DM-141"))
async def _delete(active: ActiveFault) -> str:
    path = _path(active)
    _content(path)
    path.unlink()
    active.once("checkpoint", "it is deleted")
    return "the checkpoint is deleted"


@kind(
    "truncate-checkpoint",
    "checkpoint",
    f"The checkpoint file ends in the middle, as after a power cut on a file system that lost the end of it. {_UNTIL}",
    arguments=(number("bytes", None, "How many bytes are left; else half of them."),),
    rules=("DM-143", "CP-12"),
)
async def _truncate(active: ActiveFault) -> str:
    path = _path(active)
    data = _content(path)
    kept = len(data) // 2 if active.arguments["bytes"] is None else min(active.arguments["bytes"], len(data))
    _put(active, path, data[:kept], f"it is cut to {kept} of {len(data)} bytes")
    return f"the checkpoint is cut to {kept} of {len(data)} bytes"


@kind(
    "wrong-checksum",
    "checkpoint",
    f"The checkpoint's checksum is not that of its data, as after somebody edited it by hand. {_UNTIL}",
    rules=("DM-143", "CP-13"),
)
async def _wrong_checksum(active: ActiveFault) -> str:
    path = _path(active)
    document, stored = _document(path)
    whole = json.loads(encode(document))
    whole["Checksum"] = (stored + 1) % 2**32
    _put(active, path, as_json(whole), "its checksum is wrong")
    return "the checkpoint's checksum is wrong by one"


@kind(
    "old-checkpoint",
    "checkpoint",
    f"The checkpoint has the format of kubelets before 1.20, as after an upgrade that skipped releases. {_UNTIL}",
    rules=("DM-144",),
)
async def _old(active: ActiveFault) -> str:
    path = _path(active)
    document, _ = _document(path)
    entries = tuple(map(_flat, document.entries or ()))
    flat = evolve(document, entries=entries)
    whole: dict[str, Any] = json.loads(encode(flat))
    whole["Data"]["PodDeviceEntries"] = [
        {**entry_object(entry), "DeviceIDs": list((entry.devices or {}).get(0) or ())} for entry in entries
    ]
    whole["Checksum"] = checksum(flat, is_before_1_20=True)
    _put(active, path, as_json(whole), "it has the format of before 1.20")
    return "the checkpoint has the format of before 1.20"


def _flat(entry: CheckpointEntry) -> CheckpointEntry:
    found = {device_id: None for device_ids in (entry.devices or {}).values() for device_id in device_ids or ()}
    return evolve(entry, devices={0: tuple(found)})


@kind(
    "unknown-in-checkpoint",
    "checkpoint",
    f"The checkpoint has an entry for a resource that no plugin registers any more. {_UNTIL}",
    arguments=(
        text("name", "example.com/unknown", "The resource."),
        text("uid", "no-such-pod", "The uid of the pod that is to hold it."),
        text("id", "gone", "The device."),
    ),
    rules=("DM-145",),
)
async def _unknown(active: ActiveFault) -> str:
    path, given = _path(active), active.arguments
    document, _ = _document(path)
    entry = CheckpointEntry(given["uid"], "main", given["name"], {-1: (given["id"],)}, b"")
    with_it = evolve(document, entries=(*(document.entries or ()), entry))
    _put(active, path, encode(with_it), f"it says that pod {given['uid']} holds {given['id']} of {given['name']}")
    return f"the checkpoint has an entry for {given['name']}"


@kind(
    "foreign-key-in-checkpoint",
    "checkpoint",
    f"The checkpoint has a key that this kubelet does not know, as after a downgrade. {_UNTIL}",
    rules=("CP-12",),
)
async def _foreign(active: ActiveFault) -> str:
    path = _path(active)
    document, _ = _document(path)
    whole = {"Newer": {"than": "this"}, **json.loads(encode(document))}
    _put(active, path, as_json(whole), "it has a key that nobody knows")
    return "the checkpoint has a key that nobody knows"


@lasting(
    "stale-checkpoint",
    "checkpoint",
    "Writes of the checkpoint seem to work and are lost: after a restart the kubelet finds an older one.",
    "writes of the checkpoint are lost from now on",
    undo="and the next write stores everything",
    rules=("DM-113", "DM-137"),
    counts=True,
)
class _Stale(FaultHook):
    async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
        return None if self.active.once("checkpoint", "a write is lost") else document


@lasting(
    "failing-checkpoint",
    "checkpoint",
    "The checkpoint cannot be written: admissions of pods with devices fail, and what was there stays.",
    "writes of the checkpoint fail with {error} from now on",
    undo="and the next write stores everything",
    arguments=(choice("error", ("ENOSPC", "EROFS", "EIO", "EACCES"), "ENOSPC", "The file system's error."),),
    rules=("CP-3", "DM-100"),
    counts=True,
)
class _Failing(FaultHook):
    async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
        name = self.active.arguments["error"]
        if not self.active.once("checkpoint", f"a write fails with {name}"):
            return document
        path = self.active.reach.layout.checkpoint
        failure = OSError(getattr(errno, name), "")
        raise CheckpointNotWritten(os_error_text("write", path, failure), advice=write_advice(path, failure))


@lasting(
    "slow-checkpoint",
    "checkpoint",
    "Each write of the checkpoint takes long, as on a disk that is busy; admissions and lists wait for it.",
    "each write of the checkpoint takes {seconds:g} s from now on",
    undo="and writes take no longer than they take",
    arguments=(seconds("seconds", 2.0, "How long, on the node's clock."),),
    rules=("CP-3", "DM-137"),
    counts=True,
    delays_lists=True,
)
class _SlowWrite(FaultHook):
    async def checkpoint_due(self, document: CheckpointDocument) -> CheckpointDocument | None:
        takes_s = self.active.arguments["seconds"]
        await self.active.hold_up("checkpoint", f"a write takes {takes_s:g} s", takes_s)
        return document


def _path(active: ActiveFault) -> Path:
    return active.reach.own(active.reach.layout.checkpoint)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"there is no checkpoint to damage ({error.strerror}): none was written yet") from error


def _document(path: Path) -> tuple[CheckpointDocument, int]:
    try:
        return parse(_content(path))
    except CheckpointUnreadable as error:
        raise UsageError(f"the checkpoint is damaged already: {error}") from error


def _put(active: ActiveFault, path: Path, data: bytes, what: str) -> None:
    try:
        write_file(path, data)
    except CheckpointNotWritten as error:
        raise UsageError(str(error)) from error
    active.once("checkpoint", what)
