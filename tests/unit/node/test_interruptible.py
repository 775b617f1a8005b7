"""Work that a signal ends."""

from __future__ import annotations

import asyncio
import signal

import pytest

from kubelet_sim.node.interruptible import SIGNALS, run_interruptible


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_work_and_waits_for_its_cleaning_up(number: signal.Signals) -> None:
    """Each raises `KeyboardInterrupt`; the handlers are those of before."""
    before = [signal.getsignal(each) for each in SIGNALS]
    cleaned = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, number)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert cleaned == [True]
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_signal_does_not_come_between_a_future_and_its_result() -> None:
    """Whoever sets it finds it as it was when it looked."""
    order = []

    async def work() -> None:
        future = asyncio.get_running_loop().create_future()

        async def answer() -> None:
            signal.raise_signal(signal.SIGINT)
            future.set_result(None)
            order.append("answered")

        answering = asyncio.create_task(answer())
        try:
            await future
        finally:
            await answering
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert order == ["answered"]


def test_work_that_is_cancelled_by_itself_is_no_interruption() -> None:
    """Only a signal is."""

    async def work() -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_interruptible(work())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_loop_is_made_ends_the_work(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop is made and closed as always; then it is an interruption."""
    make = asyncio.new_event_loop
    began = []

    def interrupted() -> asyncio.AbstractEventLoop:
        signal.raise_signal(number)
        loop = make()
        began.append(loop)
        return loop

    monkeypatch.setattr("asyncio.events.new_event_loop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(asyncio.Event().wait())
    assert began[0].is_closed()
