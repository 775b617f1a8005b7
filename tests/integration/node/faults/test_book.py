"""Injecting, listing, undoing: what every fault has in common."""

from __future__ import annotations

import asyncio

import pytest

from kubelet_sim.errors import RegistrationRefused, UsageError
from kubelet_sim.model.faults import Fault
from kubelet_sim.node.node import Node
from tests.integration.node.bench import RESOURCE, Bench, RunOnBench, device, pod, registration, soon


def told(bench: Bench) -> list[str]:
    """The records about faults."""
    return [record.text for record in bench.node.transcript if record.kind == "fault"]


async def refused(node: Node, resource: str = RESOURCE) -> bool:
    """Whether a Register call is refused at the door."""
    try:
        await node.hooks.register_called(registration(resource=resource), None)
    except RegistrationRefused:
        return True
    return False


def test_a_fault_applies_until_it_is_undone(on_bench: RunOnBench) -> None:
    """It says what it did and how to undo it; its beginning, each application and its end are recorded."""

    async def body(bench: Bench) -> None:
        fault = await bench.node.inject(Fault("refuse-register", {"reason": "name"}))
        assert bench.node.faults() == (fault,)
        assert fault.did == "Register is refused from now on"
        assert fault.undo_text == "undo: fault undo 1, and registrations count again"
        assert await refused(bench.node)
        assert await refused(bench.node)
        await fault.undo()
        await fault.undo()
        assert not await refused(bench.node)
        assert bench.node.faults() == ()
        view = fault.view()
        assert (view.applied, view.is_active, view.arguments["reason"]) == (2, False, "name")
        refusal = f'Register is refused: the ResourceName "{RESOURCE}" is invalid'
        assert told(bench) == [
            (
                "fault 1 refuse-register is injected: Register is refused from now on"
                " (undo: fault undo 1, and registrations count again)"
            ),
            f"fault 1 refuse-register applies: {refusal}",
            f"fault 1 refuse-register applies: {refusal}",
            "fault 1 refuse-register is over: undone",
        ]

    on_bench(body)


def test_a_fault_with_a_count_ends_by_itself(on_bench: RunOnBench) -> None:
    """After the last time nothing of it is left."""

    async def body(bench: Bench) -> None:
        await bench.node.inject(Fault("refuse-register", count=2))
        assert [await refused(bench.node) for _ in range(3)] == [True, True, False]
        assert bench.node.faults() == ()
        assert bench.node.hooks.is_empty
        assert told(bench)[-1] == "fault 1 refuse-register is over: it has applied 2 times"

    on_bench(body)


def test_a_filter_spares_everybody_else(on_bench: RunOnBench) -> None:
    """By resource and by socket; what is spared does not count."""

    async def body(bench: Bench) -> None:
        fault = await bench.node.inject(Fault("refuse-register", resource="example.com/other"))
        assert not await refused(bench.node)
        assert await refused(bench.node, "example.com/other")
        assert fault.applied == 1
        await bench.node.inject(Fault("refuse-register", socket="p.sock"))
        assert await refused(bench.node)

    on_bench(body)


@pytest.mark.parametrize(
    "fault, why",
    [
        (Fault("no-such-fault"), "there is no fault"),
        (Fault("cut-stream", count=1), "it has no count"),
        (Fault("refuse-register", count=0), "1 or more"),
        (Fault("refuse-register", pod="p"), "narrowed down by pod"),
        (Fault("refuse-register", {"reason": "x"}), "reason: expected one of"),
        (Fault("cut-stream"), "no plugin has an open stream"),
        (Fault("delete-checkpoint"), "no checkpoint to damage"),
        (Fault("stale-socket", {"name": "../x"}), "a socket's name"),
        (Fault("kill-plugin", socket="nobody.sock"), "nobody listens on nobody.sock"),
        (Fault("kill-plugin", socket="../../x.sock"), "does not lie below a root"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_fault_that_cannot_be_does_nothing(on_bench: RunOnBench, fault: Fault, why: str) -> None:
    """The error is one line; nothing is active, nothing hooked."""

    async def body(bench: Bench) -> None:
        with pytest.raises(UsageError, match=why):
            await bench.node.inject(fault)
        assert bench.node.faults() == ()
        assert bench.node.hooks.is_empty

    on_bench(body)


def test_an_id_that_is_not_active_cannot_be_undone(on_bench: RunOnBench) -> None:
    """The error names those that are."""

    async def body(bench: Bench) -> None:
        await bench.node.inject(Fault("stall-register"))
        with pytest.raises(UsageError, match="active are: 1"):
            await bench.node.undo_fault(7)
        assert (await bench.node.undo_fault(1)).is_over

    on_bench(body)


def test_a_fault_that_holds_something_lets_it_go_when_it_is_undone(on_bench: RunOnBench) -> None:
    """One that waits for ever holds up every admission of the node, in order. Rules: DM-41, DM-74"""

    async def body(bench: Bench) -> None:
        peer = await bench.plugin(device("a"), device("b"))
        fault = await bench.node.inject(Fault("stall-call", {"call": "Allocate"}, count=1))
        first = asyncio.ensure_future(bench.node.admit(pod("one")))
        second = asyncio.ensure_future(bench.node.admit(pod("two")))
        await bench.clock.advance(3600)
        assert (first.done(), second.done(), peer.allocated) == (False, False, [])
        assert fault.is_holding
        await fault.undo()
        await soon(asyncio.gather(first, second))
        assert peer.allocated == [("a",), ("b",)]

    on_bench(body)


def test_a_hold_of_so_many_seconds_ends_on_the_nodes_clock(on_bench: RunOnBench) -> None:
    """And so does the fault, if that was its last time."""

    async def body(bench: Bench) -> None:
        await bench.plugin(device("a"))
        await bench.node.inject(Fault("stall-call", {"call": "Allocate", "seconds": 60}, count=1))
        admission = asyncio.ensure_future(bench.node.admit(pod("one")))
        await bench.clock.advance(59)
        assert not admission.done()
        await bench.clock.advance(1)
        await soon(admission)
        assert bench.node.faults() == ()

    on_bench(body)


def test_all_faults_end_with_the_node(on_bench: RunOnBench) -> None:
    """What they changed is changed back, in the other order; a stopped node has no faults."""

    async def body(bench: Bench) -> None:
        directory = bench.node.root.layout.device_plugins
        await bench.node.inject(Fault("stale-socket"))
        await bench.node.inject(Fault("missing-directory"))
        assert not directory.exists()
        await bench.node.stop()
        assert bench.node.faults() == ()
        assert directory.is_dir()
        assert not (directory / "stale.sock").exists()

    on_bench(body)


def test_a_node_that_is_not_started_has_no_faults(on_bench: RunOnBench) -> None:
    """Nor can it get some."""

    async def body(bench: Bench) -> None:
        await bench.node.stop()
        with pytest.raises(UsageError, match="not started"):
            await bench.node.inject(Fault("stall-register"))

    on_bench(body)
