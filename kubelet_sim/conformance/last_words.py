"""How a plugin ended, and what it said last: words for a finding."""

from __future__ import annotations

import signal

from kubelet_sim.conformance.attached import AttachedPlugin
from kubelet_sim.node.plugin_process import PluginProcess

_LINES = 3


def ending(exit_code: int | None) -> str:
    """What became of a process that is gone: `ended with exit code 3`, `was killed by SIGKILL`."""
    if exit_code is None:
        return "ended"
    if exit_code < 0:
        try:
            return f"was killed by {signal.Signals(-exit_code).name}"
        except ValueError:
            return f"was killed by signal {-exit_code}"
    return f"ended with exit code {exit_code}"


def last_words(plugin: PluginProcess | AttachedPlugin) -> str:
    """The last lines of its output, on one line; empty if it said nothing."""
    return " / ".join(line.text for line in list(plugin.lines)[-_LINES:])
