from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubelet_sim.core.topology.affinities import Affinities
from kubelet_sim.core.topology.hints import IMPOSSIBLE, NO_PREFERENCE, Hint, HintsByResource, flattened, rank
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Container, Pod

P, MAIN = PodUID("p"), ContainerName("main")


def test_the_zero_hint_has_no_mask_and_is_not_preferred() -> None:
    """It has no mask and is not preferred; no mask is not a mask without bits. Rules: TM-6, TM-7"""
    assert Hint() == Hint(None, is_preferred=False)
    assert Hint(0) != Hint()
    assert Hint(1, is_preferred=True) != Hint(1, is_preferred=False)
    assert Hint(3) == Hint(3)


def test_preferred_hints_rank_before_narrower_ones() -> None:
    """Preferred ones first, whatever their width; then the narrower. Rules: TM-8"""
    wide, narrow, unwanted = Hint(7, is_preferred=True), Hint(4, is_preferred=True), Hint(1)

    assert sorted([unwanted, wide, narrow], key=rank) == [narrow, wide, unwanted]


HINTS = (Hint(1, is_preferred=True), Hint(3))


@pytest.mark.parametrize(
    "answers, lists",
    [
        ([], []),
        ([{}], [NO_PREFERENCE]),
        ([{"r": None}], [NO_PREFERENCE]),
        ([{"r": ()}], [IMPOSSIBLE]),
        ([{"r": HINTS}], [HINTS]),
        ([{"r": HINTS, "s": None}, {}, {"t": ()}], [HINTS, NO_PREFERENCE, NO_PREFERENCE, IMPOSSIBLE]),
    ],
)
def test_what_answers_mean(answers: list[HintsByResource], lists: list[Sequence[Hint]]) -> None:
    """Saying nothing, having no preference, and having no way are three things. Rules: TM-9, TM-17"""
    assert flattened(answers) == lists


def test_the_last_hint_of_a_container_counts() -> None:
    """A later admission overwrites; a container without one has the zero hint; each has its own. Rules: TM-45, TM-46"""
    affinities = Affinities()
    assert affinities.of(P, MAIN) == Hint()

    affinities.store(P, MAIN, Hint(1))
    affinities.store(P, MAIN, Hint(2, is_preferred=True))

    assert affinities.of(P, MAIN) == Hint(2, is_preferred=True)
    assert affinities.of(P, ContainerName("other")) == affinities.of(PodUID("q"), MAIN) == Hint()
    gone = Pod("p", "default", P, containers=(Container(MAIN),))
    affinities.forget(gone)
    affinities.forget(gone)
    assert affinities.of(P, MAIN) == Hint()
