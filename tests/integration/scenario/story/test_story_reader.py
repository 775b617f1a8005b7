from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.story.story_reader import read_stories


def test_a_file_that_is_applied_is_read_before_anything_is_played(tmp_path: Path) -> None:
    """What is wrong in it is the author's mistake, as what stands in the story is."""
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pods\n")
    text = "name: s\nnode: {runs_containers: true}\nsteps:\n- {do: apply, file: pod.yaml}\n"
    with pytest.raises(UsageError, match=r"story.yaml:4: s, step 1 \(apply\): pod.yaml, document 1, kind"):
        read_stories(text, str(tmp_path / "story.yaml"))
    with pytest.raises(UsageError, match="there is nothing to apply"):
        read_stories(text.replace(", file: pod.yaml", ""), str(tmp_path / "story.yaml"))
