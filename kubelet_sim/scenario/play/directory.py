"""What a story does to the device-plugin directory behind the kubelet's back, and what it sees there."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubelet_sim.core.checkpoint_file.decoder import parse
from kubelet_sim.core.checkpoint_file.document_text import checksum, encode
from kubelet_sim.errors import CheckpointUnreadable, UsageError
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.wire.messages import decode_container_response

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
}


def make_entry(folder: Path, kind: str, name: str, *, target: str = "", outside: str | bool = False) -> None:
    """Make an entry of that kind. Raises `UsageError`.

    Args:
        folder: the device-plugin directory.
        kind: one of `file`, `directory`, `fifo`, `socket` (nobody listens), `link`, `outside-socket`.
        name: in the directory; that of an `outside-socket` in another one.
        target: where a link points, as it is written.
        outside: whether it points into that other directory instead: to this name, or to `target`, or to its own name.
    """
    path = (_outside(folder) if kind == "outside-socket" else folder) / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "file":
                path.touch(exist_ok=False)
            case "directory":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case "link":
                path.symlink_to(_outside(folder) / _outside_name(name, target, outside) if outside else target)
            case _:
                with contextlib.closing(socket.socket(socket.AF_UNIX)) as unheard:
                    unheard.bind(str(path))
    except OSError as error:
        raise UsageError(f"cannot make the {kind} {name}: {error.strerror}") from error


def unlink(folder: Path, name: str) -> None:
    """Remove a file. Raises `UsageError`."""
    try:
        (folder / name).unlink()
    except OSError as error:
        raise UsageError(f"cannot remove {name}: {error.strerror}") from error


def listing(folder: Path) -> dict[str, dict[str, str]]:
    """The kind of each entry by name; links are links. Raises `UsageError`."""
    try:
        entries = sorted(folder.iterdir())
        return {"entries": {path.name: _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "other") for path in entries}}
    except OSError as error:
        raise UsageError(f"cannot list {folder.name}: {error.strerror}") from error


def checkpoint(path: Path) -> dict[str, Any]:
    """What the checkpoint file says, whether or not its checksum fits."""
    try:
        document, stored = parse(path.read_bytes())
    except FileNotFoundError:
        return {"file": None}
    except (OSError, CheckpointUnreadable):
        return {"file": "unreadable"}
    return {
        "entries": sorted(map(_entry, document.entries or ()), key=lambda e: (e["pod"], e["container"], e["resource"])),
        "registered": {name: sorted(ids or ()) for name, ids in (document.registered or {}).items()},
        "checksum": stored == checksum(document),
    }


def put_checkpoint(
    path: Path,
    *,
    text: str | None = None,
    entries: Sequence[Mapping[str, Any]] | None = None,
    registered: Mapping[str, Sequence[str]] | None = None,
    off: int = 0,
    foreign: bool = False,
) -> None:
    """Write the file: a text as it is, or a document with its checksum plus `off`, in our style or another's.

    Raises `UsageError`.
    """
    try:
        written = _document_text(entries, registered, off, foreign) if text is None else text
        path.write_text(written, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the checkpoint cannot be written: {error.strerror}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"these cannot be the entries of a checkpoint: {error}") from error


def _document_text(
    entries: Sequence[Mapping[str, Any]] | None,
    registered: Mapping[str, Sequence[str]] | None,
    off: int,
    foreign: bool,  # noqa: FBT001 - private
) -> str:
    document = CheckpointDocument(
        None if entries is None else tuple(map(_read_entry, entries)),
        None if registered is None else {name: tuple(ids) for name, ids in registered.items()},
    )
    plain = json.loads(encode(document))
    plain["Checksum"] = checksum(document) + off
    if not foreign:
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    return json.dumps(_in_another_style(plain), indent=2)


def _in_another_style(plain: Any) -> Any:
    """Keys in other case and order, and one that nobody knows."""
    data = {key.lower(): value for key, value in reversed(plain["Data"].items())}
    entries = data["poddeviceentries"]
    if entries is not None:
        data["poddeviceentries"] = [{key.upper(): item[key] for key in reversed(item)} for item in entries]
    return {"writer": {"name": "another", "of": [1, 2.5, None]}, "checksum": plain["Checksum"], "data": data}


def _entry(entry: CheckpointEntry) -> dict[str, Any]:
    try:
        envs = decode_container_response(entry.allocate_response or b"").envs
    except ValueError:  # no response: a start leaves such an entry out
        envs = {}
    return {
        "pod": entry.pod_uid,
        "container": entry.container,
        "resource": entry.resource,
        "devices": {str(node): sorted(ids or ()) for node, ids in (entry.devices or {}).items()},
        "envs": sorted([name, value] for name, value in envs.items()),
    }


def _read_entry(given: Mapping[str, Any]) -> CheckpointEntry:
    devices, response = given.get("DeviceIDs"), given.get("AllocResp")
    by_numa = {int(node): None if ids is None else tuple(ids) for node, ids in (devices or {}).items()}
    return CheckpointEntry(
        pod_uid=given.get("PodUID", ""),
        container=given.get("ContainerName", ""),
        resource=given.get("ResourceName", ""),
        devices=None if devices is None else by_numa,
        allocate_response=None if response is None else b64decode(response),
    )


def _outside_name(name: str, target: str, outside: str | bool) -> str:  # noqa: FBT001 - a name, or just yes
    return outside if isinstance(outside, str) else target or name


def _outside(folder: Path) -> Path:
    """A directory beside the device-plugin directory."""
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    return outside
