"""The pods whose devices are safe from reclaim, and what they ask of the node together.

The sum is kept, so that a predicate looks at one pod and not at all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, KeysView, Mapping, MutableMapping

from kubelet_sim.core.kubelet.pod_requests import requested
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.pod import Pod


class ActivePods(MutableMapping[PodUID, Pod]):
    """Pods by uid, in order of coming. Rules: DM-116, DM-117"""

    def __init__(self) -> None:
        self._pods: dict[PodUID, Pod] = {}
        self._requested: dict[PodUID, Mapping[str, int]] = {}
        self._total: Counter[str] = Counter()

    def __getitem__(self, uid: PodUID) -> Pod:
        return self._pods[uid]

    def __setitem__(self, uid: PodUID, pod: Pod) -> None:
        if uid in self._pods:
            self._total.subtract(self._requested[uid])
        self._pods[uid] = pod
        self._requested[uid] = requested(pod)
        self._total.update(self._requested[uid])

    def __delitem__(self, uid: PodUID) -> None:
        del self._pods[uid]
        self._total.subtract(self._requested.pop(uid))

    def __iter__(self) -> Iterator[PodUID]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def keys(self) -> KeysView[PodUID]:
        """Their uids: the table's own view, which compares and subtracts quickly."""
        return self._pods.keys()

    def __repr__(self) -> str:
        return f"ActivePods({self._pods!r})"

    def requested(self, uid: PodUID) -> Mapping[str, int]:
        """What that pod asks for; nothing if it is not active."""
        return self._requested.get(uid, {})

    def requested_besides(self, uid: PodUID) -> Mapping[str, int]:
        """What all pods but that one ask for together, in thousandths for cpu; amounts may be 0."""
        own = self._requested.get(uid, {})
        return {name: amount - own.get(name, 0) for name, amount in self._total.items()}
