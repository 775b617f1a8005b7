"""The story of `docs/how-to/scenarios.md`, and the script of `try-pods-without-a-plugin.md`, are what they claim to be."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import yaml

from kubelet_sim.scenario.play.parallel_play import StoryOutcome, check
from kubelet_sim.scenario.plugins.script import read_script
from kubelet_sim.scenario.record.recorder import record
from kubelet_sim.scenario.story.story_reader import read_stories
from tests.patience import PATIENCE_S

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


def page(name: str) -> str:
    """A page of the documentation."""
    return (HOW_TO / name).read_text(encoding="utf-8")


def yaml_of(name: str) -> str:
    """The first block of YAML of a page."""
    found = re.search(r"```yaml\n(.*?)```", page(name), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_documented_story_passes() -> None:
    """As it stands on the page."""

    async def run() -> list[StoryOutcome]:
        return [outcome async for outcome in check(read_stories(yaml_of("scenarios.md"), "scenarios.md"))]

    (outcome,) = asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert outcome.text() == ""
    assert outcome.is_passed


def test_the_documented_story_of_the_plugin_watcher_passes() -> None:
    """As it stands on its page. Rules: DM-149, DM-151"""

    async def run() -> list[StoryOutcome]:
        name = "register-through-the-plugin-watcher.md"
        return [outcome async for outcome in check(read_stories(yaml_of(name), name))]

    (outcome,) = asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert outcome.text() == ""


def test_the_documented_story_can_be_recorded() -> None:
    """Without its expectations, they are what comes."""
    source = yaml_of("scenarios.md")
    bare = yaml.safe_load(source)
    for step in bare["steps"]:
        del step["expect"]
    _, (story,) = asyncio.run(asyncio.wait_for(record(yaml.safe_dump(bare), "f"), PATIENCE_S))
    (written,) = read_stories(source, "f")
    assert [step.expect for step in story.steps] == [step.expect for step in written.steps]


def test_the_documented_script_is_one() -> None:
    """Every key in it is known."""
    script = read_script(yaml.safe_load(yaml_of("try-pods-without-a-plugin.md")))
    assert script.allocate.error is not None
