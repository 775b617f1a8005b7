"""The active pods and what they ask for together."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.core.kubelet.active_pods import ActivePods
from kubelet_sim.core.kubelet.pod_requests import requested
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.quantity import Quantity

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/dev"]), st.sampled_from(["0", "1", "3", "250m", "0.1", "1Gi"])
)
STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | AMOUNTS), max_size=12)


def pod(name: str, amounts: dict[str, str]) -> Pod:
    """A pod that asks for these."""
    requests = {resource: Quantity.parse(text) for resource, text in amounts.items()}
    return Pod(name, "default", PodUID(name), containers=(Container(ContainerName("main"), requests=requests),))


@given(STEPS)
def test_the_sum_is_that_of_the_pods_that_are_there(steps: list[tuple[str, dict[str, str] | None]]) -> None:
    """Pods come, are replaced and go; what the others ask for is always what adding them up gives. Rules: DM-80"""
    active = ActivePods()
    for name, amounts in steps:
        if amounts is None:
            active.pop(PodUID(name), None)
        else:
            active[PodUID(name)] = pod(name, amounts)
    for besides in (PodUID("a"), PodUID("nobody")):
        total: Counter[str] = Counter()
        for uid, each in active.items():
            if uid != besides:
                total.update(requested(each))
        assert +Counter(active.requested_besides(besides)) == +total
    assert len(active) == len(dict(active))
