from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import kubelet_sim.conformance
from kubelet_sim.cli.conform import chosen, conform
from kubelet_sim.conformance import SuiteConfig

OF_OTHERS = {"--mount", "--socket-dir"}
"""Of container engines, and of the plugins of examples."""


def test_every_option_that_a_check_asks_for_is_there() -> None:
    """A skipped check names what would help: nobody is to look for an option that there is not."""
    room = Path(kubelet_sim.conformance.__file__).parent
    text = "\n".join(file.read_text(encoding="utf-8") for file in room.rglob("*.py"))
    asked = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    options = {name for each in conform.params if isinstance(each, click.Option) for name in each.opts}
    assert "--break" in asked
    assert asked <= options | OF_OTHERS


def test_the_nodes_of_the_plugins_machine_are_a_list() -> None:
    """As numbers; anything else is refused."""
    assert given(numa_nodes="0,1").numa_nodes == (0, 1)
    assert given(most_devices=500).most_devices == 500
    with pytest.raises(click.BadParameter, match="such as 0,1"):
        given(numa_nodes="0-1")


def given(**options: object) -> SuiteConfig:
    """What these options of the command line come to."""
    hooks = {each.name: None for each in conform.params if each.name and each.name.startswith("hook_")}
    return chosen(
        SuiteConfig(), ("plugin",), None, {"attach": False, "env": {}, "start_timeout": None, **hooks, **options}
    )
