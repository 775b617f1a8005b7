"""What a kubelet process does with the directory and the checkpoint that the last one left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kubelet_sim.core.facts import CheckpointRestored, RestoredEntry
from kubelet_sim.errors import CheckpointError, CheckpointMissing, TransportError
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.kubelet_process.driver import World
from kubelet_sim.node.root_directory.device_plugin_directory import clean_directory, make_deprecation_file
from kubelet_sim.profiles import Profile, Sweep
from kubelet_sim.transcript import RecordLevel

Decode = Callable[[bytes], ContainerResponse]
"""Raises `ValueError` for bytes that are no container response."""


def sweep_directory(world: World, profile: Profile) -> None:
    """Clean the device-plugin directory. Raises `TransportError` where a failure ends the start.

    Rules: DM-8, DM-9, DM-163, DM-168
    """
    try:
        swept = clean_directory(Path(world.directory), profile.sweep)
    except TransportError as failure:
        if profile.failed_sweep_is_fatal:
            raise
        _note(world, f"the directory could not be cleaned: {failure}", "DM-163", RecordLevel.WARNING)
    else:
        what = "sockets" if profile.sweep is Sweep.SOCKETS else "entries"
        _note(world, f"directory cleaned: {len(swept)} {what} removed", "DM-8")


def deprecate_directory(world: World) -> None:
    """Make the file DEPRECATION; only logged if it fails. Rules: DM-163"""
    try:
        make_deprecation_file(Path(world.directory))
    except TransportError as failure:
        _note(world, f"no DEPRECATION file could be made: {failure}", "DM-163", RecordLevel.WARNING)


async def restored_checkpoint(world: World, decode: Decode) -> CheckpointRestored | None:
    """What the checkpoint tells a process that starts; `None` if there is none that it can use.

    Rules: DM-19, DM-113, DM-141, DM-143, CP-15, CP-17
    """
    try:
        document = await world.store.read()
    except CheckpointMissing as nothing:
        _note(world, f"failed to read data from checkpoint: {nothing}", "DM-141")
        return None
    except CheckpointError as failure:
        text = f"the checkpoint is not used, and device allocation info may not be up to date: {failure}"
        path = Path(world.directory) / CHECKPOINT_NAME
        _note(world, f"{text} ({_advice(path)})", "DM-143", RecordLevel.WARNING)
        return None
    entries = tuple(_restored_entries(world, document, decode))
    registered = tuple(ResourceName(name) for name in document.registered or ())
    return CheckpointRestored(entries, registered, world.clock.now())


def _advice(checkpoint: Path) -> str:
    if checkpoint.is_dir():
        return f"move {checkpoint} away: no checkpoint can be written where a directory is"
    return f"the next write replaces {checkpoint}: copy it now if you need it; kubelet-sim checkpoint verify tells more"


def _restored_entries(world: World, document: CheckpointDocument, decode: Decode) -> Iterable[RestoredEntry]:
    """The entries whose response can be decoded; the others are left out. Rules: DM-145"""
    for entry in document.entries or ():
        try:
            response = decode(entry.allocate_response or b"")
        except ValueError as failure:
            text = f"checkpoint entry of pod {entry.pod_uid}, {entry.resource} is left out: {failure}"
            _note(world, text, "DM-145", RecordLevel.WARNING)
            continue
        devices = {NumaNode(n): tuple(map(DeviceID, ids or ())) for n, ids in (entry.devices or {}).items()}
        yield RestoredEntry(
            PodUID(entry.pod_uid), ContainerName(entry.container), ResourceName(entry.resource), devices, response
        )


def _note(world: World, text: str, rule: str, level: RecordLevel = RecordLevel.INFO) -> None:
    world.transcript.add("node", "kubelet", text, rules=(rule,), level=level)
