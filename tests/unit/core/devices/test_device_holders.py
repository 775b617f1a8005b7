from __future__ import annotations

from kubelet_sim.core.devices.device_holders import Holders
from kubelet_sim.model.ids import ContainerName, DeviceID, PodUID
from tests.unit.core.bench import DEV, NIC

A, B = DeviceID("a"), DeviceID("b")
ONE, TWO = (PodUID("p"), ContainerName("one")), (PodUID("p"), ContainerName("two"))
OTHER = (PodUID("q"), ContainerName("one"))


def test_nobody_holds_anything() -> None:
    """What nobody has recorded has no holder, and its resource no ids. Rules: DM-97"""
    holders = Holders()

    assert holders.of(DEV, A) == ()
    assert holders.pods(DEV, A) == frozenset()
    assert holders.ids(DEV) == set()


def test_several_containers_may_hold_a_device() -> None:
    """They are named in order of recording; the same id of another resource is another device. Rules: DM-88, DM-97"""
    holders = Holders()
    for holder in (TWO, OTHER, ONE):
        holders.add(DEV, (A, B), holder)
    holders.add(NIC, (A,), ONE)

    assert holders.of(DEV, A) == (TWO, OTHER, ONE)
    assert holders.pods(DEV, A) == {"p", "q"}
    assert holders.of(NIC, A) == (ONE,)


def test_who_lets_go_is_forgotten() -> None:
    """A device without holders is none of the ids; the set that was handed out does not follow. Rules: DM-97"""
    holders = Holders()
    holders.add(DEV, (A, B), ONE)
    holders.add(DEV, (B,), OTHER)
    before = holders.ids(DEV)

    holders.remove(DEV, (A, B), ONE)

    assert holders.ids(DEV) == {B}
    assert holders.of(DEV, B) == (OTHER,)
    assert before == {A, B}
