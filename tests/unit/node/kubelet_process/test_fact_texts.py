"""Facts and answers in words."""

from __future__ import annotations

import pytest

from kubelet_sim.core.facts import RuntimeListed
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.kubelet_process.fact_texts import fact_text, response_text


@pytest.mark.parametrize("count, text", [(0, "0 running containers"), (1, "1 running container")])
def test_running_containers_are_counted(count: int, text: str) -> None:
    """One of them is singular."""
    running = frozenset((PodUID("u"), ContainerName(f"c{number}")) for number in range(count))
    assert fact_text(RuntimeListed(running), State()) == ("node", f"the runtime reports {text}", ("DM-7",))


@pytest.mark.parametrize(
    "response, text",
    [
        (ContainerResponse(), "nothing to set"),
        (ContainerResponse({"A": "1"}, cdi_devices=("c=1",)), "1 env, 1 CDI device"),
        (ContainerResponse({"A": "1", "B": "2"}), "2 envs"),
    ],
)
def test_a_response_by_its_parts(response: ContainerResponse, text: str) -> None:
    """As many of each as there are."""
    assert response_text(response) == text
