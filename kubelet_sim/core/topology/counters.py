"""What the topology manager counts for the kubelet's metrics: plain numbers, which decide nothing.

A kubelet's counters begin at 0 with its process. Durations are measured by whoever holds the clock.
"""

from __future__ import annotations

from attrs import define


@define
class TopologyTally:
    """Since the start of the kubelet process. Rules: TM-50"""

    requests: int = 0
    """Admissions of pods, whatever the policy."""
    errors: int = 0
    """Pods refused, by failed alignment or by a provider; never under policy none."""
    aligned: int = 0
    """Containers, or pods under scope pod, that were aligned for certain; the scope says which of the two. Rules: TM-35"""
    unaligned: int = 0
    """Refusals because that could not be done. Rules: TM-35"""
