"""Faults of the plugin's end."""

from __future__ import annotations

import os
import stat
import subprocess
import time

from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults.table import fault

LINGERS_S, HANGS_S, SLOW_S = 12.0, 40.0, 6.0
HOLDS_S, MANY = "20", 256


@fault("lingers", "shutdown-exit-prompt", also="shutdown-gap-short", is_slow=True)
def lingers(conduct: Conduct) -> None:
    """It takes twelve seconds to end."""
    conduct.at_stop = lambda: time.sleep(LINGERS_S)


@fault("hangs", "shutdown-exit-prompt", also="shutdown-gap-short shutdown-socket-removed", is_slow=True)
def hangs(conduct: Conduct) -> None:
    """It does not end before it is killed."""
    conduct.at_stop = lambda: time.sleep(HANGS_S)


@fault("leaves-socket", "shutdown-socket-removed")
def leaves_socket(conduct: Conduct) -> None:
    """Its socket stays when it ends."""
    conduct.removes_socket = False


@fault("leaves-stream", "shutdown-clean-stream-end")
def leaves_stream(conduct: Conduct) -> None:
    """A child that it leaves behind holds its connections open."""

    def at_stop() -> None:
        held = [number for number in range(MANY) if _is_socket(number)]
        subprocess.Popen(["sleep", HOLDS_S], pass_fds=held)  # noqa: S603, S607 - whichever sleep there is
        os._exit(0)

    conduct.at_stop = at_stop


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


@fault("slow-update", "shutdown-gap-short", is_slow=True)
def slow_update(conduct: Conduct) -> None:
    """It takes six seconds to end, and six to start."""
    conduct.at_start = conduct.at_stop = lambda: time.sleep(SLOW_S)
