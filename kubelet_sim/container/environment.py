"""The variables that a pod's own `env` and `envFrom` come to.

Values that lie outside of the manifest (ConfigMaps, Secrets, addresses, services) are named as not simulated, unless the
caller knows them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from attrs import define, field, frozen

from kubelet_sim.container.config import Env, Giver, NotSimulated, Origin
from kubelet_sim.container.expansion import expand, known
from kubelet_sim.container.manifest_parts import ManifestPart
from kubelet_sim.errors import UsageError
from kubelet_sim.model.node import DEFAULT_NODE_NAME
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.quantity import Quantity

Objects = Mapping[tuple[str, str], Mapping[str, str]]
"""The data of ConfigMaps and Secrets of the pod's namespace, by kind and name."""
NO_OBJECTS: Objects = MappingProxyType({})

_SHOWN = 60
_SOURCES = {"configMapRef": "ConfigMap", "secretRef": "Secret"}
_KEY_SOURCES = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}


@frozen
class ClusterData:
    """What is known outside of the pod's manifest."""

    node_name: str = DEFAULT_NODE_NAME
    objects: Objects = NO_OBJECTS


NOTHING_MORE = ClusterData()


@define
class PodEnvironment:
    """Collects the variables of one container."""

    _pod: Pod
    _container: Container
    _world: ClusterData
    _found: dict[str, Env] = field(factory=dict)
    not_simulated: list[NotSimulated] = field(factory=list)

    def read(self, spec: ManifestPart) -> tuple[Env, ...]:
        """The variables of the container's `envFrom` and `env`, in manifest order: the kubelet's own order is open.

        A name counts once; what comes later wins. Values of plugins are not visible here.

        Raises:
            UsageError: for a manifest in which a field is of another kind than the API's, or a ConfigMap or Secret that
                is known and has not the key.

        Rules: DM-127, DM-129
        Follows: makeEnvironmentVariables
        """
        for source in spec.parts("envFrom"):
            self._take_all(source)
        for variable in spec.parts("env"):
            self._take(variable)
        return tuple(self._found.values())

    def _take_all(self, source: ManifestPart) -> None:
        prefix = source.text("prefix")
        for name, kind in _SOURCES.items():
            if name in source:
                wanted = source.part(name).text("name")
                data = self._world.objects.get((kind, wanted))
                if data is None:
                    self.not_simulated.append(NotSimulated(f"envFrom {kind} {wanted}", "its data is not known here"))
                    continue
                for key, value in data.items():
                    self._set(prefix + key, value, f"envFrom {kind} {wanted}")

    def _take(self, variable: ManifestPart) -> None:
        name = variable.text("name")
        value = variable.text("value")
        if value or "valueFrom" not in variable:
            seen = {each.name: each.value for each in self._found.values()}
            self._set(name, expand(value, known(seen)), "env")
            return
        answer = self._value_from(name, variable.part("valueFrom"))
        if answer is not None:
            self._set(name, answer, "env")

    def _value_from(self, name: str, source: ManifestPart) -> str | None:
        if "fieldRef" in source:
            path = source.part("fieldRef").text("fieldPath")
            value = self._field(path)
            return self._unknown(name, f"{path} is not known here") if value is None else value
        if "resourceFieldRef" in source:
            value = self._resource(source.part("resourceFieldRef"))
            return self._unknown(name, "it depends on the size of the machine") if value is None else value
        for kind_of_source, kind in _KEY_SOURCES.items():
            if kind_of_source in source:
                return self._key(name, kind, source.part(kind_of_source))
        return self._unknown(name, "its source is none that is emulated")

    def _key(self, name: str, kind: str, wanted: ManifestPart) -> str | None:
        data = self._world.objects.get((kind, wanted.text("name")))
        if data is None:
            return self._unknown(name, f"the data of {kind} {wanted.text('name')} is not known here")
        key = wanted.text("key")
        if key not in data and not wanted.flag("optional"):
            raise UsageError(f"couldn't find key {key} in {kind} {self._pod.namespace}/{wanted.text('name')}")
        return data.get(key)

    def _field(self, path: str) -> str | None:
        metadata = ManifestPart(self._pod.manifest).part("metadata")
        spec = ManifestPart(self._pod.manifest).part("spec")
        for mapping in ("labels", "annotations"):
            if path.startswith(f"metadata.{mapping}['") and path.endswith("']"):
                return metadata.part(mapping).text(path[len(f"metadata.{mapping}['") : -2])
        return {
            "metadata.name": self._pod.name,
            "metadata.namespace": self._pod.namespace,
            "metadata.uid": self._pod.uid,
            "spec.nodeName": spec.text("nodeName", self._world.node_name),
            "spec.serviceAccountName": spec.text("serviceAccountName", "default"),
        }.get(path)

    def _resource(self, wanted: ManifestPart) -> str | None:
        kind, _, resource = wanted.text("resource").partition(".")
        name = wanted.text("containerName")
        whose = self._pod.container(name) if name else self._container
        if whose is None:
            raise UsageError(f"{wanted.path}: container {name} not found")
        amounts = whose.limits if kind == "limits" else whose.requests
        amount = amounts.get(resource)
        if amount is None or not amount.amount:
            return None if kind == "limits" else "0"  # no limit, or one of 0, stands for all that the node has
        return str(math.ceil(amount.amount / _divisor(wanted)))

    def _unknown(self, name: str, why: str) -> str | None:
        """No value, and a word about it."""
        self.not_simulated.append(NotSimulated(f"env {name}", why))
        return None

    def _set(self, name: str, value: str, where: str) -> None:
        self._found[name] = Env(name, value, Origin(Giver.POD, where, ("DM-127",)))


def _divisor(wanted: ManifestPart) -> Fraction:
    """What an amount is counted in; 0 and nothing are 1."""
    text = str(wanted.value.get("divisor") or "1")
    try:
        return Quantity.parse(text).amount or Fraction(1)
    except ValueError as error:
        raise UsageError(f"{wanted.path}.divisor: {text[:_SHOWN]!r} is no quantity") from error
