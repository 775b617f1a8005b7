from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import kubelet_sim

FEW_WORDS, SHORT_DOCSTRINGS = 5, 30
PACKAGE = Path(kubelet_sim.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "pb" not in path.parts)


def classes() -> Iterator[tuple[str, str]]:
    """Names of classes with the modules that define them."""
    for path in MODULES:
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.ClassDef):
                yield each.name, str(path.relative_to(PACKAGE))


def test_no_two_classes_have_one_name() -> None:
    """A name of a class means one thing in the whole package, and a private one is no exception."""
    modules: dict[str, list[str]] = defaultdict(list)
    for name, module in classes():
        modules[name.lstrip("_")].append(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_no_module_is_named_for_what_happens() -> None:
    """A module is named for the noun it holds: none ends in -ing."""
    assert [str(path) for path in MODULES if path.stem.endswith("ing")] == []


def test_few_docstrings_are_too_short_to_stand_alone() -> None:
    """Of five words or fewer most are riddles; the number of those left only goes down."""
    found = []
    for path in MODULES:
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                words = (ast.get_docstring(each) or "a b c d e f").split()
                found += [f"{path.relative_to(PACKAGE)}: {' '.join(words)}"] if len(words) <= FEW_WORDS else []
    assert len(found) <= SHORT_DOCSTRINGS, found


def test_a_package_names_modules_that_it_has() -> None:
    """A word in backticks that looks like a module, in the docstring of a room, is a module or a class of the room."""
    missing = []
    for path in (each for each in MODULES if each.name == "__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        held = {each.stem for each in path.parent.rglob("*.py")} | {each.name for each in path.parent.iterdir()}
        missing += [
            f"{path.parent.name}: {name}" for name in re.findall(r"`([a-z]+(?:_[a-z]+)*)`", text) if name not in held
        ]
    assert missing == []
