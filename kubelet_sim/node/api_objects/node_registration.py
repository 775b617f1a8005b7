"""The Node of the API: a kubelet registers it, and tells its status after each round that computed one.

It is an object of the API server's: what others wrote into its capacity is what the next process of a kubelet starts from.
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Mapping
from typing import Any

from attrs import define

from kubelet_sim.model.node import NodeObject
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.node.api_objects.api_server import NODES, ApiServer, Object, ObjectNotFound
from kubelet_sim.node.api_objects.node_times import NodeTimes

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Go's names of architectures that Python calls otherwise."""
REPORT_PERIOD_S = 300.0
"""How long a status that does not change is not told again."""
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


@define
class NodeRegistration:
    """The Node of one emulated node.

    Args:
        api: where it is registered.
        times: those of its conditions.
        name: what it is called.
        release: which kubelet it has.
    """

    _api: ApiServer
    _times: NodeTimes
    _name: str
    _release: str
    _boots: int = 1
    _reported_at_s: float = 0.0

    def rebooted(self) -> None:
        """The machine has come up again: it has another boot id from now on."""
        self._boots += 1

    async def tell(self, node: NodeObject) -> None:
        """Register the node, or tell what has become of its status; a quiet one is told of again after five minutes.

        Rules: DM-64, DM-66
        """
        now, status = self._times.now(), self._status(node)
        try:
            told = await self._api.get(NODES, self._name)
        except ObjectNotFound:
            conditions = [_condition(each, now, {}) for each in _CONDITIONS]
            self._reported_at_s = self._times.passed_s()
            await self._api.create(NODES, {**self._new(), "status": {**status, "conditions": conditions}})
            return
        is_news = not _is_well(told) or any(told["status"].get(name) != part for name, part in status.items())
        if not is_news and self._times.passed_s() - self._reported_at_s < REPORT_PERIOD_S:
            return
        self._reported_at_s = self._times.passed_s()
        before = {each["type"]: each for each in told["status"].get("conditions", ())}
        conditions = [_condition(each, now, before.get(each[0], {})) for each in _CONDITIONS]
        gone = {
            part: dict.fromkeys(name for name in told["status"].get(part, ()) if name not in status[part])
            for part in ("capacity", "allocatable")
        }
        patch = {**status, **{part: status[part] | gone[part] for part in gone}, "conditions": conditions}
        await self._api.patch(NODES, self._name, "", {"status": patch})

    async def known(self, told: NodeObject) -> NodeObject:
        """The node object from which a kubelet goes on.

        Args:
            told: what the last process told, whose amounts are written as its user and its plugins wrote them.
        """
        try:
            status = (await self._api.get(NODES, self._name))["status"]
        except ObjectNotFound:
            return told
        found = NodeObject(_quantities(status["capacity"]), _quantities(status["allocatable"]))
        return found if found != _to_thousandths(told) else told

    def _new(self) -> dict[str, Any]:
        architecture = _architecture()
        labels = {"kubernetes.io/hostname": self._name}
        for prefix in ("kubernetes.io", "beta.kubernetes.io"):
            labels |= {f"{prefix}/arch": architecture, f"{prefix}/os": "linux"}
        metadata = {
            "name": self._name,
            "labels": labels,
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        }
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}}

    def _status(self, node: NodeObject) -> dict[str, Any]:
        """The status of the Node but for its conditions, which have times."""
        machine, boot = (str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self._name}/{each}")) for each in ("", self._boots))
        return {
            "capacity": _texts(node.capacity),
            "allocatable": _texts(node.allocatable),
            "addresses": [{"type": "Hostname", "address": self._name}],
            "nodeInfo": {
                "architecture": _architecture(),
                "bootID": boot,
                "containerRuntimeVersion": "kubelet-sim://",
                "kernelVersion": platform.release(),
                "kubeletVersion": self._release,
                "machineID": machine,
                "operatingSystem": "linux",
                "osImage": "kubelet-sim",
                "systemUUID": machine,
            },
        }


def _architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def _condition(given: tuple[str, str, str, str], now: str, before: Mapping[str, Any]) -> dict[str, str]:
    name, status, reason, message = given
    since = before["lastTransitionTime"] if before.get("status") == status else now
    return {
        "type": name,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since,
    }


def _is_well(node: Object) -> bool:
    found = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
    return all(found.get(name) == status for name, status, _, _ in _CONDITIONS)


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: quantity.canonical for name, quantity in amounts.items()}


def _quantities(texts: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}


def _to_thousandths(node: NodeObject) -> NodeObject:
    """The node object as an API server keeps it, which writes no finer amounts."""
    return NodeObject(_quantities(_texts(node.capacity)), _quantities(_texts(node.allocatable)))
