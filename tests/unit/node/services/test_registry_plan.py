from __future__ import annotations

import pytest

from kubelet_sim.model.plugin import PluginInfo
from kubelet_sim.node.services.registry_plan import REGISTERED, WANTED, Deregister, Register, RegistryPlan

INFO = PluginInfo("DevicePlugin", "example.com/dev", "/x.sock", ("v1beta1",))
P, Q = "/r/p.sock", "/r/q.sock"


def _registered(plan: RegistryPlan, path: str = P, now_s: float = 0.0) -> int:
    """Let it appear, and be registered at once."""
    plan.appeared(path)
    (step,) = plan.next_steps(now_s)
    assert isinstance(step, Register)
    plan.registered(path, step.appearance, INFO)
    plan.ended(path, now_s)
    return step.appearance


def test_a_new_socket_is_registered_at_the_next_second() -> None:
    """Nothing is to be done before there is a socket, and nothing after it was registered. Rules: DM-147"""
    plan = RegistryPlan()
    assert plan.next_steps(0.0) == ()
    assert plan.next_pass_at_s(0.0) is None

    plan.appeared(P)

    assert plan.next_pass_at_s(0.25) == 1.0
    assert plan.next_steps(1.0) == (Register(P, 1),)
    plan.registered(P, 1, INFO)
    assert plan.ended(P, 1.0) is None
    assert plan.next_pass_at_s(1.0) is None
    assert plan.next_steps(2.0) == ()


@pytest.mark.parametrize(
    "now_s, at_s", [(0.1, 1.1), (0.1 + 1.0, 2.1), (3.0999999999, 4.1), (3.2, 4.1), (1000.1, 1001.1)]
)
def test_passes_come_at_whole_seconds_since_the_start(now_s: float, at_s: float) -> None:
    """A pass is never at the moment of what happened, whatever the arithmetic of seconds does. Rules: DM-147"""
    plan = RegistryPlan(0.1)
    plan.appeared(P)

    assert plan.next_pass_at_s(now_s) == pytest.approx(at_s)


def test_operations_on_one_socket_never_overlap() -> None:
    """What is under way is left alone, also when its socket is replaced meanwhile; others are not held up. Rules: DM-147"""
    plan = RegistryPlan()
    plan.appeared(P)
    plan.next_steps(0.0)
    plan.appeared(P)
    plan.appeared(Q)

    assert plan.next_steps(1.0) == (Register(Q, 3),)
    assert plan.next_pass_at_s(1.0) is None  # both are under way
    plan.registered(P, 1, INFO)
    plan.ended(P, 1.5)
    assert plan.next_steps(2.0) == (Deregister(P, INFO),)


def test_a_replaced_socket_is_first_deregistered_then_registered_anew() -> None:
    """One step a pass, with an id of its own for the new file. Rules: DM-147, DM-152"""
    plan = RegistryPlan()
    first = _registered(plan)
    plan.appeared(P)

    assert plan.next_steps(1.0) == (Deregister(P, INFO),)
    plan.deregistered(P)
    plan.ended(P, 1.0)
    assert plan.next_pass_at_s(1.0) == 2.0
    assert plan.next_steps(2.0) == (Register(P, first + 1),)


def test_a_socket_that_is_gone_is_deregistered() -> None:
    """And then forgotten; one that nobody knew is nothing. Rules: DM-147, DM-152"""
    plan = RegistryPlan()
    _registered(plan)
    assert not plan.vanished(Q)

    assert plan.vanished(P)

    assert plan.next_steps(1.0) == (Deregister(P, INFO),)
    plan.deregistered(P)
    plan.ended(P, 1.0)
    assert plan.next_pass_at_s(1.0) is None
    assert plan.counts() == {}


def test_a_socket_that_comes_and_goes_before_a_pass_is_nothing() -> None:
    """Only what is wanted at the pass counts. Rules: DM-147"""
    plan = RegistryPlan()
    plan.appeared(P)
    plan.vanished(P)

    assert plan.next_steps(1.0) == ()


def test_deregistrations_come_first() -> None:
    """In one pass, each in order of paths. Rules: DM-147"""
    plan = RegistryPlan()
    for path in ("/r/b", "/r/y"):
        _registered(plan, path)
    for path in ("/r/b", "/r/y"):
        plan.vanished(path)
    for path in ("/r/x", "/r/a"):
        plan.appeared(path)

    steps = plan.next_steps(1.0)

    assert [(type(step).__name__, step.path) for step in steps] == [
        ("Deregister", "/r/b"),
        ("Deregister", "/r/y"),
        ("Register", "/r/a"),
        ("Register", "/r/x"),
    ]


def test_the_pauses_between_tries() -> None:
    """500 ms, doubling, at most 2 min 2 s, rounded up to the next second. Rules: DM-147"""
    plan, now_s, delays, pauses = RegistryPlan(), 0.0, [], []
    plan.appeared(P)

    for _ in range(12):
        assert plan.next_steps(now_s) == (Register(P, 1),)
        delays.append(plan.ended(P, now_s, failed=True))
        at_s = plan.next_pass_at_s(now_s)
        assert at_s is not None
        assert at_s == plan.retried_at_s(P)
        assert plan.next_steps(at_s - 1) == ()
        pauses.append(at_s - now_s)
        now_s = at_s

    assert delays == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122, 122, 122]
    assert pauses == [1, 2, 3, 5, 9, 17, 33, 65, 123, 123, 123, 123]


def test_a_success_ends_the_back_off() -> None:
    """The next failure waits 500 ms again. Rules: DM-147"""
    plan = RegistryPlan()
    plan.appeared(P)
    for _ in range(3):
        plan.ended(P, 0.0, failed=True)
    assert plan.ended(P, 10.0) is None

    assert plan.retried_at_s(P) is None
    assert plan.ended(P, 10.0, failed=True) == 0.5


def test_the_back_off_is_that_of_the_path() -> None:
    """A new file in the place of one that failed waits as long; another path does not. Rules: DM-147"""
    plan = RegistryPlan()
    plan.appeared(P)
    plan.next_steps(0.0)
    for _ in range(4):
        plan.ended(P, 0.0, failed=True)  # 4 s
    plan.vanished(P)
    assert plan.next_pass_at_s(0.0) is None
    plan.appeared(P)
    plan.appeared(Q)

    assert plan.next_steps(1.0) == (Register(Q, 3),)
    assert plan.next_pass_at_s(1.0) == 5.0
    assert plan.next_steps(4.0) == ()
    assert plan.next_steps(5.0) == (Register(P, 2),)


def test_the_back_off_holds_up_a_deregistration_too() -> None:
    """A plugin that counts as registered although its last operation failed, before 1.36. Rules: DM-147, DM-151"""
    plan = RegistryPlan()
    plan.appeared(P)
    plan.next_steps(0.0)
    plan.registered(P, 1, INFO)
    plan.ended(P, 0.0, failed=True)
    assert plan.next_pass_at_s(0.0) is None

    plan.vanished(P)

    assert plan.next_steps(0.25) == ()
    assert plan.next_pass_at_s(0.25) == 1.0
    assert plan.next_steps(1.0) == (Deregister(P, INFO),)


def test_what_the_gauge_counts() -> None:
    """Sockets that are wanted and plugins that are registered, by path. Rules: DM-161"""
    plan = RegistryPlan()
    _registered(plan)
    plan.appeared(Q)
    assert plan.counts() == {(P, REGISTERED): 1, (P, WANTED): 1, (Q, WANTED): 1}

    plan.vanished(P)
    assert plan.counts() == {(P, REGISTERED): 1, (Q, WANTED): 1}
