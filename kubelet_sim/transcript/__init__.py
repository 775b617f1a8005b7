"""What happens, as records of one stream: the only path on which behaviour is logged.

The core writes `Decision`s where it takes them; the driver adds facts, effects, calls and answers, and gives every record
its place and time. Nothing here knows the values of the other rooms: details are plain JSON values.
"""

from __future__ import annotations

from kubelet_sim.transcript.records import Decision, Json, Record, RecordLevel, Rpc
from kubelet_sim.transcript.transcript import Transcript

__all__ = ["Decision", "Json", "Record", "RecordLevel", "Rpc", "Transcript"]
