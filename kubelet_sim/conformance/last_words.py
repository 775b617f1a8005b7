"""What a plugin said last: words for a finding."""

from __future__ import annotations

from kubelet_sim.conformance.attached import AttachedPlugin
from kubelet_sim.foreign import gist
from kubelet_sim.node.plugin.plugin_process import PluginProcess


def last_words(plugin: PluginProcess | AttachedPlugin) -> str:
    """The gist of its output since its start, on one line; empty if it said nothing."""
    since_s = plugin.started_at_s or 0.0
    return gist(line.text for line in plugin.lines if line.at_s >= since_s)
