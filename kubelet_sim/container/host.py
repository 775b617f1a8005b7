"""What a container's configuration needs to know of the files of its host: a port, so that tests can have any host."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from attrs import frozen


class FileKind(Enum):
    """The kind of a file that lies at a path of the host."""

    CHARACTER = "c"
    BLOCK = "b"
    FIFO = "p"
    DIRECTORY = "directory"
    FILE = "file"
    LINK = "symbolic link"
    OTHER = "socket"

    @property
    def is_device(self) -> bool:
        """Whether a runtime can make such a node."""
        return self in {FileKind.CHARACTER, FileKind.BLOCK, FileKind.FIFO}


@frozen
class HostFile:
    """One entry of a directory, links not followed."""

    kind: FileKind
    major: int = 0
    minor: int = 0
    mode: int = 0o644
    """Permission bits, without the kind."""
    uid: int = 0
    gid: int = 0


class HostFiles(Protocol):
    """Looks at the host. Every method raises `OSError` if it cannot look."""

    def look(self, path: str) -> HostFile | None:
        """What lies there, a link itself; `None` if nothing does."""

    def resolved(self, path: str) -> str | None:
        """The path without links; `None` if it leads nowhere."""

    def entries(self, directory: str) -> tuple[str, ...] | None:
        """The names in a directory, sorted; `None` if it does not exist."""

    def text(self, path: str) -> str:
        """The text of a file; raises `ValueError` if it is no UTF-8."""
