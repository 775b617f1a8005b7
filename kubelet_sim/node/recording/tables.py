"""The device manager's tables as plain values by name, and what changes in them from record to record."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from kubelet_sim.core.devices.endpoint import state_of
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.resource_name import is_extended_resource_name
from kubelet_sim.transcript import Json

Key = tuple[str, ...]
"""`(resource, name, endpoint|healthy|unhealthy)`, `(allocation, pod, container, resource)`, `(node, name)`, `(pods,)`."""


@define
class Tables:
    """Looks at the tables again and again; sets that have not been replaced since are not sorted again."""

    now: Mapping[Key, Json] = field(factory=dict)
    """What the last look saw."""
    _sorted: dict[ResourceName, tuple[frozenset[DeviceID], list[DeviceID]]] = field(factory=dict)

    def look(self, state: State | None) -> dict[Key, Json]:
        """What has changed since the last look: new values, and `None` for what is gone."""
        before, after = self.now, {} if state is None else self._values(state)
        changed = {key: value for key, value in after.items() if before.get(key) != value}
        self.now = after
        return changed | {key: None for key in before if key not in after}

    def _values(self, state: State) -> dict[Key, Json]:
        values: dict[Key, Json] = {}
        names = {**state.endpoints, **state.healthy, **state.unhealthy}
        for name in sorted(names):
            endpoint = state.endpoints.get(name)
            client = "" if endpoint is None or endpoint.client is None else f", client {endpoint.client}"
            values["resource", name, "endpoint"] = f"{state_of(endpoint).value}{client}"
            values["resource", name, "healthy"] = self._healthy(state, name)
            values["resource", name, "unhealthy"] = sorted(state.unhealthy.get(name, ()))
        for (uid, container, of), record in state.allocations:
            pod = state.active_pods.get(uid)
            values["allocation", pod.key if pod else f"{uid} (not active)", container, of] = sorted(record.ids)
        for told, quantity in state.node.capacity.items():
            if is_extended_resource_name(told):
                values["node", told] = f"{state.node.allocatable.get(told, 0)} allocatable of {quantity}"
        values["pods",] = sorted(pod.key for pod in state.active_pods.values())
        return values

    def _healthy(self, state: State, name: ResourceName) -> list[DeviceID]:
        healthy = state.healthy.get(name, frozenset())
        known = self._sorted.get(name)
        if known is None or known[0] is not healthy:
            known = self._sorted[name] = healthy, sorted(healthy)
        return known[1]
