"""What a kubelet got from a plugin since the story began, and what no good plugin does among it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from attrs import define, field, frozen

from kubelet_sim.core.state import State
from kubelet_sim.model.device import HEALTHY, Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.response import ContainerResponse

HEALTHS = (HEALTHY, "Unhealthy")
MOST_REGISTRATIONS = 4
"""How many times a good plugin may register with one kubelet process, beside once for each of its own starts."""
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PERMISSIONS = re.compile(r"(?!.*(.).*\1)[rwm]+", re.ASCII)


@frozen
class _ObservedCall:
    """One list, or one answer to Allocate, that came from a plugin's socket."""

    socket: str
    incarnation: int
    """Of the kubelet."""
    ids: frozenset[DeviceID] = frozenset()
    """Those of a list; empty if it was none."""
    problems: tuple[str, ...] = ()


@define
class ObservedCalls:
    """What came over all connections, in order."""

    _seen: dict[_ObservedCall, None] = field(factory=dict)
    _connections: Counter[tuple[str, int]] = field(factory=Counter)
    incarnation: int = 1
    """Which kubelet process it is now."""

    def connected(self, socket: str) -> None:
        """Note that the kubelet has connected to a socket, as it does when a plugin registers."""
        self._connections[socket, self.incarnation] += 1

    def listed(self, socket: str, devices: Sequence[Device]) -> None:
        """Note a list that a plugin sent, and what is wrong with it. Rules: DM-54, DM-55"""
        counts = Counter(device.id for device in devices)
        problems = [f"the id {each!r} is in one list {count} times" for each, count in counts.items() if count > 1]
        problems += [
            f"the health of {device.id!r} is {device.health!r}, which is no word for one"
            for device in devices
            if device.health not in HEALTHS
        ]
        problems += ["an id is empty"] if "" in counts else []
        self._note(_ObservedCall(socket, self.incarnation, frozenset(counts), tuple(problems)))

    def answered(self, socket: str, ids: Iterable[DeviceID], answer: AllocateAnswer) -> None:
        """Note how a plugin answered Allocate, and what is wrong with the answer. Rules: DM-99"""
        problems = [problem for response in answer.responses for problem in _wrong(response)]
        if not answer.responses:
            problems = [f"Allocate of {_ids(ids)} was answered without a response"]
        self._note(_ObservedCall(socket, self.incarnation, problems=tuple(problems)))

    def problems(self, sockets: Iterable[str], starts: int = 1) -> list[str]:
        """What was wrong with all that came over these sockets, in order, each once.

        Args:
            sockets: where they lie.
            starts: how often their plugin was started, each time with a registration.
        """
        ours = set(sockets)
        seen = [each for each in self._seen if each.socket in ours]
        found = [problem for each in seen for problem in each.problems]
        lists = [each.ids for each in seen if each.ids]
        for ids in lists[1:]:
            if gone := lists[0] - ids:
                came = f", and {_ids(more)} came" if (more := ids - lists[0]) else ""
                found.append(f"ids have gone from the list: {_ids(gone)}{came}")
        counts: Counter[int] = Counter()
        for (socket, incarnation), count in self._connections.items():
            counts[incarnation] += count if socket in ours else 0
        if any(count > MOST_REGISTRATIONS + starts for count in counts.values()):
            found.append("it registers again and again")
        return list(dict.fromkeys(found))

    def _note(self, seen: _ObservedCall) -> None:
        self._seen[seen] = None


def double_holders(state: State, pods: Iterable[str]) -> list[str]:
    """Devices that two pods hold at a time. Rules: DM-90"""
    holders: dict[tuple[str, str], set[str]] = defaultdict(set)
    known = set(pods)
    for (pod, _, resource), record in state.allocations:
        if pod in known:
            for device in record.ids:
                holders[resource, device].add(pod)
    return [
        f"{resource} {device} is held by {len(uids)} pods"
        for (resource, device), uids in sorted(holders.items())
        if len(uids) > 1
    ]


def _wrong(response: ContainerResponse) -> Iterator[str]:
    for name in response.envs:
        if not _ENV_NAME.fullmatch(name):
            yield f"{name!r} is no name of a variable"
    for node in response.devices:
        for path in (node.container_path, node.host_path):
            if not path.startswith("/"):
                yield f"the path {path!r} of a device node is not absolute"
        if not _PERMISSIONS.fullmatch(node.permissions):
            yield f"the permissions {node.permissions!r} of a device node are none"
    for mount in response.mounts:
        for path in (mount.container_path, mount.host_path):
            if not path.startswith("/"):
                yield f"the path {path!r} of a mount is not absolute"
    granted = (response.envs, response.devices, response.mounts, response.annotations, response.cdi_devices)
    if not any(granted):
        yield "a response to Allocate grants nothing"


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(sorted(ids)) or "nothing"
