"""A device manager on a bench: no world around it, every effect answered by the test.

`drive` runs a walk to its end; `Steps` advances one by hand, so that facts and other walks can run in between.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Generic, TypeVar

import attrs

from kubelet_sim.core.devices.reusable_devices import ReuseTable
from kubelet_sim.core.effects import (
    CallAllocate,
    CallGetDevicePluginOptions,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    Effect,
    TakeAdmissionTurn,
    Walk,
    WriteCheckpoint,
)
from kubelet_sim.core.facts import (
    Applied,
    CheckpointRestored,
    DevicesListed,
    PodActivated,
    PodDeactivated,
    ReclaimAsked,
    RestoredEntry,
    RuntimeListed,
    SourcesReadyChanged,
    StatusRoundDue,
    StreamEnded,
)
from kubelet_sim.core.kubelet.kubelet import Kubelet
from kubelet_sim.core.ports import Order
from kubelet_sim.core.state import State
from kubelet_sim.core.topology.affinities import Affinities
from kubelet_sim.core.topology.alignment import Alignment
from kubelet_sim.core.topology.settings import NO_ALIGNMENT, NumaNodeInfo, TopologySettings
from kubelet_sim.errors import RpcFailed
from kubelet_sim.model.admission import Admission, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.node import DEFAULT_MACHINE, NodeObject, NodeStatusRound
from kubelet_sim.model.plugin import API_VERSION, AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from kubelet_sim.profiles import V1_36, Profile
from kubelet_sim.transcript import Decision, RecordLevel

R = TypeVar("R")
T = TypeVar("T")

DEV = ResourceName("example.com/dev")
NIC = ResourceName("vendor.io/nic")
PREFERS = PluginOptions(get_preferred_allocation_available=True)
PRE_STARTS = PluginOptions(pre_start_required=True)
BOOM = RpcFailed("Unknown", "boom")
GONE_S = 300.0
"""The grace period, as the specification gives it. Rules: DM-70"""

Answers = Callable[[Effect[Any]], Any]
"""Answers an effect; an exception that it returns is thrown into the walk."""


class Notes:
    """A journal that can be read."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def append(self, decision: Decision) -> None:
        self.decisions.append(decision)

    def of(self, rule: str) -> list[Decision]:
        """The decisions that name a rule."""
        return [decision for decision in self.decisions if rule in decision.rules]

    def warnings(self, rule: str) -> list[Decision]:
        """Those of them that warn."""
        return [decision for decision in self.of(rule) if decision.level is RecordLevel.WARNING]


class Reversed:
    """An order that is as far from the sorted one as can be."""

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        comparable: Iterable[Any] = items
        return sorted(comparable, reverse=True)


class Shuffled:
    """An order that an adversary with a seed picks, the same one for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing secret

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        comparable: Iterable[Any] = items
        arranged: list[T] = sorted(comparable)
        self._random.shuffle(arranged)
        return arranged


class Preferring:
    """An order that puts some texts first, in the order given."""

    def __init__(self, *first: str) -> None:
        self._first = first

    def arrange(self, rule: str, items: Iterable[T]) -> Sequence[T]:
        comparable: Iterable[Any] = items
        return sorted(comparable, key=lambda item: (item not in self._first, self._place(item), item))

    def _place(self, item: object) -> int:
        return self._first.index(item) if isinstance(item, str) and item in self._first else 0


class Steps(Generic[R]):
    """A walk, advanced by hand: `effect` is what it waits for."""

    def __init__(self, walk: Walk[R]) -> None:
        self._walk = walk
        self._results: list[R] = []
        self.failure: Exception | None = None
        self.effect: Any = None
        self.seen: list[Effect[Any]] = []
        """Every effect so far."""
        self._advance(lambda: next(walk))

    @property
    def is_over(self) -> bool:
        return self.effect is None

    @property
    def result(self) -> R:
        """What the walk ended with; raises what it raised."""
        if self.failure is not None:
            raise self.failure
        assert self._results, f"the walk waits for {self.effect}"
        return self._results[0]

    def answer(self, value: object = None) -> Steps[R]:
        """Answer the effect; an exception is thrown in."""
        assert self.effect is not None, "the walk is over"
        if isinstance(value, Exception):
            failure = value
            self._advance(lambda: self._walk.throw(failure))
        else:
            self._advance(lambda: self._walk.send(value))
        return self

    def finish(self, answers: Answers | None = None) -> R:
        """Answer everything that is left."""
        while self.effect is not None:
            self.answer((answers or fine)(self.effect))
        return self.result

    def close(self) -> None:
        """The kubelet ends; nobody answers any more."""
        self._walk.close()
        self.effect = None

    def _advance(self, step: Callable[[], Effect[Any]]) -> None:
        self.effect = None
        try:
            self.effect = step()
        except StopIteration as end:
            self._results.append(end.value)
        except Exception as failure:  # noqa: BLE001 - looked at by the test
            self.failure = failure
        else:
            self.seen.append(self.effect)


def fine(effect: Effect[Any]) -> Any:
    """What a plugin and a disk answer that have nothing to complain about."""
    match effect:
        case CallGetDevicePluginOptions():
            return PluginOptions()
        case CallAllocate(_, ids):
            return AllocateAnswer((grant(*ids),))
        case CallGetPreferredAllocation():
            return ()
        case TakeAdmissionTurn():
            return False
        case _:
            return None


def scripted(kind: type[Effect[Any]], *answers: object) -> Answers:
    """Answer the effects of one kind in turn, then as `fine`; everything else as `fine`."""
    left = list(answers)
    return lambda effect: left.pop(0) if left and isinstance(effect, kind) else fine(effect)


def drive(walk: Walk[R], answers: Answers | None = None) -> R:
    """Run a walk to its end."""
    return Steps(walk).finish(answers)


def grant(*ids: str) -> ContainerResponse:
    """A container response that names the ids."""
    text = ",".join(sorted(ids))
    return ContainerResponse(envs={"IDS": text}, raw=f"IDS={text}".encode())


def dev(device_id: str, *numa: int, health: str = HEALTHY) -> Device:
    """A device; with NUMA nodes if there are any."""
    return Device(DeviceID(device_id), health, tuple(map(NumaNode, numa)) or None)


def sick(device_id: str) -> Device:
    """A device that is listed as unhealthy."""
    return dev(device_id, health=UNHEALTHY)


def quantities(amounts: Mapping[str, str | int] | None) -> dict[str, Quantity]:
    """Amounts as people write them."""
    return {name: Quantity.parse(str(amount)) for name, amount in (amounts or {}).items()}


def container(
    name: str = "main",
    limits: Mapping[str, str | int] | None = None,
    *,
    kind: ContainerKind = ContainerKind.APP,
    requests: Mapping[str, str | int] | None = None,
) -> Container:
    """A container; what it limits it requests, unless told otherwise."""
    return Container(
        ContainerName(name), kind, quantities(limits), quantities(limits if requests is None else requests)
    )


def pod(name: str, limits: Mapping[str, str | int] | None = None) -> Pod:
    """A pod of one container `main`."""
    return pod_of(name, container("main", limits))


def init(name: str, limits: Mapping[str, str | int] | None = None) -> Container:
    """An init container that runs to its end."""
    return container(name, limits, kind=ContainerKind.INIT)


def sidecar(name: str, limits: Mapping[str, str | int] | None = None) -> Container:
    """An init container that stays."""
    return container(name, limits, kind=ContainerKind.SIDECAR)


def pod_of(name: str, *containers: Container, init: Sequence[Container] = ()) -> Pod:
    """A pod; its uid is its name. Init containers and sidecars among `containers` come first, in their order."""
    early = [*init, *(each for each in containers if each.kind is not ContainerKind.APP)]
    apps = [each for each in containers if each.kind is ContainerKind.APP]
    return Pod(name, "default", PodUID(name), init_containers=tuple(early), containers=tuple(apps))


def topology(policy: str, scope: str = "container", **options: str) -> TopologySettings:
    """Settings of the topology manager; an option is written with `_` for `-`."""
    return TopologySettings(policy, scope, {name.replace("_", "-"): value for name, value in options.items()})


class Bench:
    """A device manager whose pod sources are ready, with its notes and the clients that it made."""

    def __init__(
        self,
        *,
        order: Order | None = None,
        node: NodeObject | None = None,
        machine: Mapping[str, Quantity] = DEFAULT_MACHINE,
        ready: bool = True,
        settings: TopologySettings | None = None,
        numa: Sequence[int] = (0,),
        profile: Profile = V1_36,
    ) -> None:
        self.notes = Notes()
        self.settings, self.numa, self.profile = settings, tuple(numa), profile
        nodes = tuple(map(NumaNodeInfo, self.numa))
        self.manager = Kubelet(
            profile,
            self.notes,
            order=order,
            node=node,
            machine=machine,
            alignment=Alignment(settings or NO_ALIGNMENT, nodes),
        )
        self.manager.apply(SourcesReadyChanged(ready))
        if node is None:
            self.round()  # As at the registration with the API server: a node without it has room for no pod.

    @property
    def state(self) -> State:
        return self.manager.state

    def registering(self, resource: str = DEV, version: str = API_VERSION, socket: str = "p.sock") -> Steps[ClientID]:
        """A registration that waits for its first answer."""
        return Steps(self.manager.register(Registration(version, socket, ResourceName(resource))))

    def register(self, resource: str = DEV, options: PluginOptions | None = None) -> ClientID:
        """A registration that succeeds."""
        answers = scripted(CallGetDevicePluginOptions, options or PluginOptions())
        return self.registering(resource).finish(answers)

    def list(self, client: ClientID, *devices: Device | str) -> Applied[None]:
        """The plugin lists devices; a text is a healthy one."""
        listed = tuple(dev(device) if isinstance(device, str) else device for device in devices)
        return self.manager.apply(DevicesListed(client, listed))

    def serve(self, *devices: Device | str, resource: str = DEV, options: PluginOptions | None = None) -> ClientID:
        """Register and list."""
        client = self.register(resource, options)
        self.list(client, *devices)
        return client

    def end(self, client: ClientID, at_s: float = 0.0, error: RpcFailed | None = None) -> Applied[None]:
        """The plugin's stream ends, opened now if it was not: a client that still registers stands for one that did."""
        if client in self.state.resource_of:
            self.state.streams.add(client)
        return self.manager.apply(StreamEnded(client, at_s, error))

    def round(self, at_s: float = 0.0) -> NodeStatusRound:
        """One node status round."""
        return self.manager.apply(StatusRoundDue(at_s)).answer

    def shown(self, resource: str = DEV) -> tuple[int, int] | None:
        """Capacity and allocatable in the node object as last computed; `None` if it does not list the resource."""
        node = self.state.node
        assert (resource in node.capacity) == (resource in node.allocatable)
        return (node.capacity[resource].value, node.allocatable[resource].value) if resource in node.capacity else None

    def admitting(self, wanted: Pod) -> Steps[Admission]:
        """An admission that waits for its first answer, or is over."""
        return Steps(self.manager.admit(wanted))

    def admit(self, wanted: Pod, answers: Answers | None = None) -> Admission:
        """The verdict."""
        return drive(self.manager.admit(wanted), answers)

    def preparing(self, wanted: Pod, which: str = "main") -> Steps[ContainerSpec | None]:
        """A preparation of one container that waits for its first answer, or is over."""
        found = wanted.container(which)
        assert found is not None
        return Steps(self.manager.prepare(wanted, found))

    def refusal(self, wanted: Pod, answers: Answers | None = None) -> str:
        """The error text of an allocation that fails, taken out of its wrapping."""
        verdict = self.admit(wanted, answers)
        assert isinstance(verdict, Rejected), "it was admitted"
        assert verdict.reason == "UnexpectedAdmissionError"
        before, after = "Allocate failed due to ", ", which is unexpected"
        assert verdict.message.startswith(before)
        assert verdict.message.endswith(after)
        return verdict.message[len(before) : -len(after)]

    def remove(self, name: str) -> None:
        """The pod is over."""
        self.manager.apply(PodDeactivated(PodUID(name)))

    def reclaim(self) -> None:
        self.manager.apply(ReclaimAsked())

    def sources_ready(self, *, ready: bool) -> None:
        self.manager.apply(SourcesReadyChanged(ready))

    def ids(self, pod_name: str, container_name: str = "main", resource: str = DEV) -> set[str] | None:
        """The ids recorded for a container; `None` without a record."""
        record = self.state.allocations.record(PodUID(pod_name), ContainerName(container_name), ResourceName(resource))
        return None if record is None else set(record.ids)

    def reusable(self, pod_name: str, resource: str = DEV) -> set[str]:
        """The ids that the next container of the pod may take over."""
        return set(self.state.reuse.of(PodUID(pod_name), ResourceName(resource)))

    def in_use(self, resource: str = DEV) -> set[str] | None:
        """The ids in use; `None` if the name is no key."""
        found = self.state.allocations.in_use.get(ResourceName(resource))
        return None if found is None else set(found)

    def restarted(
        self,
        document: CheckpointDocument | None,
        *,
        at_s: float = 0.0,
        running: Iterable[tuple[str, str]] = (),
        ready: bool = False,
        order: Order | None = None,
    ) -> Bench:
        """The next kubelet process, on the node object and the pods of this one; `None`: its checkpoint is lost."""
        after = Bench(
            node=self.state.node,
            ready=ready,
            order=order,
            settings=self.settings,
            numa=self.numa,
            profile=self.profile,
        )
        names = frozenset((PodUID(uid), ContainerName(name)) for uid, name in running)
        after.manager.apply(RuntimeListed(names))
        for known in self.state.active_pods.values():
            after.manager.apply(PodActivated(known))
        if document is not None:
            after.manager.apply(restored(document, at_s))
        return after


def restored(document: CheckpointDocument, at_s: float = 0.0) -> CheckpointRestored:
    """The fact that a start makes of a document; the responses keep their bytes only."""
    entries = tuple(
        RestoredEntry(
            PodUID(entry.pod_uid),
            ContainerName(entry.container),
            ResourceName(entry.resource),
            {NumaNode(numa): tuple(map(DeviceID, ids or ())) for numa, ids in (entry.devices or {}).items()},
            ContainerResponse(raw=entry.allocate_response or b""),
        )
        for entry in document.entries or ()
    )
    return CheckpointRestored(entries, tuple(map(ResourceName, document.registered or ())), at_s)


def calls(steps: Steps[Any]) -> list[tuple[str, ...]]:
    """The ids of each Allocate call so far, sorted."""
    return [tuple(sorted(effect.device_ids)) for effect in steps.seen if isinstance(effect, CallAllocate)]


def asked(steps: Steps[Any]) -> list[tuple[set[str], set[str], int]]:
    """Each GetPreferredAllocation call so far: what is available, what must be included, how many."""
    return [
        (set(effect.available), set(effect.must_include), effect.size)
        for effect in steps.seen
        if isinstance(effect, CallGetPreferredAllocation)
    ]


def pre_started(steps: Steps[Any]) -> list[set[str]]:
    """The ids of each PreStartContainer call so far."""
    return [set(effect.device_ids) for effect in steps.seen if isinstance(effect, CallPreStartContainer)]


def written(effects: Iterable[Effect[Any]]) -> list[CheckpointDocument]:
    """The checkpoints among the effects."""
    return [effect.document for effect in effects if isinstance(effect, WriteCheckpoint)]


def snapshot(state: State) -> dict[str, Any]:
    """Everything in the state, in a form that later changes do not reach."""
    tables = {name.name: getattr(state, name.name) for name in attrs.fields(State)}
    allocations = tables.pop("allocations")
    tables.pop("arranged")  # what was made of the other tables
    for of_clients in (
        "streams",
        "resource_of",
        "socket_of",
    ):  # that a client is over is no change of what is known of devices
        tables.pop(of_clients)
    copied = {name: _copy(table) for name, table in tables.items()}
    return {
        **copied,
        "records": dict(allocations),
        "in_use": _copy(allocations.in_use),
        "shared": set(allocations.shared),
    }


def _copy(table: object) -> object:
    if isinstance(table, dict):
        return {key: _copy(value) for key, value in table.items()}
    if isinstance(table, ReuseTable | Affinities):
        return deepcopy(table)
    return set(table) if isinstance(table, set) else table
