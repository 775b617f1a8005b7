"""What a report says of a check on the plugin with its fault, and on a good one: run, and made into lines that stay the same.

For `generate_checks_pages.py --record`. All checks took 8 minutes on two cores, 17 while these were busy with other things.
Most of it is waiting: a plugin that does not come back is given its minute. Five runs go on at once.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kubelet_sim.conformance import Outcome, Status, SuiteConfig
from kubelet_sim.conformance.suite import conform
from kubelet_sim.foreign import escape_terminal
from plugins_examples.faulty.faults import FAULTS
from tests.conformance.trial import example, faulty, hardware

FAULTY = "plugins_examples.faulty"
AT_ONCE = 5
LONGEST_LINE = 200
MOST_FINDINGS = 2
_WORDS = {Status.FAILED: "FAIL", Status.WARNED: "warn", Status.PASSED: "pass"}


@frozen
class Good:
    """A plugin that passes, and what the page calls it."""

    shown: str
    config: SuiteConfig


def fault_of(check: str) -> str | None:
    """The fault that was made for a check."""
    return next((name for name, fault in FAULTS.items() if fault.checks[:1] == (check,)), None)


def record(ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The excerpts of these checks; what could not be seen is said on stderr and left out."""
    return asyncio.run(_record(ids))


async def _record(ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    room = asyncio.Semaphore(AT_ONCE)

    async def failing(check: str) -> tuple[str, list[str] | None]:
        name = fault_of(check)
        if name is None:
            return check, None
        async with room:
            print(check, file=sys.stderr)
            with hardware() as folder:
                config = evolve(faulty(folder, "--fault", name), is_beyond=True, select=(check,), jobs=1)
                if name == "ghost":
                    config = evolve(config, host_paths={"ghost": (str(folder / "ghost"),)})
                (report,) = await conform(config)
        (outcome,) = report.outcomes
        if not outcome.findings:
            print(
                f"{check}: nothing found with --fault {name}: {outcome.status.value} {outcome.reason}", file=sys.stderr
            )
            return check, None
        return check, list(lines_of(outcome))

    seen = dict(await asyncio.gather(*map(failing, ids)))
    passing = await _passing([check for check, lines in seen.items() if lines])
    found: dict[str, dict[str, Any]] = {}
    for check, lines in seen.items():
        if lines and check in passing:
            shown, good = passing[check]
            found[check] = {"fault": fault_of(check), "failing": lines, "good": shown, "passing": good}
    return found


async def _passing(ids: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    """By check which good plugin passed it, and how; the first of them that did."""
    found: dict[str, tuple[str, list[str]]] = {}
    reasons: dict[str, str] = {}
    with hardware() as folder, tempfile.TemporaryDirectory(prefix="ks-good-") as place:
        for good in _good_ones(folder, Path(place)):
            if left := tuple(each for each in ids if each not in found):
                (report,) = await conform(evolve(good.config, select=left, is_beyond=True))
                for outcome in report.outcomes:
                    if outcome.status is Status.PASSED and not outcome.findings:
                        found[outcome.check.id] = good.shown, list(lines_of(outcome))
                    else:
                        reasons.setdefault(outcome.check.id, f"{outcome.status.value} {outcome.reason}")
    for check in ids:
        if check not in found:
            print(f"{check}: no good plugin passes it here: {reasons.get(check)}", file=sys.stderr)
            found[check] = "", []
    return found


def _good_ones(folder: Path, place: Path) -> Iterator[Good]:
    """The faulty plugin without a fault, then examples that do what it does not."""
    yield Good(FAULTY, faulty(folder))
    mapped = {name: (f"/dev/{name}",) for name in ("null", "zero", "full")}
    two = ("--resource", "example.com/one", "--resource", "example.com/two")
    yield Good(shlex.join([FAULTY, *two]), evolve(faulty(folder, *two), host_paths=mapped))
    yield Good("plugins_examples.two_resources", example("two_resources"))
    ill = shlex.quote(str(place / "ill"))
    sickness = {"break": f"echo {{id}} >> {ill}", "mend": f"rm -f {ill}"}
    numa = evolve(example("numa", "--unhealthy-file", str(place / "ill")), numa_nodes=(0, 1), hooks=sickness)
    yield Good("plugins_examples.numa", numa)
    yield Good("plugins_examples.pre_start --reset-dir DIR", example("pre_start", "--reset-dir", str(place)))
    cdi = evolve(example("cdi", "--cdi-dir", str(place)), cdi_dirs=(place,))
    yield Good("plugins_examples.cdi --cdi-dir DIR", cdi)
    nodes = ("--device", "/dev/null", "/dev/zero", "/dev/full")
    paths = {path: (path,) for path in nodes[1:]}
    yield Good(
        shlex.join(["plugins_examples.device_nodes", *nodes]), evolve(example("device_nodes", *nodes), host_paths=paths)
    )
    yield Good(f"{FAULTY} --fixed-socket", example("faulty", "--fixed-socket"))
    yield Good(shlex.join([FAULTY, "--cdi-annotations", *two]), example("faulty", "--cdi-annotations", *two))


def lines_of(outcome: Outcome) -> Iterator[str]:
    """As the terminal has it, without texts that stand on the page anyway, and without what another run would change."""
    yield f"{_WORDS.get(outcome.status, outcome.status.value)} {outcome.check.id}: {outcome.check.title}"
    for finding in outcome.findings[:MOST_FINDINGS]:
        yield _line(f"  {finding.level.value}: {stable(finding.text)}")
        if finding.evidence:
            evidence = {name: stable_value(name, value) for name, value in finding.evidence.items()}
            yield _line(stable(f"    {', '.join(f'{name}={value!r}' for name, value in evidence.items())}"))
    if (more := len(outcome.findings) - MOST_FINDINGS) > 0:
        yield f"  (and {more} more)"
    yield from (_line(f"  ({stable(note)})") for note in outcome.notes if not note.startswith(_OF_THE_DAY))


def _line(text: str) -> str:
    return escape_terminal(text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "…")


_STABLE: Mapping[str, str] = {
    r"/(?:tmp|dev/shm|var/tmp)/k[a-z0-9_]{8}/n/device-plugins": "DIR",
    r"/(?:tmp|dev/shm|var/tmp)/k[a-z0-9_]{8}/n": "ROOT",
    r"/(?:tmp|dev/shm|var/tmp)/ks-(?:hw|good)-[a-z0-9_]{8}": "HARDWARE",
    r"-[0-9a-f]{8}\.sock": "-….sock",
    r"/proc/\d+": "/proc/PID",
    r"'run-\d+'": "'run-N'",
    r"\b[1-9]\d* ms\b": "a few ms",
    r"\b(refusals|repeated|most_per_second)=\d+": r"\1=N",
    r"\b\d+ lists in\b": "N lists in",
    r"\b\d+(% of a core| Register calls a second)": r"N\1",
    r"\(\d+ times\)": "(N times)",
    r"\bshare=[\d.]+": "share=N",
    r"\bthe stream ended with (?:OK|rpc error: [^;]*);": "the stream ended with a status;",
}
_OF_THE_DAY = ("slow: ", "the moment ", "all of it took ", "the plugin was lost in the check before")
"""How notes begin that tell of a busy machine, or of the order of checks."""


def stable(text: str) -> str:
    """Without the names of temporary places, without counts that depend on the machine, and with measured times to the second."""
    text = re.sub(r"\b\d+\.\d+(?= s\b)", lambda match: _rounded(float(match[0])), text)
    for pattern, instead in _STABLE.items():
        text = re.sub(pattern, instead, text)
    return text


def stable_value(name: str, value: object) -> object:
    """The same of a piece of evidence."""
    if isinstance(value, float):
        return round(value) if value >= 1 else int(value) if name.endswith("_s") else round(value, 1)
    if isinstance(value, list | tuple):
        return [stable_value(name, each) for each in value]
    return value


def _rounded(seconds: float) -> str:
    return f"about {round(seconds)}" if seconds >= 1 else "less than 1"
