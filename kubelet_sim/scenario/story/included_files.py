"""Files that a story refers to: fragments that it includes, manifests that it applies.

A path is relative to the file that names it. What it leads to, links followed, has to lie in the folder of the story or
below, so that a story from somewhere else reads nothing of yours; who plays it may allow more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.manifests.documents import read_documents
from kubelet_sim.scenario.story.places import Place, Places
from kubelet_sim.text_files import read_text


@frozen
class Folder:
    """The folder of a story, in which files that it refers to have to lie."""

    of_file: Path
    """The folder of the file that is being read."""
    of_story: Path
    """The folder of the story; nothing outside of it is read unless that is allowed."""
    allows_outside: bool = False
    including: tuple[Path, ...] = ()
    """The files that are being read, the story's first."""

    @classmethod
    def of(cls, source: str, *, allows_outside: bool = False) -> Folder:
        """That of a story's file; standard input and what has no name lie in the current directory."""
        file = Path(source).absolute()
        return cls(file.parent, file.parent, allows_outside, (_real(file),))

    def read(self, name: str) -> tuple[Path, str]:
        """A file's real path and text. Raises `UsageError`."""
        path = _real(self.of_file / name)
        if not self.allows_outside and not path.is_relative_to(_real(self.of_story)):
            raise UsageError(f"{name} lies outside of the story's folder; it is read with --allow-outside only")
        return path, read_text(path, name)

    def fragment(self, name: str) -> tuple[Folder, Mapping[str, Any], Place]:
        """A fragment of a story, the folder for what it includes itself, and its place. Raises `UsageError`."""
        path, text = self.read(name)
        if path in self.including:
            raise UsageError(f"{name} includes itself, by way of {' and '.join(each.name for each in self.including)}")
        source = str(self.of_file / name)
        documents = read_documents(text, source)
        match [value for _, value in documents]:
            case [dict(fragment)]:
                inner = Folder(path.parent, self.of_story, self.allows_outside, (*self.including, path))
                return inner, fragment, Place(Places(text, source), (0,))
        raise UsageError(f"{name}: expected one mapping of vars, plugins, include and steps")


def _real(path: Path) -> Path:
    return path.resolve()
