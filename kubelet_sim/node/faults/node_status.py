"""A fault of the node status: the API server does not take an update."""

from __future__ import annotations

from attrs import define

from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.kinds import kind
from kubelet_sim.node.hooks import Hook


@define(eq=False)
class _Refused(Hook):
    active: ActiveFault

    def is_status_refused(self) -> bool:
        return self.active.once("node", "the API server refuses the update of the node status")


@kind(
    "refuse-node-status",
    "node-status",
    "The API server refuses an update of the node status, and the kubelet computes it anew. If a resource was to become"
    " zero just then, its zero is lost: the old number comes back as allocatable, and pods run without a device.",
    undo="and updates are stored",
    rules=("DM-67",),
    counts=True,
    usual_count=1,
)
async def _refuse(active: ActiveFault) -> str:
    active.hook(_Refused(active))
    return f"the next update of the node status is refused{f' {active.count} times' if active.count != 1 else ''}"
