"""Facts, effects, answers and failures to JSON and back.

A value carries its type's name under `type`, a failure under `error`. What a checkpoint holds follows from what came
before it, so of a `WriteCheckpoint` only the counts are kept.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

from kubelet_sim.core import effects, facts, walks
from kubelet_sim.core.facts import Applied
from kubelet_sim.errors import CheckpointError, KubeletSimError, PluginFault, UsageError
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.codec import from_json, value_converter
from kubelet_sim.model.node import NodeObject, NodeStatusRound
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.transcript.records import Json


def _subclasses(base: type) -> dict[str, type]:
    """By name, those further down included."""
    found: dict[str, type] = {}
    below: list[type] = base.__subclasses__()
    for each in below:
        found[each.__name__] = each
        found.update(_subclasses(each))
    return found


_ANSWERS: tuple[type, ...] = (
    Admitted,
    Rejected,
    AllocateAnswer,
    PluginOptions,
    ContainerSpec,
    NodeObject,
    NodeStatusRound,
)
FACTS: Mapping[str, type] = MappingProxyType(_subclasses(facts.Fact))
EFFECTS: Mapping[str, type] = MappingProxyType(_subclasses(effects.Effect))
ASKED: Mapping[str, type] = MappingProxyType(_subclasses(walks.Asked))
ANSWERS: Mapping[str, type] = MappingProxyType({each.__name__: each for each in _ANSWERS})
_TYPES: Mapping[str, type] = MappingProxyType({**FACTS, **EFFECTS, **ASKED, **ANSWERS})
FAILURES: Mapping[str, type] = MappingProxyType(_subclasses(PluginFault) | _subclasses(CheckpointError))


def _is_failure(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, KubeletSimError)


def encode(value: object) -> Json:
    """The JSON of a payload; plain values stay as they are."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case effects.WriteCheckpoint(document):
            counts = {name: len(ids or ()) for name, ids in (document.registered or {}).items()}
            return {"type": "WriteCheckpoint", "records": len(document.entries or ()), "registered": counts}
        case Applied(answer, following):
            return {"answer": encode(answer), "effects": [encode(each) for each in following]}
        case KubeletSimError():
            return _failure_to_json(value)
        case tuple() | list():
            return [encode(item) for item in value]
    if not attrs.has(type(value)):
        raise UsageError(f"a {type(value).__name__} cannot be written to a transcript")
    return {"type": type(value).__name__, **_CONVERTER.unstructure(value)}


def decode(value: Json) -> Any:
    """What was encoded; `WriteCheckpoint` cannot come back. Raises `UsageError` for anything that is not of ours."""
    match value:
        case list():
            return tuple(decode(item) for item in value)
        case {"error": str()}:
            return _failure(value)
        case {"type": str(name), **members}:
            type_ = _TYPES.get(name)
            if type_ is None:
                raise UsageError(f"there is no {name!r} in a transcript of this version")
            return from_json(members, type_, converter=_CONVERTER)
        case dict():
            raise UsageError("a value without its type")
    return value


def _failure_to_json(failure: Any) -> Json:
    if type(failure).__name__ not in FAILURES:  # nothing that a walk could be told of, and come back
        return {"error": type(failure).__name__, "text": str(failure)}
    names = list(inspect.signature(type(failure)).parameters)
    return {"error": type(failure).__name__, **{name: getattr(failure, name) for name in names}}


def _failure(value: Mapping[str, Json]) -> KubeletSimError:
    given = dict(value)
    type_ = FAILURES.get(given.pop("error", ""))
    if type_ is None:
        raise UsageError(f"there is no failure {value.get('error')!r} in a transcript of this version")
    try:
        failure: KubeletSimError = type_(**given)
    except TypeError as error:
        raise UsageError(f"no {type_.__name__}: {error}") from error
    return failure


_CONVERTER = value_converter()
_CONVERTER.register_unstructure_hook_func(_is_failure, _failure_to_json)
_CONVERTER.register_structure_hook_func(_is_failure, lambda value, _: _failure(value))
