from __future__ import annotations

from kubelet_sim.transcript import Transcript
from kubelet_sim.transcript.about import records_about


def test_records_of_a_subject_and_its_walks() -> None:
    """A walk in which a pod is spoken of belongs to its story; the same number in another process is another walk."""
    transcript = Transcript(lambda: 0.0)
    for incarnation in (1, 2):
        transcript.incarnation = incarnation
        transcript.walk = 1
        transcript.add("effect", "example.com/dev", f"Allocate in {incarnation}")
        if incarnation == 1:
            transcript.add("decision", "default/p", "admitted")
        transcript.walk = None
        transcript.add("node", "default/p", f"seen by {incarnation}")
        transcript.add("node", "default/q", "another pod")
    found = [record.text for record in records_about(transcript, "default/p")]
    assert found == ["Allocate in 1", "admitted", "seen by 1", "seen by 2"]
    assert [record.text for record in records_about(transcript, "default/p", most=1)] == ["seen by 2"]
    assert records_about(transcript, "nobody") == []
