"""What goes into the checkpoint, and what a kubelet makes of one when it starts.

The text and its checksum are `checkpoint_text`; when it is written is decided where the effect is asked for (CP-2).
"""

from __future__ import annotations

from kubelet_sim.core import endpoint as endpoints
from kubelet_sim.core.books import AllocationRecord
from kubelet_sim.core.facts import Applied, CheckpointRestored
from kubelet_sim.core.ports import Order
from kubelet_sim.core.state import Context, State
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry


def compose(state: State, order: Order) -> CheckpointDocument:
    """The document as of now: every record, and every registered resource with its healthy ids.

    Unhealthy ids are not in it; without any record the list of entries is null, not empty (CP-6).

    Rules: DM-138, CP-5, CP-6, CP-19
    Follows: writeCheckpoint, toCheckpointData
    """
    records = dict(state.books)
    entries = tuple(
        CheckpointEntry(
            *key,
            devices={numa: tuple(order.arrange("CP-6", ids)) for numa, ids in records[key].devices.items()},
            allocate_response=records[key].response.raw,
        )
        for key in order.arrange("CP-6", records)
    )
    registered: dict[str, tuple[str, ...]] = {
        name: tuple(order.arrange("CP-6", ids)) for name, ids in state.healthy.items()
    }
    return CheckpointDocument(entries or None, registered)


def checkpoint_restored(context: Context, fact: CheckpointRestored) -> Applied[None]:
    """Take over the records; register every named resource with no devices and a placeholder that is stopped now.

    A resource that occurs only in records is known, but not registered (CP-16).

    Rules: DM-19, DM-45, DM-112, DM-145, CP-15, CP-16
    Follows: readCheckpoint, fromCheckpointData
    """
    state = context.state
    for entry in fact.entries:
        record = AllocationRecord(dict(entry.devices), entry.response)
        twice = state.books.enter((entry.pod_uid, entry.container, entry.resource), record)
        if twice:
            ids = ", ".join(context.order.arrange("DM-145", twice))
            context.warn("DM-145", entry.resource, f"the checkpoint gives {ids} to more than one pod")
    state.books.recount()
    for resource in fact.registered:
        state.healthy[resource] = set()
        state.unhealthy[resource] = set()
        state.endpoints[resource] = endpoints.restored(resource, fact.at_s)
        context.say(
            "DM-145", resource, "restored from the checkpoint: registered, no devices, until its plugin is back"
        )
    return Applied(None)
