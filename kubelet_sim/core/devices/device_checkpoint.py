"""What goes into the checkpoint, and what a kubelet makes of one when it starts.

The text and its checksum are `core.checkpoint_file.document_text`; when it is written is decided where the effect is asked for (CP-2).
"""

from __future__ import annotations

from kubelet_sim.core.devices import endpoint as endpoints
from kubelet_sim.core.devices.allocations import AllocationRecord
from kubelet_sim.core.facts import Applied, CheckpointRestored
from kubelet_sim.core.ports import Order
from kubelet_sim.core.state import Context, State
from kubelet_sim.model.checkpoint import CheckpointDocument


def compose(state: State, order: Order) -> CheckpointDocument:
    """The document as of now: every record, and every registered resource with its healthy ids.

    Unhealthy ids are not in it; without any record the list of entries is null, not empty (CP-6). What has not changed
    since the last document is the same value as there, not only an equal one: `core.checkpoint_file.encoder` has its text still.

    Rules: DM-138, CP-5, CP-6, CP-19
    Follows: writeCheckpoint, toCheckpointData
    """
    return CheckpointDocument(state.allocations.entries(order) or None, state.arranged.lists(state.healthy, order))


def checkpoint_restored(context: Context, fact: CheckpointRestored) -> Applied[None]:
    """Take over the records; register every named resource with no devices and a placeholder that is stopped now.

    A resource that occurs only in records is known, but not registered (CP-16).

    Rules: DM-19, DM-45, DM-112, DM-145, CP-15, CP-16
    Follows: readCheckpoint, fromCheckpointData
    """
    state = context.state
    for entry in fact.entries:
        record = AllocationRecord(dict(entry.devices), entry.response)
        twice = state.allocations.enter((entry.pod_uid, entry.container, entry.resource), record)
        if twice:
            ids = ", ".join(context.order.arrange("DM-145", twice))
            context.warn("DM-145", entry.resource, f"the checkpoint gives {ids} to more than one pod")
    state.allocations.recount()
    for resource in fact.registered:
        state.healthy[resource] = frozenset()
        state.unhealthy[resource] = set()
        state.endpoints[resource] = endpoints.restored(resource, fact.at_s)
        context.say(
            "DM-145", resource, "restored from the checkpoint: registered, no devices, until its plugin is back"
        )
    return Applied(None)
