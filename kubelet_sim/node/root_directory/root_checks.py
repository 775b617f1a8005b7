"""What is looked at before a node touches a root directory. Nothing here changes anything on disk.

Each refusal is a `UsageError` of one line: what is wrong, where, and what to do.
"""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from kubelet_sim.errors import UsageError
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.root_directory.os_errors import os_error_text
from kubelet_sim.wire.unix_socket import LONGEST_PATH

_ANSWER_WITHIN_S = 1.0
_OF_A_KUBELET = ("cpu_manager_state", "memory_manager_state", "pki", "plugins_registry", "pod-resources")
"""What a kubelet makes in its root and nobody else is likely to."""
_ELSEWHERE = "choose another directory with --root"


def check_paths(layout: RootLayout) -> None:
    """Refuse what is no directory, what leads elsewhere, and what is too deep for a socket."""
    for path in (layout.path, layout.device_plugins, layout.pod_resources, layout.private):
        if path.is_symlink():  # the root itself was resolved: this is one of those below it
            raise UsageError(f"{path} is a symbolic link, which could lead to a real node: {_ELSEWHERE}")
        if os.path.lexists(path) and not path.is_dir():
            raise UsageError(f"{path} is not a directory: {_ELSEWHERE}")
    for name in (layout.registration_socket.name, CHECKPOINT_NAME):
        if os.path.lexists(layout.path / name):
            raise UsageError(f"{layout.path} holds {name}, so it is a device-plugin directory itself: {_ELSEWHERE}")
    path = layout.longest_socket
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise UsageError(
            f"the socket path {path} would have {length} bytes, the system allows {LONGEST_PATH}: "
            f"choose a root directory whose path is at least {length - LONGEST_PATH} bytes shorter"
        )


def check_permissions(layout: RootLayout) -> None:
    """Refuse a root in which we could not make or change what a node needs."""
    ours = [path for path in (layout.device_plugins, layout.pod_resources, layout.private) if path.exists()]
    if len(ours) < 3:  # noqa: PLR2004 - at least one of the three has to be made
        parent = next(path for path in (layout.path, *layout.path.parents) if path.exists())
        if not parent.is_dir():
            raise UsageError(f"{parent} is not a directory, so {layout.path} cannot be made: {_ELSEWHERE}")
        _check_permission(parent, os.W_OK | os.X_OK)
    for path in ours:
        _check_permission(path, os.R_OK | os.W_OK | os.X_OK)


def _check_permission(path: Path, mode: int) -> None:
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise UsageError(f"{path} is on a read-only file system: {_ELSEWHERE}")
    if not os.access(path, mode, effective_ids=True):
        raise UsageError(f"no permission to write to {path}: change its mode or owner, or {_ELSEWHERE}")


def check_no_real_node(layout: RootLayout) -> None:
    """Refuse a root in which a kubelet runs, or has run: a node would delete its plugins' sockets and its checkpoint."""
    if somebody_listens(layout.registration_socket):
        raise UsageError(f"a kubelet or another node answers on {layout.registration_socket}: stop it, or {_ELSEWHERE}")
    if os.path.lexists(layout.checkpoint) and not is_regular_file(layout.marker):
        raise UsageError(
            f"{layout.checkpoint} was not written by kubelet-sim, so {layout.path} may belong to a real node: {_ELSEWHERE}"
        )

    found = [name for name in _OF_A_KUBELET if os.path.lexists(layout.path / name)]
    if found and not is_regular_file(layout.marker):
        raise UsageError(f"{layout.path} holds {', '.join(found)}, so it may belong to a real node: {_ELSEWHERE}")


def somebody_listens(path: Path) -> bool:
    """Whether a connection to the socket is taken, or may be: when it cannot be told, the answer is yes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_ANSWER_WITHIN_S)
        try:
            client.connect(os.fsencode(path))
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True


def is_regular_file(path: Path) -> bool:
    """Whether there is a regular file, links not followed. Raises `UsageError` if that cannot be found out."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise UsageError(f"{os_error_text('stat', path, exc)}: {_ELSEWHERE}") from exc
