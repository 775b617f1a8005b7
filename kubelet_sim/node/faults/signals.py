"""Who listens on a plugin's socket, and signals to that process: never to ourselves, to init, or to another user's."""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
from pathlib import Path

from attrs import frozen

from kubelet_sim.errors import UsageError

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the peer: `struct ucred`."""
_CONNECT_S = 1.0


@frozen
class Listener:
    """The process behind a socket, as seen from here: also of one whose own process ids begin anew at 1."""

    pid: int
    uid: int

    def check(self) -> None:
        """Raises `UsageError` if it is none that we may send a signal to."""
        if self.pid <= 0:
            raise UsageError("its process cannot be seen from here")
        if self.pid == os.getpid():
            raise UsageError("the plugin lives in kubelet-sim's own process, which gets no signal")
        if self.pid == 1:
            raise UsageError("the plugin is process 1, which gets no signal")
        if self.uid != os.geteuid():
            raise UsageError(f"process {self.pid} belongs to another user ({self.uid}) and gets no signal")

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal.

        Raises:
            UsageError: it is none that we may send one to, or it is gone.
        """
        self.check()
        import psutil  # only where a signal is sent: it takes a while

        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError as error:
            raise UsageError(f"process {self.pid} cannot be had: {error.strerror}") from error
        try:
            # Whoever has this number now has to be the same user's, too. The descriptor stays with that process: psutil
            # has none, and tells processes of one number apart only by the time of their start.
            if psutil.Process(self.pid).uids().effective != os.geteuid():
                raise UsageError(f"process {self.pid} belongs to another user and gets no signal")
            signal.pidfd_send_signal(descriptor, number)
        except psutil.Error as error:
            raise UsageError(f"process {self.pid} gets no {number.name}: {os.strerror(errno.ESRCH)}") from error
        except OSError as error:
            raise UsageError(f"process {self.pid} gets no {number.name}: {error.strerror}") from error
        finally:
            os.close(descriptor)


def listener(path: Path) -> Listener:
    """Who called listen() on the socket at that path. Raises `UsageError` if nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_CONNECT_S)
        try:
            probe.connect(os.fsencode(path))
            data = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except (OSError, ValueError) as error:
            raise UsageError(f"nobody listens on {path.name}: {getattr(error, 'strerror', None) or error}") from error
    pid, uid, _ = _CREDENTIALS.unpack(data)
    return Listener(pid, uid)
