"""The choices of a suite from a file: `[tool.kubelet-sim.conform]` in `pyproject.toml`, or `[conform]` in `kubelet-sim.toml`.

Keys are the long names of the command line's options.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve

from kubelet_sim.conformance.config import HOOKS, Isolation, Mode, SuiteConfig
from kubelet_sim.errors import UsageError
from kubelet_sim.text_files import read_text

_Choice = TypeVar("_Choice", bound=Enum)
FILES = (("kubelet-sim.toml", ("conform",)), ("pyproject.toml", ("tool", "kubelet-sim", "conform")))


def read_config(folder: Path) -> SuiteConfig:
    """The choices in the first file of the folder that has any; the defaults without one.

    Raises:
        UsageError: the file cannot be read, or has a key or a value that cannot be.
    """
    for name, path in FILES:
        file = folder / name
        if _is_there(file) and (table := _table(file, path)) is not None:
            return evolve(SuiteConfig(), **changes_of(table, str(file), folder))
    return SuiteConfig()


def _is_there(file: Path) -> bool:
    try:
        return file.is_file()
    except PermissionError:  # nobody may look into this folder: there is none for us
        return False


def _table(file: Path, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    try:
        found: Any = tomllib.loads(read_text(file))
    except ValueError as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    if not isinstance(found, dict):
        raise UsageError(f"{file}: [{'.'.join(path)}] is no table")
    return found


def changes_of(table: Mapping[str, Any], where: str, folder: Path) -> dict[str, Any]:
    """The fields of a configuration that a table changes; paths count from the folder.

    Raises `UsageError`, with `where`, for what cannot be.
    """
    hooks = {name: _text(table[name], where, name) for name in HOOKS if name in table}
    changes: dict[str, Any] = {"hooks": hooks} if hooks else {}
    for key, value in table.items():
        if key in hooks:
            continue
        if key not in _KEYS:
            raise UsageError(f"{where}: there is no key {key!r}; there are: {', '.join(sorted((*_KEYS, *HOOKS)))}")
        name, convert = _KEYS[key]
        try:
            changes[name] = convert(value, folder)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise UsageError(f"{where}: {key}: {value!r} cannot be: {error}") from error
    return changes


def _text(value: object, where: str, key: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {key}: {value!r} is no text")
    return value


def _texts(value: Any, _: Path) -> tuple[str, ...]:
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise ValueError("expected a text, or a list of them")
    return tuple(found)


def _command(value: Any, _: Path) -> tuple[str, ...]:
    return tuple(shlex.split(value)) if isinstance(value, str) else _texts(value, _)


def _truth(value: Any, _: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")  # noqa: TRY004 - one kind of error for all values
    return value


def _path(value: Any, folder: Path) -> Path:
    if not isinstance(value, str):
        raise ValueError("expected a text")  # noqa: TRY004 - likewise
    return folder / value


def _paths(value: Any, folder: Path) -> tuple[Path, ...]:
    return tuple(folder / each for each in _texts(value, folder))


def _one_of(kind: type[_Choice], value: Any) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"expected one of {', '.join(str(each.value) for each in kind)}") from None


def _seconds(value: Any, _: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError("expected seconds")
    return float(value)


def _whole(value: Any, _: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("expected a whole number")
    return value


def _mapping(value: Any, folder: Path) -> dict[str, tuple[str, ...]]:
    return {str(key): _texts(each, folder) for key, each in _table_of(value).items()}


def _variables(value: Any, _: Path) -> dict[str, str]:
    return {str(key): str(each) for key, each in _table_of(value).items()}


def _table_of(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("expected a table")  # noqa: TRY004 - one kind of error for all values
    return value


def _wholes(value: Any, folder: Path) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError("expected a list of whole numbers")  # noqa: TRY004 - likewise
    return tuple(_whole(each, folder) for each in value)


_Convert = Callable[[Any, Path], Any]
_KEYS: Mapping[str, tuple[str, _Convert]] = {
    "command": ("command", _command),
    "attach": ("attach", _path),
    "env": ("env", _variables),
    "cwd": ("cwd", _path),
    "start-timeout": ("start_timeout_s", _seconds),
    "isolate": ("isolate", lambda value, _: _one_of(Isolation, value)),
    "expect-resource": ("expected_resources", _texts),
    "host-paths": ("host_paths", _mapping),
    "shared-nodes": ("shared_nodes", _texts),
    "host-root": ("host_root", _path),
    "cdi-dirs": ("cdi_dirs", _paths),
    "numa-nodes": ("numa_nodes", _wholes),
    "most-devices": ("most_devices", _whole),
    "consumer": ("consumer", _command),
    "kubelet-version": ("kubelet_versions", _texts),
    "mode": ("mode", lambda value, _: _one_of(Mode, value)),
    "strict": ("is_strict", _truth),
    "beyond": ("is_beyond", _truth),
    "select": ("select", _texts),
    "skip": ("skip", _texts),
    "known-failures": ("known_failures", _path),
    "fail-fast": ("fail_fast", _truth),
    "rerun-failed": ("rerun_failed", _truth),
    "seed": ("seed", _whole),
    "shuffle": ("is_shuffled", _truth),
    "jobs": ("jobs", _whole),
}
