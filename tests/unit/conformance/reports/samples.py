"""Runs of the suite as values: every status, and text that wants to be more than text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from kubelet_sim.conformance.check import Check, Group, Level, Need, Stage
from kubelet_sim.conformance.verdict import About, Finding, Outcome, Report, Status
from kubelet_sim.transcript import Record, RecordLevel

if TYPE_CHECKING:
    from kubelet_sim.conformance.check_context import CheckContext

HOSTILE = (
    "</script><script>document.title='owned'</script>]]><b>&amp; \x1b[31m\x00\x0b\ufffe\ud800\u202e\r\n"
    "::error title=x::owned\n::stop-commands::x\n# TODO x\n\\| `a` ![x](y) %0A, "
)
"""Markup of every medium, controls, a half of a character, a mark that turns the line round."""


async def _never(ctx: CheckContext) -> None:
    raise AssertionError("reports run no check")


def check(id_: str, group: Group = Group.REGISTRATION, level: Level = Level.ERROR, **more: Any) -> Check:
    """A check of that id."""
    plain = Check(
        id=id_,
        group=group,
        title=f"{id_} holds",
        level=level,
        needs=frozenset({Need.BLACK_BOX}),
        stage=Stage.SHARED,
        what="What is done.",
        why="It matters <much>.",
        fix="Do it otherwise.",
        rules=("DM-20",),
        source="the code of the kubelet",
        run=_never,
        applies=lambda _: True,
        is_beyond=False,
        is_quick=False,
    )
    return evolve(plain, **more)


def record(text: str, number: int = 1, level: RecordLevel = RecordLevel.INFO) -> Record:
    """A record of the transcript."""
    return Record(number, 1.5, "fact", "example.com/dev", text, ("DM-20",), level, details={"ids": ("a",)})


PASSED = Outcome(check("reg-passes"), Status.PASSED, notes=("observed 5 s",), took_s=0.25)
FAILED = Outcome(
    check("reg-fails"),
    Status.FAILED,
    (
        Finding(Level.INFO, "only told", {}),
        Finding(Level.ERROR, f"seen {HOSTILE}", {"id": HOSTILE, "took_s": 1.5, "ids": ["a", "b"]}),
    ),
    took_s=1.23456,
    records=(record("Register came"), record(HOSTILE, 2, RecordLevel.WARNING)),
    output=("starting", HOSTILE),
)
WARNED = Outcome(
    check("law-warns", Group.LISTING, Level.WARNING), Status.WARNED, (Finding(Level.WARNING, "surprising"),)
)
SKIPPED = Outcome(check("health-skips", Group.HEALTH), Status.SKIPPED, reason=f"needs --break CMD {HOSTILE}")
BROKEN = Outcome(check("alloc-breaks", Group.ALLOCATE), Status.BROKEN, reason=f"did not end within 120 s {HOSTILE}")
KNOWN = evolve(FAILED, check=check("reg-known"), is_known=True)
FIXED = evolve(PASSED, check=check("reg-fixed"), is_known=True)
ALL = (PASSED, FAILED, KNOWN, FIXED, WARNED, SKIPPED, BROKEN)

ABOUT = About(
    kubelet_sim="0.1.0",
    kubelet_version="v1.36.2",
    plugin=f"./my-plugin --name '{HOSTILE}'",
    resources=("example.com/dev",),
    seed=7,
    mode="default",
    window_s=5.0,
)


def report(*outcomes: Outcome, version: str = "v1.36.2", **more: Any) -> Report:
    """A run with these outcomes."""
    return Report(evolve(ABOUT, kubelet_version=version), outcomes, 12.3456, **more)


EVERYTHING = report(*ALL, notes=(HOSTILE,))
"""Every status, and hostile text wherever text of others can be."""
GOOD = report(PASSED, evolve(SKIPPED, reason="needs --break CMD"))
