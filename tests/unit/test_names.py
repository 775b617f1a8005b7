from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import kubelet_sim

PACKAGE = Path(kubelet_sim.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "pb" not in path.parts)
SHARED = frozenset(
    {
        "Part",
        "Kind",
    }
)
"""Names that still more than one class has. A name is taken off when the classes have names of their own; none is added."""


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
    assert {name: found for name, found in modules.items() if len(found) > 1 and name not in SHARED} == {}
    assert {name for name in SHARED if len(modules[name]) < 2} == set(), "these are names of one class by now"


def test_no_module_is_named_for_what_happens() -> None:
    """A module is named for the noun it holds: none ends in -ing."""
    assert [str(path) for path in MODULES if path.stem.endswith("ing")] == []
