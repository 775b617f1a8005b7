"""The amounts of a container: read, defaulted, and checked as the API server does.

Left out: how many huge pages make sense, and the objects that claims name; neither touches devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kubelet_sim.manifests import fields
from kubelet_sim.manifests.cursor import Cursor
from kubelet_sim.manifests.errors import printable, quoted
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.resource_name import is_extended_resource_name, is_native_resource_name, is_qualified_name

_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES = "hugepages-"

Quantities = Mapping[str, Quantity]


def read_resources(resources: Cursor, *, api_checks: bool) -> tuple[Quantities, Quantities]:
    """Limits and requests; a limit without a request is requested.

    Without `api_checks` amounts and names pass unchecked, as for a pod that reached the kubelet past the API server.

    Rules: DM-82
    """
    places = resources.fields(fields.RESOURCES)
    if api_checks:
        _check_names(places["limits"])
        _check_names(places["requests"])
    limits = read_quantities(places["limits"], api_checks=api_checks)
    requests = read_quantities(places["requests"], api_checks=api_checks)
    if api_checks:
        _check_against_limits(places["requests"], requests, limits)
    return MappingProxyType(limits), MappingProxyType({**limits, **requests})


def read_quantities(place: Cursor, *, api_checks: bool) -> dict[str, Quantity]:
    """Amounts by resource name, in the order written; with `api_checks` none is negative and devices are whole."""
    quantities = {}
    for name, entry in place.entries().items():
        quantity = _quantity(entry)
        if api_checks:
            _check_amount(name, quantity, entry)
        quantities[name] = quantity
    return quantities


def _quantity(entry: Cursor) -> Quantity:
    value = entry.value
    # The API server strips the space around a quantity, and takes a number as its text.
    is_amount = isinstance(value, str | int | float) and not isinstance(value, bool)
    try:
        return Quantity.parse(str(value).strip(" \t\r\n") if is_amount else "")
    except ValueError as error:
        raise entry.error(f"found {quoted(value)}", "Expected a quantity, such as 2, 500m or 64Gi") from error


def _check_amount(name: str, quantity: Quantity, entry: Cursor) -> None:
    if quantity.amount < 0:
        raise entry.error(f"{quantity} is negative", "Expected 0 or more")
    if is_extended_resource_name(name) and quantity.milli_value % 1000:
        raise entry.error(f"{quantity} is no whole number", "Expected an integer: devices cannot be shared out")


def _check_names(place: Cursor) -> None:
    for name, entry in place.entries().items():
        if not is_qualified_name(name):
            raise entry.error("this is no resource name", "Expected a name such as example.com/dev")
        if "/" not in name:
            if name not in _COMPUTE and not name.startswith(_HUGE_PAGES):
                hint = (
                    "Expected cpu, memory, ephemeral-storage, hugepages-SIZE or a name with a domain (example.com/dev)"
                )
                raise entry.error("this resource does not exist for containers", hint)
        elif not is_native_resource_name(name) and not is_extended_resource_name(name):
            hint = "Expected a domain of at most 244 characters that does not begin with requests."
            raise entry.error("this is no extended resource name", hint)


def _check_against_limits(place: Cursor, requests: Quantities, limits: Quantities) -> None:
    for name, entry in place.entries().items():
        request, limit = requests[name], limits.get(name)
        may_overcommit = is_native_resource_name(name) and not name.startswith(_HUGE_PAGES)
        if limit is None:
            if not may_overcommit:
                problem = f"{printable(name)} is requested without a limit"
                raise entry.error(
                    problem, "Limit must be set for non overcommitable resources: write it to limits, too"
                )
        # Compared in thousandths, to which the API server rounds both first.
        elif request.milli_value > limit.milli_value:
            raise entry.error(f"the request {request} exceeds the limit {limit}", "Expected at most the limit")
        elif request.milli_value != limit.milli_value and not may_overcommit:
            hint = "Expected both equal, or the limit alone"
            raise entry.error(f"the request {request} is not the limit {limit}", hint)
