"""What the pages about the architecture count and name is what the package has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import kubelet_sim
from kubelet_sim.core import facts, ports, walks
from kubelet_sim.node import ports as node_ports

PACKAGE = Path(kubelet_sim.__file__).parent
ROOT = PACKAGE.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "explanation" / "architecture.md"
DECISIONS = DOCS / "explanation" / "decisions"
NUMBERS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
HAND_WRITTEN = sorted(
    [
        *DOCS.glob("explanation/*.md"),
        *DOCS.glob("how-to/*.md"),
        DOCS / "reference" / "glossary.md",
        ROOT / "CONTRIBUTING.md",
    ]
)


def text() -> str:
    """The page about the architecture."""
    return PAGE.read_text(encoding="utf-8")


def subclasses(module: Any, base: type) -> list[str]:
    """Names of the subclasses that the module has."""
    return [each.__name__ for each in vars(module).values() if isinstance(each, type) and base in each.__mro__[1:]]


def linter() -> dict[str, Any]:
    """The configuration of import-linter."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return found


@pytest.mark.parametrize("sort, module, base", [("facts", facts, facts.Fact), ("walks", walks, walks.Asked)])
def test_the_page_says_how_many_facts_and_walks_there_are(sort: str, module: Any, base: type) -> None:
    """A fact or a walk that comes or goes is told on the page that counts them."""
    assert f"There are {NUMBERS[len(subclasses(module, base))]} {sort} " in " ".join(text().split())


def test_the_page_shows_the_rooms_as_import_linter_knows_them() -> None:
    """Row by row, the rooms of the picture are the layers of the contract."""
    block = text().split("```")[1]
    rows = [re.split(r"\s{2,}", line)[0] for line in block.strip().splitlines() if not line.startswith(" ")]
    shown = [frozenset(row.split(" | ")) for row in rows]
    house = next(each for each in linter()["contracts"] if each["id"] == "house")
    assert shown == [frozenset(row.split(" | ")) for row in house["layers"] if row != "__main__"]
    assert f"{NUMBERS[len(linter()['contracts']) - 1].capitalize()} further contracts" in text()


def test_every_port_is_in_the_table_of_ports() -> None:
    """Those of the core and of the node; what a port makes is no port of its own."""
    table = set(re.findall(r"^\| `(\w+)` \|", text(), flags=re.MULTILINE))
    made = {"PluginConnection", "RegistryConnection", "RegistrationServer"}
    known = {
        name
        for module in (ports, node_ports)
        for name, each in vars(module).items()
        if getattr(each, "_is_protocol", False) and each.__module__ == module.__name__
    }
    assert known - made <= table
    names = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if "pb" not in path.parts)
    assert [each for each in sorted(table) if f"class {each}(Protocol" not in names] == []


def test_every_module_named_on_a_page_is_there() -> None:
    """A path such as `core/facts.py` leads somewhere, from the package or from the root of the tree."""
    named = re.compile(r"`((?:[\w.-]+/)+\w+\.py)`")
    missing = [
        (page.name, path)
        for page in HAND_WRITTEN
        for path in named.findall(page.read_text(encoding="utf-8"))
        if not ((PACKAGE / path).is_file() or (ROOT / path).is_file())
    ]
    assert missing == []


def test_every_room_within_a_hall_is_in_the_table_of_rooms() -> None:
    """A room that comes or goes is told on the page, save the one for generated code."""
    rooms = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.glob("*/*/__init__.py")} - {"wire/pb"}
    assert set(re.findall(r"^\| `(\w+/\w+)` \|", text(), flags=re.MULTILINE)) == rooms


def walks_of_a_stranger() -> dict[str, list[str]]:
    """The modules of each walk, in order, by its name."""
    section = text().split("## A stranger's walk\n")[1].split("\n## ")[0]
    return {
        part.splitlines()[0]: re.findall(r"^\d+\. `([\w/]+\.py)`", part, flags=re.MULTILINE)
        for part in section.split("\n### ")[1:]
    }


def test_no_module_is_twice_on_a_strangers_walk() -> None:
    """There are three walks, and each goes one way: through modules that are there, none of them twice."""
    walks = walks_of_a_stranger()
    assert len(walks) == 3
    for modules in walks.values():
        assert len(modules) > 10
        assert sorted(set(modules)) == sorted(modules)
        assert [each for each in modules if not (PACKAGE / each).is_file()] == []


def test_every_decision_is_listed_once_in_the_readme_and_in_the_navigation() -> None:
    """Both lists have every page, under the same themes in the same order."""
    pages = [path.name for path in sorted(DECISIONS.glob("0*.md")) if not path.name.startswith("0000")]
    themes: dict[str, list[str]] = {}
    for part in (DECISIONS / "README.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        themes[part.splitlines()[0]] = re.findall(r"^- \[\d+\]\((0[\w-]+\.md)\)", part, flags=re.MULTILINE)
    assert sorted(page for listed in themes.values() for page in listed) == pages
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    explanation = next(
        each["Explanation"] for each in config["nav"] if isinstance(each, dict) and "Explanation" in each
    )
    decisions = next(each["Decisions"] for each in explanation if isinstance(each, dict))
    shown = {name: [Path(page).name for page in listed] for theme in decisions[1:] for name, listed in theme.items()}
    assert shown == themes
