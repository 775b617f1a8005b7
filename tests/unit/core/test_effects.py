from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from kubelet_sim.core.effects import CallAllocate, CloseConnection, Dial, Effect, OpenListAndWatch, ask
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.ids import ClientID, DeviceID
from kubelet_sim.model.plugin import AllocateAnswer, SocketName, SocketPath
from tests.unit.core.bench import DEV, Steps


def test_an_answer_comes_back_where_it_was_asked_for() -> None:
    """`ask` yields its effect once and returns what is sent in. Rules: DM-98"""

    def walk() -> Generator[Effect[Any], Any, AllocateAnswer]:
        answer = yield from ask(CallAllocate(ClientID(1), (DeviceID("a"),)))
        yield from ask(OpenListAndWatch(ClientID(1)))
        return answer

    steps = Steps(walk())
    steps.answer(AllocateAnswer(())).answer()

    assert steps.result == AllocateAnswer(())
    assert steps.seen == [CallAllocate(ClientID(1), (DeviceID("a"),)), OpenListAndWatch(ClientID(1))]


def test_a_failure_is_thrown_where_it_was_asked_for() -> None:
    """It can be caught there, or ends the walk as it is. Rules: DM-98"""
    failure = RpcFailed("Unknown", "x")
    steps = Steps(ask(CloseConnection(ClientID(1))))

    with pytest.raises(RpcFailed) as caught:
        _ = steps.answer(failure).result
    assert caught.value is failure


def test_effects_are_values() -> None:
    """Equal effects are equal, and can stand in sets. Rules: DM-26"""
    assert len({Dial(ClientID(1), DEV, socket) for socket in (SocketName("x"), SocketName("x"), SocketPath("x"))}) == 2
