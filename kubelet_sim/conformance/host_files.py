"""The files of the host as the plugin means them: below the host root of the configuration, links resolved within it."""

from __future__ import annotations

import posixpath
from pathlib import Path

from kubelet_sim.conformance.check_context import CheckContext
from kubelet_sim.container.host import FileKind, HostFile
from kubelet_sim.node.oci.host_files import LocalFiles
from kubelet_sim.node.root_directory.layout import KUBELET_ROOT

_MOST_LINKS = 40


def host_of(ctx: CheckContext) -> RootedFiles:
    """The host that the plugin under test means."""
    return RootedFiles(ctx.config.host_root, ctx.root if ctx.is_isolated else None)


class RootedFiles:
    """Looks at a host below a directory; fits `kubelet_sim.container.host.HostFiles`.

    Args:
        root: where its `/` is.
        kubelet_root: the node's root, which such a plugin sees in the place of `/var/lib/kubelet`; `None`: it does not.
    """

    def __init__(self, root: Path, kubelet_root: Path | None = None) -> None:
        self._root = root
        self._kubelet_root = kubelet_root
        self._local = LocalFiles()

    def look(self, path: str) -> HostFile | None:
        """What lies there, a link itself; `None` if nothing does."""
        folder, name = posixpath.split(posixpath.normpath(path))
        if not name:
            return self._local.look(self._real(folder))
        found = self.resolved(folder)
        return None if found is None else self._local.look(self._real(posixpath.join(found, name)))

    def resolved(self, path: str) -> str | None:
        """The path without links, as the host sees it; `None` if it leads nowhere."""
        if "\0" in path or not path.startswith("/"):
            return None
        left, done, links = path.split("/"), "/", 0
        while left:
            part = left.pop(0)
            if part in {"", "."}:
                continue
            if part == "..":
                done = posixpath.dirname(done)
                continue
            there = posixpath.join(done, part)
            found = self._local.look(self._real(there))
            if found is None:
                return None
            if found.kind is not FileKind.LINK:
                done = there
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            target = str(Path(self._real(there)).readlink())
            done = "/" if target.startswith("/") else done
            left = target.split("/") + left
        return done

    def entries(self, directory: str) -> tuple[str, ...] | None:
        """The names in a directory, sorted; `None` if it does not exist."""
        found = self.resolved(directory)
        return None if found is None else self._local.entries(self._real(found))

    def text(self, path: str) -> str:
        """The text of a file; raises `ValueError` if it is no UTF-8."""
        return self._local.text(self._real(self.resolved(path) or path))

    def _real(self, path: str) -> str:
        """Where it lies on this machine."""
        if self._kubelet_root is not None and f"{path}/".startswith(f"{KUBELET_ROOT}/"):
            return str(self._kubelet_root) + path.removeprefix(KUBELET_ROOT)
        return str(self._root / path.lstrip("/"))
