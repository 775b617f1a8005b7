from __future__ import annotations

from kubelet_sim.wire.rate_limit import TokenBucket


def taken(bucket: TokenBucket) -> int:
    """Take what there is."""
    count = 0
    while bucket.take():
        count += 1
    return count


def test_a_bucket_is_full_at_the_start_and_never_fuller() -> None:
    """Idle time beyond the capacity is lost. Rules: PR-6"""
    now_s = 100.0
    bucket = TokenBucket(lambda: now_s, rate=100, capacity=10)
    assert taken(bucket) == 10
    now_s += 1e6
    assert taken(bucket) == 10


def test_a_bucket_fills_evenly() -> None:
    """A hundredth of a second brings a token, in however many steps it passes. Rules: PR-6"""
    now_s = 0.0
    bucket = TokenBucket(lambda: now_s, rate=100, capacity=10)
    assert taken(bucket) == 10
    for _ in range(9):
        now_s += 0.001
        assert not bucket.take()
    now_s += 0.001
    assert taken(bucket) == 1
    now_s += 0.035
    assert taken(bucket) == 3
