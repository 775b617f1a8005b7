"""Fuzzing a plugin: Hypothesis draws what happens on a node, each run is a story, and a story that goes wrong is made short.

`actions` is what may happen, `plans` makes stories of it, `plan_runs` plays them, `search` looks for one that goes wrong,
`shrinker` makes it short, `story_file` writes it down. Nothing here is random by itself: a seed gives the same plans again; what
a plugin makes of them takes real time, and may differ.
"""

from __future__ import annotations

from kubelet_sim.fuzz.config import FuzzConfig
from kubelet_sim.fuzz.search import FoundFailure, SearchResult, search

__all__ = ["FoundFailure", "FuzzConfig", "SearchResult", "search"]
