"""The part of a transcript that is about one subject: what `describe` tells of a pod, a resource or a plugin."""

from __future__ import annotations

from collections.abc import Iterable

from kubelet_sim.transcript.records import Record

MOST = 1000
"""How many records a look gives at most: the last ones."""


def records_about(records: Iterable[Record], subject: str, *, most: int = MOST) -> list[Record]:
    """Records about the subject, and all of the walks in which it is spoken of, in their order; the last of them.

    Walks are numbered anew by every kubelet process.
    """
    kept = tuple(records)
    walks = {(each.incarnation, each.walk) for each in kept if each.subject == subject and each.walk is not None}
    found = [each for each in kept if each.subject == subject or (each.incarnation, each.walk) in walks]
    return found[-most:]
