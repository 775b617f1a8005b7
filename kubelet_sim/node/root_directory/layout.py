"""Where everything lies in a node's root directory. Only names: nothing here looks at a disk.

The root mirrors the kubelet's; what is ours lies in a directory of its own.
"""

from __future__ import annotations

import os
from pathlib import Path

from attrs import frozen

from kubelet_sim.model.plugin import CHECKPOINT_NAME, SOCKET_NAME
from kubelet_sim.model.pod_resources import POD_RESOURCES_SOCKET

KUBELET_ROOT = "/var/lib/kubelet"
"""The root of a real kubelet, unless it is told otherwise: what ours stands for."""


@frozen
class RootLayout:
    """The paths below `path`, which is absolute and free of symbolic links."""

    path: Path

    @property
    def device_plugins(self) -> Path:
        """The directory in which plugins find `kubelet.sock`. Rules: DM-1"""
        return self.path / "device-plugins"

    @property
    def registration_socket(self) -> Path:
        """Where plugins call Register. Rules: DM-1"""
        return self.device_plugins / SOCKET_NAME

    @property
    def checkpoint(self) -> Path:
        """The device manager's checkpoint. Rules: CP-1, DM-135"""
        return self.device_plugins / CHECKPOINT_NAME

    @property
    def pod_resources(self) -> Path:
        """The directory of the pod resources API. Rules: PR-1"""
        return self.path / "pod-resources"

    @property
    def pod_resources_socket(self) -> Path:
        """Where monitoring agents ask. Rules: PR-1"""
        return self.pod_resources / POD_RESOURCES_SOCKET

    @property
    def plugins_registry(self) -> Path:
        """Where the plugin watcher finds plugins by their sockets; there only together with it. Rules: DM-146"""
        return self.path / "plugins_registry"

    @property
    def private(self) -> Path:
        """The directory that is ours alone (0700)."""
        return self.path / "kubelet-sim"

    @property
    def lock(self) -> Path:
        """Locked (flock) while a node runs here; it holds that node's process id."""
        return self.private / "lock"

    @property
    def marker(self) -> Path:
        """Its presence says that no real kubelet has made this root."""
        return self.private / "marker"

    @property
    def control_socket(self) -> Path:
        """Where the command line finds the running node."""
        return self.private / "control.sock"

    @property
    def held_inode(self) -> Path:
        """A second link to the registration socket while its inode number is kept for the next one."""
        return self.private / "held-inode"

    def fill_in(self, text: str) -> str:
        """The text with the places of `{dir}`, `{socket}` and `{pod-resources}`, by which commands are told of a node."""
        places = {
            "{dir}": self.device_plugins,
            "{socket}": self.registration_socket,
            "{pod-resources}": self.pod_resources_socket,
        }
        for placeholder, path in places.items():
            text = text.replace(placeholder, str(path))
        return text

    @property
    def longest_socket(self) -> Path:
        """The socket path with the most bytes. The one that is renamed to `kubelet.sock` has a shorter name (`wire`)."""
        sockets = (self.registration_socket, self.pod_resources_socket, self.control_socket)
        return max(sockets, key=lambda path: len(os.fsencode(path)))
