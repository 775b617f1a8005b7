"""What `docs/how-to/align-devices-and-cpus.md` shows is what comes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import yaml

from kubelet_sim.cli.plugin import devices
from kubelet_sim.manifests.kubelet_configuration import read_kubelet_configuration
from kubelet_sim.scenario.play.player import play
from kubelet_sim.scenario.story.story_reader import story_from_mapping
from tests.patience import PATIENCE_S

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "align-devices-and-cpus.md").read_text(encoding="utf-8")
POD, CONFIGURATION = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))


def told_of(accelerators: int) -> str:
    """All that the transcript says when the page's pod, asking for so many accelerators, comes to the page's node."""
    pod: dict[str, Any] = yaml.safe_load(yaml.safe_dump(POD))
    pod["metadata"]["uid"] = "one"
    pod["spec"]["containers"][0]["resources"]["limits"]["example.com/acc"] = accelerators
    story = story_from_mapping(
        {
            "name": "the page",
            "node": {"numa": [0, 1], "policy": "restricted"},
            "plugins": {
                kind: {"resource": f"example.com/{kind}", "socket": f"{kind}.sock", "devices": devices(None, numa)}
                for kind, numa in re.findall(r"--resource example\.com/(nic|acc) +--numa (0:\d,1:\d)", PAGE)
            },
            "steps": [
                {"do": "register", "plugin": "nic"},
                {"do": "register", "plugin": "acc"},
                {"do": "admit", "pod": pod},
            ],
        }
    )
    played = asyncio.run(asyncio.wait_for(play(story), PATIENCE_S))
    return "\n".join(f"{record.text}  [{', '.join(record.rules)}]" for record in played.steps[-1].journal)


def shown(heading: str, number: int = 0) -> list[str]:
    """The lines of a block of output on the page; a line that is set in is the one before going on."""
    section = PAGE.partition(f"## {heading}")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    output = [block for language, block in blocks if not language]
    return str(output[number]).replace("\n  ", " ").splitlines()


def test_an_aligned_pod_is_told_as_on_the_page() -> None:
    """Hints, the winner, and what of it became devices."""
    told = told_of(2)
    for line in shown("See which hint won, and why"):
        assert line in told


def test_a_refused_pod_is_told_as_on_the_page() -> None:
    """The same with more accelerators than are on a node."""
    told = told_of(4)
    for line in shown("See which hint won, and why", 1):
        assert line in told


def test_the_configuration_of_the_page_can_be_read() -> None:
    """And the field that the page names is the one without effect."""
    read = read_kubelet_configuration(yaml.safe_dump(CONFIGURATION), "kubelet.yaml")
    assert (read.topology_manager_policy, read.topology_manager_scope) == ("single-numa-node", "pod")
    assert [f"kubelet.yaml: {name} has no effect here" in PAGE for name in read.without_effect] == [True]
