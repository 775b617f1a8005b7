"""Values of the model to JSON and back, as transcript files hold them and as the control API carries them.

A value is written by the fields of its class, those at their defaults left out, so that a new field of a view is known
here once its class has it. What stands beside the values, such as the name of a fact, is the business of whoever writes.
"""

from __future__ import annotations

import base64
from types import MappingProxyType
from typing import TypeVar

from cattrs import Converter

from kubelet_sim.errors import UsageError
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.transcript.records import Json

T = TypeVar("T")


def value_converter() -> Converter:
    """A converter that knows the types which values of the model are made of; a field that is unknown is an error."""
    converter = Converter(omit_if_default=True, forbid_extra_keys=True, detailed_validation=False)
    converter.register_unstructure_hook(Quantity, str)
    converter.register_structure_hook(Quantity, lambda text, _: Quantity.parse(text))
    converter.register_unstructure_hook(bytes, lambda data: base64.b64encode(data).decode("ascii"))
    converter.register_structure_hook(bytes, lambda text, _: base64.b64decode(text))
    converter.register_unstructure_hook(MappingProxyType, lambda mapping: converter.unstructure(dict(mapping)))
    converter.register_unstructure_hook_func(
        lambda type_: getattr(type_, "__origin__", type_) is frozenset,
        lambda values: sorted(converter.unstructure(tuple(values))),
    )
    return converter


def to_json(value: object) -> Json:
    """Returns what JSON has for a value of the model, or for several in a tuple."""
    return _CONVERTER.unstructure(value)


def from_json(value: Json, type_: type[T], *, converter: Converter | None = None) -> T:
    """Returns the value of this type that was written. Raises `UsageError` for anything else."""
    try:
        return (converter or _CONVERTER).structure(value, type_)
    except Exception as error:  # cattrs passes on whatever went wrong
        name = getattr(type_, "__name__", type_)
        raise UsageError(f"no {name}: {error}") from error


_CONVERTER = value_converter()
