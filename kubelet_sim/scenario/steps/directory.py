"""Steps with the device-plugin directory, behind the kubelet's back."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path
from typing import Any

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story import values
from kubelet_sim.scenario.story.step_kind import Arguments, Backstage, step

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
