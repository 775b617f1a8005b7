"""Steps with the device-plugin directory and the checkpoint file in it, behind the kubelet's back."""

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
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.scenario.steps.step_kind import Arguments, Backstage, step
from kubelet_sim.scenario.story import values
from kubelet_sim.wire.messages import decode_container_response

_KINDS = ("file", "directory", "fifo", "socket", "link", "outside-socket")
_NAMES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
}


@values.kind({"type": ["string", "boolean"]})
def _text_or_truth(value: object) -> str | bool:
    return value if isinstance(value, bool) else values.text(value)


def _makes(given: Arguments) -> str:
    to = f" to {given['target']}" if "target" in given else ""
    beyond = " in another directory" if given.get("outside") else ""
    return f"Somebody makes the {given['kind']} {given['name']}{to}{beyond}"


@step(
    _makes,
    {"kind": values.one_of(_KINDS), "name": values.text},
    takes={"target": values.text, "outside": _text_or_truth},
)
async def entry(stage: Backstage, kind: str, name: str, target: str = "", outside: str | bool = False) -> None:
    """Somebody makes an entry in the directory, or a socket outside of it."""
    # With `outside` a link points into another directory: to that name, or to `target`, or to its own name.
    path = (_outside(stage.directory) if kind == "outside-socket" else stage.directory) / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "file":
                path.touch(exist_ok=False)
            case "directory":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case "link" if outside:
                path.symlink_to(_outside(stage.directory) / (outside if isinstance(outside, str) else target or name))
            case "link":
                path.symlink_to(target)
            case _:
                with contextlib.closing(socket.socket(socket.AF_UNIX)) as unheard:
                    unheard.bind(str(path))
    except OSError as error:
        raise UsageError(f"cannot make the {kind} {name}: {error.strerror}") from error


def _outside(folder: Path) -> Path:
    """A directory beside the device-plugin directory."""
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    return outside


@step("Somebody removes {name} from the directory", {"name": values.text})
async def unlink(stage: Backstage, name: str) -> None:
    """Somebody removes a file from the directory."""
    try:
        (stage.directory / name).unlink()
    except OSError as error:
        raise UsageError(f"cannot remove {name}: {error.strerror}") from error


@step(
    lambda given: f"Entries of {given.get('name', 'the directory')}",
    takes={"name": values.text},
    comes="`entries`",
    is_look=True,
)
async def ls(stage: Backstage, name: str = "") -> Any:
    """The entries of the directory, or of one inside it."""
    folder = stage.directory / name
    try:
        entries = sorted(folder.iterdir())
        return {"entries": {path.name: _NAMES.get(stat.S_IFMT(path.lstat().st_mode), "other") for path in entries}}
    except OSError as error:
        raise UsageError(f"cannot list {folder.name}: {error.strerror}") from error


@step("What the checkpoint file says", comes="`entries`, `registered`, `checksum`; or `file`", is_look=True)
async def checkpoint(stage: Backstage) -> Any:
    """What the checkpoint file says, whether or not its checksum fits."""
    try:
        document, stored = parse((stage.directory / CHECKPOINT_NAME).read_bytes())
    except FileNotFoundError:
        return {"file": None}
    except (OSError, CheckpointUnreadable):
        return {"file": "unreadable"}
    return {
        "entries": sorted(map(_entry, document.entries or ()), key=lambda e: (e["pod"], e["container"], e["resource"])),
        "registered": {name: sorted(ids or ()) for name, ids in (document.registered or {}).items()},
        "checksum": stored == checksum(document),
    }


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


@step(
    "Somebody writes the checkpoint file",
    takes={
        "text": values.text,
        "entries": values.items,
        "registered": values.mapping,
        "off": values.integer,
        "foreign": values.truth,
    },
)
async def put_checkpoint(stage: Backstage, text: str | None = None, **document: Any) -> None:
    """Somebody writes the checkpoint file.

    That is a `text`, or `entries` and `registered` with a checksum that is `off` by so much, in the style of another writer if
    it is `foreign`.
    """
    try:
        written = _document_text(**document) if text is None else text
        (stage.directory / CHECKPOINT_NAME).write_text(written, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the checkpoint cannot be written: {error.strerror}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"these cannot be the entries of a checkpoint: {error}") from error


def _document_text(
    entries: Sequence[Mapping[str, Any]] | None = None,
    registered: Mapping[str, Sequence[str]] | None = None,
    off: int = 0,
    *,
    foreign: bool = False,
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
