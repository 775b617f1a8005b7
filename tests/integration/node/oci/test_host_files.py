from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from kubelet_sim.container.host import FileKind, HostFile
from kubelet_sim.node.oci.host_files import LocalFiles

LOCAL = LocalFiles()


def test_kinds_of_files_are_told_with_links_unfollowed(short_root: Path) -> None:
    """Each as it is, links unfollowed, devices with their numbers."""
    (short_root / "file").write_text("x", encoding="utf-8")
    (short_root / "link").symlink_to("file")
    os.mkfifo(short_root / "pipe")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(short_root / "socket"))
        kinds = {name: LOCAL.look(str(short_root / name)) for name in ("file", "link", "pipe", "socket", "none")}
    assert {name: found.kind if found else None for name, found in kinds.items()} == {
        "file": FileKind.FILE,
        "link": FileKind.LINK,
        "pipe": FileKind.FIFO,
        "socket": FileKind.OTHER,
        "none": None,
    }
    null = LOCAL.look("/dev/null")
    assert isinstance(null, HostFile)
    assert (null.kind, null.major, null.minor) == (FileKind.CHARACTER, 1, 3)
    folder = LOCAL.look(str(short_root))
    assert folder is not None
    assert folder.kind is FileKind.DIRECTORY


def test_links_are_resolved(short_root: Path) -> None:
    """To the end; one that leads nowhere leads to nothing, and so does a path that no system could have."""
    (short_root / "a").symlink_to("b")
    (short_root / "b").symlink_to("/dev/null")
    (short_root / "broken").symlink_to("none")
    assert LOCAL.resolved(str(short_root / "a")) == "/dev/null"
    for path in (str(short_root / "broken"), "", "\0", "/dev/null/x"):
        assert LOCAL.resolved(path) is None
        assert LOCAL.look(path) is None or path.endswith("broken")


def test_directories_are_listed_and_texts_read(short_root: Path) -> None:
    """Names sorted; a directory that is not there has none, and a file of other bytes no text."""
    for name in "ba":
        (short_root / name).write_bytes(b"\xff")
    assert LOCAL.entries(str(short_root)) == ("a", "b")
    assert LOCAL.entries(str(short_root / "none")) is None
    with pytest.raises(ValueError, match="utf-8"):
        LOCAL.text(str(short_root / "a"))
    with pytest.raises(OSError, match="No such file"):
        LOCAL.text(str(short_root / "none"))
