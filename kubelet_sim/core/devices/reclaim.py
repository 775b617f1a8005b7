"""Devices of pods that are gone are freed late, and only when somebody asks for devices."""

from __future__ import annotations

from kubelet_sim.core.state import Context


def reclaim(context: Context) -> None:
    """Free what inactive pods hold; nothing is written, and the plugin is not told.

    A reclaim that finds no such pod changes nothing, so leaked ids stay leaked (DM-102).

    Rules: DM-101, DM-102, DM-115, DM-118
    Follows: UpdateAllocatedDevices
    """
    state = context.state
    if not state.sources_ready:
        return
    if state.allocations.pods() <= state.active_pods.keys():
        return
    gone = frozenset(state.allocations.pods() - state.active_pods.keys())
    context.say(
        "DM-115", "node", f"devices of pods that are not active any more are freed: {len(gone)}", pods=sorted(gone)
    )
    state.allocations.release(gone)
