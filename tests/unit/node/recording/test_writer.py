from __future__ import annotations

import errno

from kubelet_sim.node.recording.writer import Writer
from kubelet_sim.transcript import Transcript


def test_a_disk_that_refuses_ends_the_file_and_not_the_node() -> None:
    """The first record that does not fit is the last that is tried; the transcript in memory says so, once."""
    transcript, tried = Transcript(lambda: 0.0), []

    def refuse(data: bytes) -> None:
        tried.append(data)
        raise OSError(errno.ENOSPC, "No space left on device")

    transcript.record_with(Writer(refuse, transcript, "a.jsonl"))
    transcript.add("node", "kubelet", "one")
    transcript.add("node", "kubelet", "two")
    assert len(tried) == 1
    assert [each.text for each in transcript] == [
        "one",
        "the transcript file ends here: No space left on device",
        "two",
    ]
