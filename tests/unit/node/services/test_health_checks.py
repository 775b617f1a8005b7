from __future__ import annotations

from kubelet_sim.node.services.health_checks import Answer, Healthz, always_well, device_plugin, sync_loop

FAILED = (
    "device registration error: device plugin registration gRPC server failed and no device plugins can register: boom"
)


def _healthz(failure: str | None = None, busy_s: float = 0.0) -> Healthz:
    return Healthz(
        {"ping": always_well, "syncloop": sync_loop(lambda: busy_s), "device-plugin": device_plugin(lambda: failure)}
    )


def test_a_healthy_kubelet_says_ok() -> None:
    """Two letters, or a line for each check. Rules: DM-12"""
    assert _healthz().all() == Answer(200, "ok")
    assert _healthz().all(is_verbose=True) == Answer(
        200, "[+]ping ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n"
    )


def test_a_failed_check_is_always_told_without_its_reason() -> None:
    """The reason is for those who ask for the check itself. Rules: DM-12"""
    shown = "[+]ping ok\n[+]syncloop ok\n[-]device-plugin failed: reason withheld\nhealthz check failed\n"
    assert _healthz("boom").all() == _healthz("boom").all(is_verbose=True) == Answer(500, shown)
    assert _healthz("boom").one("device-plugin") == Answer(500, f"internal server error: {FAILED}\n")
    assert _healthz("boom").one("ping") == Answer(200, "ok")
    assert _healthz().one("device-plugin") == Answer(200, "ok")
    assert _healthz().one("nothing") is None


def test_a_check_can_be_left_out() -> None:
    """One that there is not is only warned of."""
    answer = _healthz("boom").all(is_verbose=True, excluded=["device-plugin", "nothing"])
    assert answer.status == 200
    assert "[+]device-plugin excluded: ok\n" in answer.text
    assert 'warn: some health checks cannot be excluded: no matches for "nothing"\n' in answer.text


def test_the_main_loop_may_take_five_minutes() -> None:
    """And not a moment longer. Rules: DM-74"""
    assert _healthz(busy_s=300.0).one("syncloop") == Answer(200, "ok")
    late = "internal server error: sync Loop took longer than expected\n"
    assert _healthz(busy_s=300.001).one("syncloop") == Answer(500, late)
