"""Plays one check on a testbed, within a time of its own, and makes an outcome of whatever comes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from attrs import evolve

from kubelet_sim.conformance.check import Check
from kubelet_sim.conformance.check_context import CheckContext, Skipped
from kubelet_sim.conformance.testbed import Testbed
from kubelet_sim.conformance.verdict import Outcome, Status, status_of
from kubelet_sim.errors import KubeletSimError

_KEPT_RECORDS = 400
_KEPT_LINES = 60
INTERRUPTED = "interrupted"


async def play_check(check: Check, testbed: Testbed, notes: tuple[str, ...], finish: Callable[[Outcome], None]) -> None:
    """Make the check; `finish` gets its outcome, also when it is cancelled and has found something by then."""
    ctx = CheckContext(check, testbed, notes)
    last = max((each.number for each in testbed.node.transcript), default=0)
    status, reason = None, ""
    try:
        async with asyncio.timeout(check.limit_s):
            await check.run(ctx)
    except Skipped as skipped:
        status, reason = Status.SKIPPED, str(skipped)
    except TimeoutError:
        status, reason = Status.BROKEN, f"did not end within {check.limit_s:g} s"
    except KubeletSimError as error:
        status, reason = Status.BROKEN, str(error)
    except asyncio.CancelledError:
        if ctx.findings:  # what was found is told, whatever the check had still to do
            finish(_outcome(ctx, testbed, last, status_of(ctx.findings), INTERRUPTED))
        raise
    except Exception as error:  # noqa: BLE001 - a bug in a check must not end the run
        status, reason = Status.BROKEN, f"this should not have happened: {type(error).__name__}: {error}"
    if ctx.findings and status in (None, Status.SKIPPED):
        status = status_of(ctx.findings)
    finish(_outcome(ctx, testbed, last, status or Status.PASSED, reason))


def _outcome(ctx: CheckContext, testbed: Testbed, last: int, status: Status, reason: str) -> Outcome:
    """What came of a check, with its evidence; `last`: the number of the last record before it."""
    took_s = time.monotonic() - ctx.began_s
    outcome = Outcome(ctx.check, status, tuple(ctx.findings), tuple(ctx.notes), reason, took_s)
    if status in (Status.PASSED, Status.SKIPPED):
        return outcome
    records, lines = tuple(testbed.node.transcript.after(last, _KEPT_RECORDS)), list(testbed.plugin.lines)
    found = ctx.found.get(outcome.worst) if outcome.worst is not None else None
    return evolve(
        outcome,
        records=records,
        output=tuple(line.text for line in lines[-_KEPT_LINES:]),
        records_then=tuple(each for each in records if found is None or each.number <= found.record),
        output_then=tuple(each.text for each in lines if found is None or each.at_s <= found.at_s)[-_KEPT_LINES:],
    )
