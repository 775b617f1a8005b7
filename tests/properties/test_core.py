"""Any sequence of facts and walks, in any state, against the invariants and a model that knows the specification only.

The model follows what is seen from outside: requests, answers, effects. It reads the manager's state to compare, never to
decide, except for when a reclaim came: then it asks whether the records that went were allowed to go.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest
from attrs import define, evolve, field, frozen
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.core.checkpoint_file.document_text import encode
from kubelet_sim.core.checkpoint_file.encoder import Encoder
from kubelet_sim.core.devices.response_merge import merged
from kubelet_sim.core.effects import (
    CallAllocate,
    CallGetDevicePluginOptions,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    CloseConnection,
    Dial,
    Effect,
    NotifyPodHealth,
    OpenListAndWatch,
    TakeAdmissionTurn,
    WriteCheckpoint,
)
from kubelet_sim.core.facts import DevicesListed, Fact, PodActivated, StatusRoundDue, StreamEnded, WatchedPluginGone
from kubelet_sim.core.kubelet import invariants
from kubelet_sim.core.kubelet.pod_requests import requested
from kubelet_sim.core.topology.settings import TopologySettings
from kubelet_sim.errors import (
    CheckpointNotWritten,
    DialFailed,
    PluginNotValid,
    PreparationFailed,
    RegistrationRefused,
    RpcFailed,
    UsageError,
)
from kubelet_sim.model.admission import Admission, Admitted, Rejected
from kubelet_sim.model.checkpoint import CheckpointDocument
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, PodUID, ResourceName
from kubelet_sim.model.node import NodeStatusRound
from kubelet_sim.model.plugin import AllocateAnswer, PluginInfo, PluginOptions, Registration, SocketPath
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse, ContainerSpec
from kubelet_sim.testing import strategies as kst
from tests.unit.core.bench import Bench, Shuffled, Steps, restored, snapshot

GRACE_S = 300.0
DERANDOMIZE = settings().derandomize or "CI" in os.environ
FAILURES = [RpcFailed("Unavailable", "gone"), RpcFailed("InvalidArgument", "no\nsuch device")]
FEW_IDS = st.sampled_from([DeviceID(text) for text in ("a", "b", "c", "d", "", "e\u2028")])
RESOURCES = (*kst.RESOURCES, ResourceName("third.io/acc"))
_NODES = st.sampled_from([None, (0,), (0,), (0,), (1,), (1,), (0, 1), (), (-1,), (7, 1)])
_USUAL = st.builds(Device, FEW_IDS, st.sampled_from(["Healthy"] * 5 + ["Unhealthy"]), _NODES)
LISTS = st.lists(_USUAL, min_size=3, max_size=6, unique_by=lambda device: device.id).map(tuple) | kst.device_lists(
    FEW_IDS, min_size=2
)
SEVERAL_LISTS = st.dictionaries(st.sampled_from(RESOURCES), LISTS)
Lists = dict[ResourceName, tuple[Device, ...]]
SMALL_PODS = st.tuples(st.sampled_from(RESOURCES), st.integers(1, 2), st.sampled_from(list(ContainerKind)))
OPTIONS = st.sampled_from(
    [PluginOptions(), PluginOptions(False, True), PluginOptions(True, True), PluginOptions(True, True)]
)
POLICIES = st.sampled_from(["none", "none", "best-effort", "best-effort", "restricted", "single-numa-node"])
SCOPES = st.sampled_from(["container", "pod"])
HeldKey = tuple[str, str, str]
DeviceOf = tuple[str, str]
"""Resource and id."""


class Preference(Enum):
    """What a plugin answers that is asked what it would rather have. Rules: DM-95"""

    GOOD = "as many as wanted, the last ones"
    FOREIGN = "ids that nobody offered"
    SHORT = "one id"
    EMPTY = "nothing"
    TOO_MANY = "everything twice"

    def ids(self, call: CallGetPreferredAllocation) -> tuple[DeviceID, ...]:
        free = sorted(set(call.available) - set(call.must_include), reverse=True)
        match self:
            case Preference.GOOD:
                return (*call.must_include, *free)[: call.size]
            case Preference.FOREIGN:
                return (DeviceID("zz"), DeviceID("a"), DeviceID("b"))
            case Preference.SHORT:
                return tuple(free[:1])
            case Preference.EMPTY:
                return ()
            case Preference.TOO_MANY:
                return call.available * 2


@frozen
class Reply:
    """What a plugin, or the disk, answers next, whatever it is asked."""

    fails: bool
    preference: Preference
    answer: AllocateAnswer


REPLIES = st.builds(
    Reply, st.sampled_from([False, False, False, True]), st.sampled_from(Preference), kst.allocate_answers()
)


def _sorted(lists: Mapping[Any, tuple[str, ...] | None] | None) -> dict[Any, list[str]]:
    return {key: sorted(ids or ()) for key, ids in (lists or {}).items()}


@define(eq=False)
class Choice:
    """Devices being chosen for one container: those taken so far are in use, and nobody has them in a record yet."""

    resource: str
    taken: frozenset[str]
    preference: tuple[CallGetPreferredAllocation, frozenset[str]] | None = None
    """What the plugin was asked, and what it answered."""
    lost: set[str] = field(factory=set)
    """What a reclaim has forgotten meanwhile: free in spite of all. Rules: DM-97"""


@define(eq=False)
class UnderWay:
    """A pod under way to its verdict."""

    pod: Pod
    steps: Steps[Admission]
    is_plain: bool
    """Whether it came with no record, after another pod, and stayed active: then all of reuse is known from its records."""


@define(eq=False)
class Preparation:
    """A container about to be created."""

    pod: Pod
    container: Container
    steps: Steps[ContainerSpec | None]
    has_failed_call: bool = False
    has_turn: bool = False
    waits_since_others: bool = False


@define
class Plugins:
    """The specification of clients, endpoints and device sets, once more and as small as can be."""

    table: dict[str, ClientID] = field(factory=dict)
    caller: dict[str, ClientID | None] = field(factory=dict)
    """Through whom a resource is called; `None` in a placeholder."""
    stopped: dict[str, float | None] = field(factory=dict)
    """The stop time of each endpoint; `None` while it is live."""
    healthy: dict[str, set[str]] = field(factory=dict)
    unhealthy: dict[str, set[str]] = field(factory=dict)
    options: dict[str, PluginOptions | None] = field(factory=dict)
    devices: dict[str, dict[str, Device]] = field(factory=dict)
    """The last list of each resource, by id; it outlives the resource."""
    shown: dict[str, tuple[int, int]] = field(factory=dict)
    """Capacity and allocatable in the node object."""

    def ended(self, resource: str, now: float) -> ClientID | None:
        """Who is disconnected by the end of a stream. Rules: DM-33, DM-35, DM-44"""
        current = self.table.pop(resource, None)
        if current is not None and resource in self.stopped:
            self.unhealthy.setdefault(resource, set()).update(self.healthy.get(resource, ()))
            if resource in self.healthy:
                self.healthy[resource] = set()
            self.stopped[resource] = now
        return current

    def round(self, now: float) -> tuple[str, ...]:
        """Which resources are removed; `shown` is what the node object says then. Rules: DM-62, DM-64"""
        known = {*self.healthy, *self.unhealthy}
        deleted = tuple(sorted(name for name in known if self._is_gone(name, now)))
        for name in deleted:
            for table in (self.healthy, self.unhealthy, self.stopped, self.caller, self.options):
                table.pop(name, None)
        self.shown = {name: (capacity, capacity) for name, (capacity, _) in self.shown.items()}
        self.shown.update(dict.fromkeys(deleted, (0, 0)))
        self.shown.update(
            {name: (self._capacity(name), len(self.healthy.get(name, ()))) for name in known - {*deleted}}
        )
        return deleted

    def capacity(self) -> dict[str, int]:
        """Rules: DM-62"""
        return {name: self._capacity(name) for name in {*self.healthy, *self.unhealthy}}

    def _capacity(self, name: str) -> int:
        return len(self.healthy.get(name, ())) + len(self.unhealthy.get(name, ()))

    def _is_gone(self, name: str, now: float) -> bool:
        stopped = self.stopped.get(name)
        return name not in self.stopped or (stopped is not None and now - stopped > GRACE_S)


class CoreMachine(RuleBasedStateMachine):
    """One node over several kubelet processes."""

    @initialize(
        seed=st.integers(0, 2**16),
        ready=st.sampled_from([True, True, False]),
        settings=st.builds(TopologySettings, POLICIES, SCOPES),
        numa=st.sampled_from([(0, 1), (2, 0, 1), (0,)]),
        lists=SEVERAL_LISTS,
        options=OPTIONS,
    )
    def start(
        self,
        seed: int,
        ready: bool,
        settings: TopologySettings,
        numa: Sequence[int],
        lists: Lists,
        options: PluginOptions,
    ) -> None:
        self.order = Shuffled(seed)
        self.bench = Bench(order=self.order, ready=ready, settings=settings, numa=numa)
        self.ready = ready
        self.now = 0.0
        self.plugins = Plugins()
        self.counted = 0
        self.resource_of: dict[ClientID, ResourceName] = {}
        self.registering: list[Steps[ClientID]] = []
        self.streams: list[ClientID] = []
        self.closed: set[ClientID] = set()
        self.pods: dict[str, Pod] = {}
        self.active: set[str] = set()
        self.admission: UnderWay | None = None
        self.preparations: list[Preparation] = []
        self.turn: UnderWay | Preparation | None = None
        self.choice: Choice | None = None
        self.handed_on: dict[str, set[DeviceOf]] = {}
        self.last_allocated: str | None = None
        self.held: dict[HeldKey, frozenset[str]] = {}
        self.leaked: set[DeviceOf] = set()
        self.raced: set[DeviceOf] = set()
        self.on_disk: bytes | None = None
        self.encoder = Encoder()
        self.steps = 0
        self._serve(lists, options)

    # ------------------------------------------------------------------------------------------- registrations

    @rule(request=kst.registrations(RESOURCES, valid_only=True) | kst.registrations(RESOURCES))
    def a_plugin_registers(self, request: Registration) -> None:
        self._register(request)

    def _register(self, request: Registration) -> None:
        before = snapshot(self.bench.state)
        steps = Steps(self.bench.manager.register(request))
        self.counted += 1
        assert self.bench.state.registrations[request.resource] == before["registrations"].get(request.resource, 0) + 1
        if request.version == "v1beta1" and request.resource in RESOURCES:
            assert isinstance(steps.effect, Dial)
            assert steps.effect.client not in self.resource_of
            self.resource_of[steps.effect.client] = request.resource
            self.plugins.table[request.resource] = steps.effect.client
            self.registering.append(steps)
        else:
            assert isinstance(steps.failure, RegistrationRefused)
            after = snapshot(self.bench.state)
            assert {**after, "registrations": 0} == {**before, "registrations": 0}

    @rule(resource=st.sampled_from(RESOURCES), problem=st.sampled_from([*[""] * 5, "version", "name"]))
    def a_plugin_is_found(self, resource: ResourceName, problem: str) -> None:
        """By the plugin watcher: as if it had called Register, but for the counter. Rules: DM-149, DM-150"""
        before = snapshot(self.bench.state)
        info = PluginInfo(
            "DevicePlugin",
            f"kubernetes.io/{resource}" if problem == "name" else resource,
            "/serves.sock",
            ("v1",) if problem == "version" else ("v1", "v1beta1"),
        )
        steps = Steps(self.bench.manager.register_watched(info, "/found.sock"))
        if problem:
            assert isinstance(steps.failure, PluginNotValid)
            assert snapshot(self.bench.state) == before
            return
        assert steps.effect == Dial(steps.effect.client, resource, SocketPath("/serves.sock"))
        assert steps.effect.client not in self.resource_of
        assert snapshot(self.bench.state)["registrations"] == before["registrations"]
        self.resource_of[steps.effect.client] = resource
        self.plugins.table[resource] = steps.effect.client
        self.registering.append(steps)

    @precondition(lambda self: self.plugins.table)
    @rule(resource=st.sampled_from(RESOURCES))
    def a_registration_socket_goes(self, resource: ResourceName) -> None:
        """Whoever has the name is disconnected, also one that called Register itself. Rules: DM-152"""
        before = snapshot(self.bench.state)
        disconnected = self.plugins.ended(resource, self.now)

        applied = self.bench.manager.apply(WatchedPluginGone(resource, SocketPath("/serves.sock"), self.now))

        if disconnected is None:
            assert applied.effects == ()
            assert snapshot(self.bench.state) == before
        else:
            assert applied.effects == (CloseConnection(disconnected),)
            self.closed.add(disconnected)

    @rule(resource=st.sampled_from(RESOURCES), devices=LISTS, options=OPTIONS)
    def a_plugin_serves(self, resource: ResourceName, devices: tuple[Device, ...], options: PluginOptions) -> None:
        self._serve({resource: devices}, options)

    def _serve(self, lists: Lists, options: PluginOptions) -> None:
        """Registrations and first lists in one go: what most states need to become interesting."""
        for resource, devices in lists.items():
            self._register(Registration("v1beta1", "p.sock", resource))
            for _ in range(3):
                self._go_on(self.registering[-1], options)
            self._list(self.streams[-1], devices, written=True)

    @precondition(lambda self: self.registering)
    @rule(which=st.integers(0, 9), options=OPTIONS, fails=st.sampled_from([False, False, False, True]))
    def go_on_registering(self, which: int, options: PluginOptions, fails: bool) -> None:
        self._go_on(self.registering[which % len(self.registering)], options, fails=fails)

    def _go_on(self, steps: Steps[ClientID], options: PluginOptions, *, fails: bool = False) -> None:
        match steps.effect:
            case Dial(client, resource):
                steps.answer(DialFailed() if fails else None)
            case CallGetDevicePluginOptions(client):
                resource = self.resource_of[client]
                steps.answer(FAILURES[0] if fails else options)
                if not fails:
                    self.plugins.caller[resource], self.plugins.stopped[resource] = client, None
                    self.plugins.options[resource] = options
            case OpenListAndWatch(client):
                resource, fails = self.resource_of[client], False
                steps.answer()
                self.streams.append(client)
                assert steps.result == client
            case other:
                pytest.fail(f"a registration asks for {other}")
        if fails:
            self.plugins.table.pop(resource, None)
            assert isinstance(steps.failure, RegistrationRefused)
        if steps.is_over:
            self.registering.remove(steps)

    # -------------------------------------------------------------------------------------------------- streams

    @precondition(lambda self: set(self.streams) - self.closed)
    @rule(which=st.integers(0, 9), devices=kst.device_lists(FEW_IDS), written=st.booleans())
    def devices_are_listed(self, which: int, devices: tuple[Device, ...], written: bool) -> None:
        open_ones = [client for client in self.streams if client not in self.closed]
        self._list(open_ones[which % len(open_ones)], devices, written=written)

    def _list(self, client: ClientID, devices: tuple[Device, ...], *, written: bool) -> None:
        resource = self.resource_of[client]
        before = self.plugins.devices.get(resource, {})
        changed = {each.id for each in devices if each.id not in before or before[each.id].health != each.health}
        holders = [
            {pod for (pod, _, _), record in self.bench.state.allocations if name in record.ids} for name in changed
        ]
        self.plugins.devices[resource] = {device.id: device for device in devices}
        self.plugins.healthy[resource] = {device.id for device in devices if device.health == "Healthy"}
        self.plugins.unhealthy[resource] = {device.id for device in devices if device.health != "Healthy"}

        applied = self.bench.manager.apply(DevicesListed(client, devices))

        *notices, write = applied.effects
        assert isinstance(write, WriteCheckpoint)
        told = [pod for notice in notices if isinstance(notice, NotifyPodHealth) for pod in notice.pods]
        assert len(notices) == any(holders)
        assert len(set(told)) == len(told)
        assert set(told) <= set().union(*holders)
        assert all(pods & set(told) for pods in holders if pods)
        self._composed_at_once((write,))
        self._write((write,), written=written)

    @precondition(lambda self: self.streams and self.steps % 3 == 0)
    @rule(which=st.integers(0, 9), error=st.none() | st.sampled_from(FAILURES))
    def a_stream_ends(self, which: int, error: RpcFailed | None) -> None:
        self._end(which, error)

    def _end(self, which: int, error: RpcFailed | None) -> None:
        client = self.streams.pop(which % len(self.streams))
        before = snapshot(self.bench.state)
        disconnected = self.plugins.ended(self.resource_of[client], self.now)

        applied = self.bench.manager.apply(StreamEnded(client, self.now, error))

        if disconnected is None:
            assert applied.effects == ()
            assert snapshot(self.bench.state) == before
        else:
            assert applied.effects == (CloseConnection(disconnected),)
            self.closed.add(disconnected)

    @rule(fact=st.sampled_from([DevicesListed(ClientID(10**6), ()), StreamEnded(ClientID(10**6), 0.0)]))
    def an_unknown_client_speaks(self, fact: Fact[None]) -> None:
        before = snapshot(self.bench.state)
        with pytest.raises(UsageError):
            self.bench.manager.apply(fact)
        assert snapshot(self.bench.state) == before

    # ------------------------------------------------------------------------------------------ time and node status

    @rule(passed_s=st.sampled_from([0.0, 0.5, 10.0, 100.0, GRACE_S, GRACE_S + 0.5]))
    def time_passes(self, passed_s: float) -> None:
        self.now += passed_s

    @rule(written=st.booleans())
    def the_node_status_is_computed(self, written: bool) -> None:
        deleted = self.plugins.round(self.now)

        applied = self.bench.manager.apply(StatusRoundDue(self.now))

        told: NodeStatusRound = applied.answer
        assert told.answer.deleted == deleted
        assert told.answer.capacity == self.plugins.capacity()
        assert told.answer.allocatable == {name: len(ids) for name, ids in self.plugins.healthy.items()}
        assert {name: self.bench.shown(name) for name in RESOURCES if name in told.node.capacity} == self.plugins.shown
        assert [type(effect) for effect in applied.effects] == ([WriteCheckpoint] if deleted else [])
        self._composed_at_once(applied.effects)
        self._write(applied.effects, written=written)

    # ----------------------------------------------------------------------------------------------------- pods

    @precondition(lambda self: self.turn is None)
    @rule(data=st.data(), again=st.sampled_from([False, False, True]), reply=REPLIES, waits=st.booleans())
    def a_pod_is_admitted(self, data: st.DataObject, again: bool, reply: Reply, waits: bool) -> None:
        """A pod of any shape, with one resource or several; its admission may be left in the middle."""
        if again and self.pods:
            pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        else:
            known = [name for name in RESOURCES if self.plugins.healthy.get(name)] or RESOURCES
            resources = data.draw(st.sampled_from([RESOURCES, known, known[:1]]))
            pod = data.draw(kst.pods(f"pod-{len(self.pods)}", resources, max_count=2))
        self._admit(pod)
        while self.admission is not None and not waits:
            self._answer_allocation(self.admission, evolve(reply, fails=False))

    @precondition(lambda self: self.turn is None)
    @rule(wanted=st.lists(SMALL_PODS, min_size=1, max_size=3), reply=REPLIES, waits=st.booleans())
    def small_pods_are_admitted(
        self, wanted: list[tuple[ResourceName, int, ContainerKind]], reply: Reply, waits: bool
    ) -> None:
        """Pods of one container, from their admission to the verdict; the last one's may be left in the middle."""
        for left, (resource, count, kind) in zip(reversed(range(len(wanted))), wanted, strict=True):
            container = Container(ContainerName("main"), kind, {resource: Quantity.of(count)})
            uid = f"pod-{len(self.pods)}"
            is_app = kind is ContainerKind.APP
            self._admit(Pod(uid, "default", PodUID(uid), () if is_app else (container,), (container,) * is_app))
            while self.admission is not None and (left or not waits):
                self._answer_allocation(self.admission, evolve(reply, fails=False))
            if self.turn is not None:
                break  # A preparation that waited has it now.

    @precondition(lambda self: self.turn is None)
    @rule(
        resource=st.sampled_from(RESOURCES),
        count=st.integers(1, 2),
        devices=LISTS,
        options=OPTIONS,
        is_other_admitted=st.booleans(),
        reply=REPLIES,
    )
    def a_pod_comes_before_its_plugin(
        self,
        resource: ResourceName,
        count: int,
        devices: tuple[Device, ...],
        options: PluginOptions,
        is_other_admitted: bool,
        reply: Reply,
    ) -> None:
        """What is not known when the pod is admitted is allocated late, perhaps while another pod is admitted. Rules: DM-106"""
        if self.bench.state.is_device_plugin_resource(resource):
            resource = next((r for r in RESOURCES if not self.bench.state.is_device_plugin_resource(r)), resource)
        limits: dict[str, Quantity] = {resource: Quantity.of(count)}
        apps = tuple(Container(ContainerName(name), ContainerKind.APP, limits) for name in ("one", "two"))
        pod = Pod(f"pod-{len(self.pods)}", "default", PodUID(f"pod-{len(self.pods)}"), (), apps)
        self._admit(pod)
        while self.admission is not None:
            self._answer_allocation(self.admission, evolve(reply, fails=False))
        self._serve({resource: devices}, evolve(options, pre_start_required=False))
        if is_other_admitted and self.turn is None:
            other = Container(ContainerName("main"), ContainerKind.APP, {resource: Quantity.of(1)})
            uid = f"pod-{len(self.pods)}"
            self._admit(Pod(uid, "default", PodUID(uid), (), (other,)))
        for name in ("one", "two"):
            self._prepare(pod, name)

    def _admit(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        self.active.add(pod.uid)
        has_records = any(key[0] == pod.uid for key in self.held)
        is_plain = not has_records and self.last_allocated != pod.uid
        self._hand_on_what_is_held(pod)
        self.admission = self.turn = UnderWay(pod, self.bench.admitting(pod), is_plain)
        self._look_at_admission()

    @precondition(lambda self: self.admission is not None)
    @rule(reply=REPLIES)
    def the_admission_goes_on(self, reply: Reply) -> None:
        assert self.admission is not None
        self._answer_allocation(self.admission, reply)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), is_reclaimed=st.booleans())
    def a_pod_ends(self, data: st.DataObject, is_reclaimed: bool) -> None:
        with_devices = sorted({key[0] for key in self.held if key[0] in self.pods})
        uid = data.draw(st.sampled_from(with_devices or sorted(self.pods)))
        self._end_pod(uid)
        if is_reclaimed:
            self._reclaim()

    def _end_pod(self, uid: str) -> None:
        self.active.discard(uid)
        self.bench.remove(uid)
        if self.admission is not None and self.admission.pod.uid == uid:
            self.admission.is_plain = False

    @rule()
    def devices_are_reclaimed(self) -> None:
        self._reclaim()

    def _reclaim(self) -> None:
        self.bench.reclaim()
        if self.ready:
            gone = {key for key in self.held if key[0] not in self.active}
            self._released(gone)
            assert not {uid for uid in self.bench.state.allocations.pods() if uid not in self.active}
        else:
            assert {key[0] for key in self.held} == self.bench.state.allocations.pods()

    @rule(ready=st.sampled_from([True, True, False]))
    def sources_change(self, ready: bool) -> None:
        self.ready = ready
        self.bench.sources_ready(ready=ready)

    # -------------------------------------------------------------------------------- containers about to be created

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def a_container_is_prepared(self, data: st.DataObject) -> None:
        """Any container of any pod, known or gone, at any time: preparations overlap everything."""
        with_devices = sorted({key[:2] for key in self.held if key[0] in self.pods})
        if with_devices and data.draw(st.sampled_from([True, True, False])):
            uid, name = data.draw(st.sampled_from(with_devices))
        else:
            uid = data.draw(st.sampled_from(sorted(self.pods)))
            name = data.draw(st.sampled_from([each.name for each in self.pods[uid].all_containers()]))
        self._prepare(self.pods[uid], name)

    def _prepare(self, pod: Pod, name: str) -> None:
        container = pod.container(name)
        assert container is not None
        before = snapshot(self.bench.state)
        one = Preparation(pod, container, self.bench.preparing(pod, name))
        assert snapshot(self.bench.state) == before
        self.preparations.append(one)
        self._look_at_preparation(one)

    @precondition(lambda self: any(not each.waits_since_others for each in self.preparations))
    @rule(which=st.integers(0, 9), reply=REPLIES)
    def a_preparation_goes_on(self, which: int, reply: Reply) -> None:
        ready = [each for each in self.preparations if not each.waits_since_others]
        one = ready[which % len(ready)]
        if not isinstance(one.steps.effect, CallPreStartContainer):
            self._answer_allocation(one, reply)
            return
        before = snapshot(self.bench.state)
        one.has_failed_call = reply.fails
        one.steps.answer(FAILURES[0] if reply.fails else None)
        assert snapshot(self.bench.state) == before
        self._look_at_preparation(one)

    def _look_at_preparation(self, one: Preparation) -> None:
        """What a preparation waits for, or what it came to."""
        uid, name, effect = one.pod.uid, one.container.name, one.steps.effect
        match effect:
            case CallPreStartContainer(client, ids):
                resource = self._called(client)
                options = self.plugins.options[resource]
                assert options is not None
                assert options.pre_start_required
                assert one.container.limits[ResourceName(resource)].value
                assert set(ids) == self.held[uid, name, resource]
            case TakeAdmissionTurn():
                assert uid in self.active
                if self.turn is None:
                    self._grant_turn(one, has_waited=False)
                else:
                    one.waits_since_others = True
            case CallGetPreferredAllocation() | CallAllocate() | WriteCheckpoint():
                assert one.has_turn
                self._look_at_allocation(one)
            case None:
                self._look_at_end(one)
            case other:
                pytest.fail(f"a preparation asks for {other}")

    def _look_at_end(self, one: Preparation) -> None:
        if one.has_turn:
            self._look_at_allocation(one)
        self.preparations.remove(one)
        if one.steps.failure is not None:
            assert isinstance(one.steps.failure, PreparationFailed)
            assert one.has_turn or self._may_fail(one, one.steps.failure.text)
        else:
            known = [
                name for name, limit in one.container.limits.items() if limit.value and name in self.plugins.healthy
            ]
            assert set(known) <= {*self.plugins.stopped}
            has_records = any(key[:2] == (one.pod.uid, one.container.name) for key in self.held)
            assert (one.steps.result is not None) == has_records
        self._give_turn_back(one)

    def _may_fail(self, one: Preparation, text: str) -> bool:
        """Before anything is allocated late, three things can be wrong, each with a resource of the container."""
        asked = [name for name, limit in one.container.limits.items() if limit.value]
        if text.startswith("device plugin PreStartContainer rpc failed with err: rpc error"):
            return one.has_failed_call
        for name in asked:
            is_wanted = (options := self.plugins.options.get(name)) is not None and options.pre_start_required
            if text == f"endpoint not found in cache for a registered resource: {name}":
                return name not in self.plugins.stopped
            where = f"pod {one.pod.uid}, container {one.container.name}, resource {name}"
            if text == f"no devices found allocated in local cache for {where}":
                return is_wanted and (one.pod.uid, one.container.name, name) not in self.held
            if text.startswith(
                f"device plugin PreStartContainer rpc failed with err: endpoint &{{{{{{}} {{0 0}}}} {name} "
            ):
                return is_wanted and self.plugins.stopped[name] is not None
        return False

    def _grant_turn(self, one: Preparation, *, has_waited: bool) -> None:
        self.turn = one
        one.has_turn, one.waits_since_others = True, False
        self._hand_on_what_is_held(one.pod)
        one.steps.answer(has_waited)
        self._look_at_preparation(one)

    def _give_turn_back(self, holder: UnderWay | Preparation) -> None:
        """Who has waited longest has it next."""
        if self.turn is not holder:
            return
        self.turn = None
        waiting = [each for each in self.preparations if each.waits_since_others]
        if waiting:
            self._grant_turn(waiting[0], has_waited=True)

    # ------------------------------------------------------------------------------------------------- a restart

    @precondition(lambda self: self.steps % 5 == 0)
    @rule(data=st.data(), lost=st.sampled_from([False, False, True]), lists=SEVERAL_LISTS, options=OPTIONS)
    def the_kubelet_restarts(self, data: st.DataObject, lost: bool, lists: Lists, options: PluginOptions) -> None:
        for walk in self.registering:
            walk.close()
        for one in self.preparations:
            one.steps.close()
        if self.admission:
            self.admission.steps.close()
            # The sources deliver the pod again; until then it is not known.
            self._end_pod(self.admission.pod.uid)
        containers = [(uid, c.name) for uid in sorted(self.active) for c in self.pods[uid].all_containers()]
        running = data.draw(st.sets(st.sampled_from(containers))) if containers else set()
        document = None if lost or self.on_disk is None else decode(self.on_disk)

        self.bench = self.bench.restarted(document, at_s=self.now, running=running, order=self.order)

        shown = self.plugins.shown
        self.plugins = Plugins(shown=shown)
        for name in (document.registered if document else None) or ():
            self.plugins.healthy[name], self.plugins.unhealthy[name] = set(), set()
            self.plugins.caller[name], self.plugins.stopped[name] = None, self.now
            self.plugins.options[name] = None
        self.held = {}
        for entry in (document.entries if document else None) or ():
            ids = frozenset(device for devices in (entry.devices or {}).values() for device in devices or ())
            self.held[entry.pod_uid, entry.container, entry.resource] = ids
        self.ready, self.counted, self.resource_of = False, 0, {}
        self.registering, self.streams, self.closed = [], [], set()
        self.admission = self.turn = self.choice = self.last_allocated = None
        self.preparations, self.handed_on, self.leaked = [], {}, set()
        self._serve(lists, options)

    # ------------------------------------------------------------------------------------------- after every step

    @invariant()
    def what_must_hold(self) -> None:
        if not hasattr(self, "bench"):
            return
        self.steps += 1
        state = self.bench.state
        invariants.check(state)
        assert state.clients == self.plugins.table
        assert {name: e.client for name, e in state.endpoints.items()} == self.plugins.caller
        assert {name: e.options for name, e in state.endpoints.items()} == self.plugins.options
        assert state.devices == self.plugins.devices
        assert {name: e.stopped_at_s for name, e in state.endpoints.items()} == self.plugins.stopped
        assert state.healthy == self.plugins.healthy
        assert state.unhealthy == self.plugins.unhealthy
        assert sum(state.registrations.values()) == self.counted
        assert set(state.active_pods) == self.active
        assert state.sources_ready == self.ready
        assert {key: record.ids for key, record in state.allocations} == self.held
        self._books_agree()
        self._nobody_shares()

    def _books_agree(self) -> None:
        """Ids in use are those recorded, those being chosen, and those that a rule says are lost. Rules: DM-97, DM-102"""
        recorded, taken = self._recorded(), self._taken()
        chosen = {(self.choice.resource, device) for device in self.choice.taken} if self.choice else set()
        assert taken - recorded <= chosen | self.leaked
        assert self.leaked <= taken - recorded
        assert recorded - taken <= self.raced

    def _recorded(self) -> set[DeviceOf]:
        return {(resource, device) for (_, _, resource), ids in self.held.items() for device in ids}

    def _taken(self) -> set[DeviceOf]:
        return {(resource, device) for resource, ids in self.bench.state.allocations.in_use.items() for device in ids}

    def _nobody_shares(self) -> None:
        holders: dict[tuple[str, str], set[str]] = {}
        for (uid, _, resource), ids in self.held.items():
            for device in ids:
                holders.setdefault((resource, device), set()).add(uid)
        twice = {device for device, uids in holders.items() if len(uids) > 1}
        assert twice <= self.bench.state.allocations.shared
        assert twice <= self.raced

    # ------------------------------------------------------------------------------------------------ the model's hands

    def _write(self, effects: Iterable[Effect[None]], *, written: bool) -> None:
        for effect in effects:
            if isinstance(effect, WriteCheckpoint):
                whole = encode(effect.document)
                assert self.encoder.encode(effect.document) == whole, "parts that were kept make another file"
                self.on_disk = whole if written else self.on_disk

    def _composed_at_once(self, effects: Iterable[Effect[None]]) -> None:
        """Entries and lists that were kept since earlier documents are what the tables say now. Rules: CP-6"""
        allocations, healthy = self.bench.state.allocations, self.bench.state.healthy
        for effect in effects:
            if isinstance(effect, WriteCheckpoint):
                entries, registered = effect.document.entries or (), effect.document.registered or {}
                assert sorted((e.pod_uid, e.container, e.resource) for e in entries) == sorted(
                    key for key, _ in allocations
                )
                for entry in entries:
                    record = dict(allocations)[
                        PodUID(entry.pod_uid), ContainerName(entry.container), ResourceName(entry.resource)
                    ]
                    assert entry.allocate_response == record.response.raw
                    assert _sorted(entry.devices) == _sorted(record.devices)
                assert _sorted(registered) == _sorted({name: tuple(ids) for name, ids in healthy.items()})

    def _counted_anew(self) -> None:
        self.leaked = set()

    def _released(self, gone: set[HeldKey]) -> None:
        """Records of inactive pods went, and the ids were counted anew; a choice under way is forgotten by that."""
        if not gone:
            return
        assert self.ready
        assert not {key for key in gone if key[0] in self.active}
        for key in gone:
            del self.held[key]
        self._counted_anew()
        if self.choice:
            lost = {device for device in self.choice.taken if (self.choice.resource, device) not in self._recorded()}
            self.choice.lost |= lost
            self.raced |= {(self.choice.resource, device) for device in lost}

    def _hand_on_what_is_held(self, pod: Pod) -> None:
        """Init containers of the pod that were allocated before hand on once more. Rules: DM-86"""
        handed = self.handed_on.setdefault(pod.uid, set())
        for container in pod.init_containers:
            if container.kind is ContainerKind.INIT:
                for resource in RESOURCES:
                    handed |= {(resource, id_) for id_ in self.held.get((pod.uid, container.name, resource), ())}

    def _called(self, client: ClientID) -> ResourceName:
        """The resource whose plugin is called: it has to be the current one, and to be there."""
        resource = self.resource_of[client]
        assert self.plugins.caller[resource] == client
        assert self.plugins.stopped[resource] is None
        return resource

    # ---------------------------------------------------------------------- allocations, at admission or late, in turn

    def _answer_allocation(self, walk: UnderWay | Preparation, reply: Reply) -> None:
        """The plugin, or the disk, answers whoever has the turn."""
        assert self.turn is walk
        steps, effect = walk.steps, walk.steps.effect
        match effect:
            case CallGetPreferredAllocation():
                assert self.choice is not None
                ids = reply.preference.ids(effect)
                self.choice.preference = effect, frozenset(ids)
                if reply.fails:
                    self._leak(self.choice)
                    self.choice = None
                steps.answer(FAILURES[0] if reply.fails else ids)
            case CallAllocate():
                self._answer_allocate(walk, reply)
            case WriteCheckpoint():
                self._write([effect], written=not reply.fails)
                steps.answer(CheckpointNotWritten("no space left on device") if reply.fails else None)
            case other:
                pytest.fail(f"an allocation asks for {other}")
        if isinstance(walk, Preparation):
            self._look_at_preparation(walk)
        else:
            self._look_at_admission()

    def _answer_allocate(self, walk: UnderWay | Preparation, reply: Reply) -> None:
        choice, self.choice = self.choice, None
        assert choice is not None
        before = dict(self.bench.state.allocations)
        if reply.fails:
            walk.steps.answer(FAILURES[1])
            self._counted_anew()
        elif not reply.answer.responses:
            self._leak(choice)
            walk.steps.answer(reply.answer)
        else:
            walk.steps.answer(reply.answer)
            self._note_record(walk.pod, choice, reply.answer, before)

    def _leak(self, choice: Choice) -> None:
        """What was chosen stays in use, but for what a reclaim has forgotten and what an init container has. Rules: DM-102"""
        chosen = {(choice.resource, device) for device in choice.taken - choice.lost}
        self.leaked |= chosen - self._recorded()

    def _note_record(self, pod: Pod, choice: Choice, answer: AllocateAnswer, before: dict[Any, Any]) -> None:
        """Exactly one record is new: for a container of the pod that asks for so many."""
        new = {key: record for key, record in self.bench.state.allocations if before.get(key) is not record}
        if not new:
            # The pod is over, and the next of its containers has reclaimed what this one got.
            assert pod.uid not in self.active
            assert self.ready
            self._counted_anew()
            return
        (((uid, name, of), record),) = new.items()
        container = pod.container(name)
        assert (uid, of) == (pod.uid, choice.resource)
        assert container is not None
        assert container.limits[of].value == len(choice.taken)
        assert record.ids == choice.taken
        assert record.response == answer.responses[0]
        self.held[uid, name, of] = choice.taken
        if container.kind is ContainerKind.INIT:
            self.handed_on[uid] |= {(of, device) for device in choice.taken}

    def _look_at_admission(self) -> None:
        assert self.admission is not None
        one = self.admission
        pod, steps = one.pod, one.steps
        self._look_at_allocation(one)
        if not steps.is_over:
            return
        self.admission = None
        if isinstance(steps.result, Rejected):
            self.active.discard(pod.uid)
            policy = self.bench.settings.policy if self.bench.settings else "none"
            may_refuse = policy in ("restricted", "single-numa-node")
            assert steps.result.reason != "TopologyAffinityError" or may_refuse
        else:
            assert steps.result == Admitted()
            for (uid, name, of), held_ids in self.held.items():
                if uid == pod.uid and (container := pod.container(name)) is not None:
                    assert len(held_ids) == container.limits[of].value
            if one.is_plain:
                self._reuse_is_right(pod)
        self._give_turn_back(one)

    def _look_at_allocation(self, one: UnderWay | Preparation) -> None:
        """A reclaim may have come before a choice; then the choice has to be of free and healthy devices."""
        self._released(self.held.keys() - {key for key, _ in self.bench.state.allocations})
        match one.steps.effect:
            case CallGetPreferredAllocation():
                self._look_at_question(one.pod, one.steps.effect)
            case CallAllocate():
                self._look_at_choice(one.pod, one.steps.effect)
        if not one.steps.is_over:
            self.last_allocated = one.pod.uid
            return
        text = _told(one.steps)
        if "unknown Device Plugin" in text or ("has been stopped" in text and "GetPreferred" not in text):
            self.choice = None
            self._counted_anew()
        if text:
            self._leaked_unasked(one.pod, text)
        if "TopologyAffinityError" not in text and any(True for _ in one.pod.all_containers()):
            self.last_allocated = one.pod.uid

    def _leaked_unasked(self, pod: Pod, text: str) -> None:
        """Aligned ids were taken, and then there was nobody to ask for the rest. Rules: DM-92, DM-96, DM-102"""
        news = self._taken() - self._recorded() - self.leaked
        if not news:
            return
        ((resource,),) = [{of for of, _ in news}]
        nobody = f"endpoint not found in cache for a registered resource: {resource}"
        assert nobody in text or "GetPreferredAllocation rpc failed with err: endpoint" in text
        assert all(self.plugins.devices[resource][device].numa_nodes for _, device in news)
        assert len(news) < max(c.limits[resource].value for c in pod.all_containers() if resource in c.limits)
        self.leaked |= news

    def _look_at_question(self, pod: Pod, call: CallGetPreferredAllocation) -> None:
        """Only a plugin that wants to be asked is, of what is free or taken already. Rules: DM-93, DM-94"""
        resource = self._called(call.client)
        options = self.plugins.options[resource]
        assert options is not None
        assert options.get_preferred_allocation_available
        offered, taken = frozenset(call.available), frozenset(call.must_include)
        assert len(offered) == len(call.available) >= call.size > len(taken) == len(call.must_include)
        assert taken <= offered
        assert any(c.limits[resource].value == call.size for c in pod.all_containers() if resource in c.limits)
        free = self.plugins.healthy[resource] - {device for of, device in self._taken() if of == resource}
        assert offered - taken <= free
        if self.bench.settings is None or self.bench.settings.policy == "none":
            assert offered - taken == free
        self._look_at_taken(pod, resource, taken)
        self.choice = Choice(resource, taken)

    def _look_at_choice(self, pod: Pod, call: CallAllocate) -> None:
        """Free and healthy devices, or such as the pod's init containers had; of those offered, if the plugin was asked."""
        resource, ids = self._called(call.client), frozenset(call.device_ids)
        assert len(call.device_ids) == len(ids) > 0
        before = self.choice
        if before is None or before.preference is None:
            self._look_at_taken(pod, resource, ids)
            self.choice = Choice(resource, ids)
            return
        question, answer = before.preference
        assert resource == before.resource
        assert before.taken <= ids <= set(question.available)
        assert len(ids) == question.size
        preferred = answer & (set(question.available) - before.taken)
        assert len(preferred & ids) == min(len(preferred), question.size - len(before.taken))
        before.taken, before.preference = ids, None

    def _look_at_taken(self, pod: Pod, resource: str, ids: frozenset[str]) -> None:
        own = {device for of, device in self.handed_on[pod.uid] if of == resource}
        others = {
            d
            for (uid, _, of), held in self.held.items()
            if (uid, of) != (pod.uid, resource)
            for d in held
            if of == resource
        }
        raced = {device for of, device in self.raced if of == resource}
        leaked = {device for of, device in self.leaked if of == resource}
        assert not ids & (others - raced)
        assert not ids & leaked
        assert ids - own <= self.plugins.healthy[resource]
        kept = {
            device
            for (uid, name, of), held in self.held.items()
            if (uid, of) == (pod.uid, resource) and pod.container(name) in pod.containers
            for device in held
        }
        assert not ids & (kept - raced)

    def _reuse_is_right(self, pod: Pod) -> None:
        """Each container took what it could of what was handed on, and handed on or kept it. Rules: DM-86, DM-87"""
        for resource in RESOURCES:
            handed: frozenset[str] = frozenset()
            for container in pod.all_containers():
                ids = self.held.get((pod.uid, container.name, resource), frozenset())
                assert len(ids & handed) == min(len(ids), len(handed))
                handed = handed | ids if container.kind is ContainerKind.INIT else handed - ids
            assert self.bench.reusable(pod.uid, resource) == handed


def _told(steps: Steps[Any]) -> str:
    """What went wrong with a walk that is over; empty if nothing did."""
    if steps.failure is not None:
        return str(steps.failure)
    return f"{steps.result.reason}: {steps.result.message}" if isinstance(steps.result, Rejected) else ""


# Some thousand steps pass in some seconds; a failure takes its time to become small.
pytestmark = pytest.mark.timeout(600)
CoreMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=50, deadline=None, derandomize=DERANDOMIZE
)
TestCore = CoreMachine.TestCase


# ------------------------------------------------------------------------------------------------- values in, values out


@settings(derandomize=DERANDOMIZE)
@given(kst.device_lists())
def test_a_list_decides_what_is_shown(devices: tuple[Device, ...]) -> None:
    """Capacity and allocatable are those of the last list, whatever it holds. Rules: DM-51, DM-53, DM-55, DM-62"""
    bench = Bench()
    bench.serve("before", "it")
    healthy = {device.id for device in devices if device.health == "Healthy"}
    others = {device.id for device in devices if device.health != "Healthy"}
    bench.list(bench.state.clients[RESOURCES[0]], *devices)

    assert bench.round().answer.capacity == {RESOURCES[0]: len(healthy) + len(others)}
    assert bench.round().answer.allocatable == {RESOURCES[0]: len(healthy)}
    invariants.check(bench.state)


@settings(derandomize=DERANDOMIZE)
@given(st.lists(kst.container_responses(), max_size=2), st.integers(0, 99))
def test_a_merge_keeps_one_of_each(responses: list[ContainerResponse], seed: int) -> None:
    """Each key of each part is there once, with a value that somebody sent. Rules: DM-123, DM-124"""
    bench = Bench(order=Shuffled(seed))
    spec = merged(bench.manager.context, "p", dict(zip(RESOURCES, responses, strict=False)))

    sent = [pair for response in responses for pair in response.envs.items()]
    assert sorted(key for key, _ in spec.envs) == sorted({key for key, _ in sent})
    assert set(spec.envs) <= set(sent)
    for part in ("mounts", "devices"):
        entries = [entry for response in responses for entry in getattr(response, part)]
        kept = getattr(spec, part)
        assert sorted(e.container_path for e in kept) == sorted({e.container_path for e in entries})
        assert set(kept) <= set(entries)
    names = [name for response in responses for name in response.cdi_devices]
    assert sorted(spec.cdi_devices) == sorted(set(names))


@settings(derandomize=DERANDOMIZE)
@given(kst.pods("p", max_containers=4))
def test_a_pod_needs_the_most_of_any_moment(pod: Pod) -> None:
    """Moment by moment: each init container beside the sidecars before it, then sidecars and apps; rounded once. Rules: DM-80"""
    moments = []
    sidecars: list[Any] = []
    for container in pod.init_containers:
        moments.append([*sidecars, container])
        if container.kind is ContainerKind.SIDECAR:
            sidecars.append(container)
    moments.append([*sidecars, *pod.containers])

    for resource in RESOURCES:
        needed = max(
            sum((c.requests[resource].amount for c in moment if resource in c.requests), Fraction(0))
            for moment in moments
        )
        assert requested(pod).get(resource, 0) == math.ceil(needed)


@settings(derandomize=DERANDOMIZE)
@given(kst.device_lists(), kst.pods("p"), st.integers(0, 99))
def test_what_is_admitted_survives_a_restart(devices: tuple[Device, ...], pod: Pod, seed: int) -> None:
    """A pod that got its devices passes again after a restart, without a call, once its plugin is back. Rules: DM-111, DM-145"""
    bench = Bench(order=Shuffled(seed))
    for resource in RESOURCES:
        bench.list(bench.register(resource), *devices)
    bench.round()
    steps = bench.admitting(pod)
    assume(steps.finish() == Admitted())
    documents = [effect.document for effect in steps.seen if isinstance(effect, WriteCheckpoint)]
    document: CheckpointDocument = documents[-1] if documents else CheckpointDocument(None, {})

    after = Bench(order=Shuffled(seed), node=bench.state.node)
    after.manager.apply(restored(decode(encode(document))))
    after.manager.apply(PodActivated(pod))
    for resource in RESOURCES:
        after.list(after.register(resource), *devices)

    again = after.admitting(pod)
    assert (again.result, again.seen) == (Admitted(), [])
    assert {key: record.ids for key, record in after.state.allocations} == {
        key: record.ids for key, record in bench.state.allocations if key[0] == PodUID("p")
    }
