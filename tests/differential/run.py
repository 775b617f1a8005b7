"""Play generated stories on the real device manager and on a node of ours, and tell where they part.

    make differential SEEDS=0-1999 JOBS=2
    python tests/differential/run.py --seeds 17                 one story
    python tests/differential/run.py --file story.yaml          stories of a file
    python tests/differential/run.py --seeds 0-1999 --record tests/vectors/differential.json

A divergence is made smaller and saved below build/differential/, as a story that expects what the real side answers. Ends
with 1 if there is one, with 2 if nothing can be played.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from attrs import frozen

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kubelet_sim.errors import KubeletSimError  # noqa: E402 (found by the line above)
from kubelet_sim.profiles import V1_36, Profile, profile_of  # noqa: E402
from kubelet_sim.scenario.record.recorder import StoryFile  # noqa: E402
from kubelet_sim.scenario.story.order import plain_choices  # noqa: E402
from kubelet_sim.scenario.story.story import NO_EXPECTATION  # noqa: E402
from kubelet_sim.scenario.story.story_reader import story_from_mapping  # noqa: E402
from tests.differential.choosing import Candidate, chosen, kinds  # noqa: E402
from tests.differential.generating import generated  # noqa: E402
from tests.differential.harness import DEFAULT_VERSION, Harness, program  # noqa: E402
from tests.differential.shrinking import shrunk  # noqa: E402
from tests.differential.telling_apart import Telling, tell_apart  # noqa: E402

FOUND = ROOT / "build" / "differential"
_AT_ONCE = 20
"""Stories that a process plays in a row."""
_TRIES = 2
"""How often a smaller story is played before it counts as one that shows nothing: the real side has choices."""
_PATIENCE_S = 3.0
"""How long a smaller story may take: one that dials to nobody is of no use."""
Plain = dict[str, Any]


@frozen
class Played:
    """What came of one story, for the report."""

    name: str
    outcome: str
    """`same`, `different`, `unplayable`, or the rule that explains why the sides part."""
    steps: int
    seconds: float
    story: Plain
    """With what the real side answered."""
    shows: frozenset[str]
    """What recording goes by (`choosing`)."""
    text: str = ""


def with_answers(plain: Plain, telling: Telling) -> Plain:
    """The story with what the real side answered and chose, up to the step that it did not come to."""
    steps = []
    for step, there in zip(plain["steps"], telling.real, strict=False):
        told = {**step, "expect": there.answer if there.answer is not NO_EXPECTATION else {}}
        if choices := plain_choices(there.choices):
            told["choices"] = choices
        steps.append(told)
    rest = plain["steps"][len(steps) : len(steps) + 1]
    return {**plain, "steps": [*steps, *rest]}


async def play_one(plain: Plain, harness: Harness, profile: Profile = V1_36) -> Played:
    """Play one story on both sides; a divergence is made smaller."""
    started = time.monotonic()
    telling = await tell_apart(story_from_mapping(plain), harness, profile)
    if telling.different:

        async def persists(smaller: Plain) -> bool:
            for _ in range(_TRIES):
                try:
                    async with asyncio.timeout(_PATIENCE_S):
                        if (await tell_apart(story_from_mapping(smaller), harness, profile)).different:
                            return True
                except KubeletSimError:
                    return False
                except TimeoutError:
                    await harness.end()
                    return False
            return False

        smallest = await shrunk(plain, persists)
        again = await tell_apart(story_from_mapping(smallest), harness, profile)
        if again.different:
            plain, telling = smallest, again
    outcome = "unplayable" if telling.unplayable else "different" if telling.different else telling.explained or "same"
    story = with_answers(plain, telling)
    journals = [
        (played.step.do, [rule for record in played.journal for rule in record.rules]) for played in telling.ours
    ]
    text = telling.unplayable or telling.different
    took = time.monotonic() - started
    return Played(plain["name"], outcome, len(telling.real), took, story, kinds(story, journals), text)


def _play_some(job: tuple[list[Plain], str]) -> list[Played]:
    stories, version = job
    profile = profile_of(version.rpartition(".")[0])

    async def run() -> list[Played]:
        async with Harness(program(version)) as harness:
            done = [await play_one(story, harness, profile) for story in stories]
        gc.collect()  # A server of grpc that goes after its loop complains.
        await asyncio.sleep(0)
        return done

    return asyncio.run(run())


def played(stories: Iterable[Plain], version: str, jobs: int) -> Iterator[Played]:
    """What came of each story, as it comes."""
    waiting = list(stories)
    batches = [(waiting[at : at + _AT_ONCE], version) for at in range(0, len(waiting), _AT_ONCE)]
    if jobs == 1 or len(batches) == 1:
        for batch in batches:
            yield from _play_some(batch)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for done in pool.imap_unordered(_play_some, batches):
            yield from done


def save(found: Played) -> Path:
    """Write a divergence as a story, and tell where."""
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{found.name}.yaml"
    text = yaml.safe_dump(found.story, sort_keys=False, allow_unicode=True, width=120)
    path.write_text(text, encoding="utf-8")
    return path


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _stories(given: argparse.Namespace) -> list[Plain]:
    stories = [generated(seed) for seed in given.seeds] if given.seeds is not None else []
    for path in given.file:
        for document in StoryFile.read(path.read_text(encoding="utf-8"), str(path)).documents:
            stories += document if isinstance(document, list) else [document]
    return stories


def main(arguments: Sequence[str]) -> int:
    """Play what was asked for, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=_seeds, help="one seed, or the first and the last: 0-1999")
    parser.add_argument("--file", type=Path, action="append", default=[], help="a file of stories")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--version", default=DEFAULT_VERSION, help="the release of the real side")
    parser.add_argument("--record", type=Path, help="write a choice of the stories with the real side's answers")
    parser.add_argument("--most", type=int, default=250, help="how many stories to record at most")
    given = parser.parse_args(arguments)
    if not program(given.version).exists():
        sys.stderr.write(f"there is no {program(given.version)}: make reference VERSION={given.version}\n")
        return 2
    outcomes: Counter[str] = Counter()
    candidates = []
    started, steps = time.monotonic(), 0
    for one in played(_stories(given), given.version, given.jobs):
        outcomes[one.outcome] += 1
        steps += one.steps
        if one.outcome == "different":
            sys.stdout.write(f"{one.name}: saved as {save(one)}\n{one.text}\n")
        elif one.outcome == "unplayable":
            sys.stdout.write(f"{one.name}: {one.text}\n")
        elif one.outcome == "same":
            candidates.append(Candidate(one.story, one.shows, len(json.dumps(one.story))))
        sys.stdout.flush()
    took = time.monotonic() - started
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    sys.stdout.write(f"{outcomes.total()} stories, {steps} steps in {took:.0f} s: {told}\n")
    if given.record:
        _record(given.record, chosen(candidates, given.most))
    return 1 if outcomes["different"] else 0


def _record(path: Path, stories: Sequence[Candidate]) -> None:
    lines = ",\n".join(json.dumps(each.story, ensure_ascii=False, separators=(",", ":")) for each in stories)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    rules = frozenset(shown for each in stories for shown in each.shows if re.fullmatch(r"[A-Z]{2}-\d+", shown))
    sys.stdout.write(f"{len(stories)} stories recorded, {len(rules)} rules in their transcripts\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
