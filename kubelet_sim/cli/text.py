"""Text of others on a terminal: the commands' name for what `kubelet_sim.foreign` does for every room."""

from __future__ import annotations

from kubelet_sim.foreign import NO_UTF8, cut, escape_terminal, why_no_text

__all__ = ["NO_UTF8", "cut", "escape_terminal", "why_no_text"]
