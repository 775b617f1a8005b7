"""How long a kubelet waits before it tries again."""

from __future__ import annotations

from kubelet_sim.node.pods.back_off import BackOff

KEY = ("uid", "main")


def test_it_doubles_up_to_five_minutes() -> None:
    """The first failure is followed by a try at once; then it is 10 s, 20 s, and so on, never more than 300 s."""
    back_off, now_s, waits = BackOff(), 0.0, []
    for _ in range(8):
        wait_s = back_off.remaining_s(KEY, now_s, now_s)
        waits.append(wait_s)
        failed_at_s, now_s = now_s, now_s + wait_s
        assert back_off.remaining_s(KEY, failed_at_s, now_s) == 0
        back_off.tried(KEY, failed_at_s, now_s)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
    assert back_off.delay_s(KEY) == 300


def test_ten_minutes_of_running_are_forgiven() -> None:
    """What ran for more than ten minutes since its last try begins anew; ten minutes sharp do not do."""
    back_off = BackOff()
    back_off.tried(KEY, 0.0, 0.0)
    back_off.tried(KEY, 10.0, 20.0)
    assert back_off.remaining_s(KEY, 620.0, 620.0) == 20
    assert back_off.remaining_s(KEY, 620.1, 620.1) == 0
    back_off.tried(KEY, 620.1, 620.1)
    assert back_off.delay_s(KEY) == 10


def test_a_pod_that_is_gone_is_forgotten() -> None:
    """All its containers and images, and nobody else's."""
    back_off = BackOff()
    for key in (KEY, ("uid", "image", "x"), ("other", "main")):
        back_off.tried(key, 0.0, 0.0)
    back_off.forget("uid")
    assert [back_off.delay_s(key) for key in (KEY, ("uid", "image", "x"), ("other", "main"))] == [0, 0, 10]
