"""Any sequence of facts and walks, in any state, against the invariants and a model that knows the specification only.

The model follows what is seen from outside: requests, answers, effects. It reads the manager's state to compare, never to
decide, except for when a reclaim came: then it asks whether the records that went were allowed to go.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
from attrs import define, field
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubelet_sim.core import invariants
from kubelet_sim.core.checkpoint_reading import decode
from kubelet_sim.core.checkpoint_text import encode
from kubelet_sim.core.effects import (
    CallAllocate,
    CallGetDevicePluginOptions,
    CloseConnection,
    Dial,
    Effect,
    OpenListAndWatch,
    WriteCheckpoint,
)
from kubelet_sim.core.facts import DevicesListed, Fact, PodActivated, StatusRoundDue, StreamEnded
from kubelet_sim.core.merge import merged
from kubelet_sim.core.predicate import requested
from kubelet_sim.errors import (
    CheckpointNotWritten,
    DialFailed,
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
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.testing import strategies as kst
from tests.unit.core.bench import Bench, Shuffled, Steps, restored, snapshot

GRACE_S = 300.0
DERANDOMIZE = settings().derandomize or "CI" in os.environ
FAILURES = [RpcFailed("Unavailable", "gone"), RpcFailed("InvalidArgument", "no\nsuch device")]
FEW_IDS = st.sampled_from([DeviceID(text) for text in ("a", "b", "c", "d", "", "e\u2028")])
RESOURCES = kst.RESOURCES
LISTS = kst.device_lists(FEW_IDS, min_size=2)
SEVERAL_LISTS = st.dictionaries(st.sampled_from(RESOURCES), LISTS)
Lists = dict[ResourceName, tuple[Device, ...]]
SMALL_PODS = st.tuples(st.sampled_from(RESOURCES), st.integers(1, 2), st.sampled_from(list(ContainerKind)))
HeldKey = tuple[str, str, str]


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

    @initialize(seed=st.integers(0, 2**16), ready=st.sampled_from([True, True, False]), lists=SEVERAL_LISTS)
    def start(self, seed: int, ready: bool, lists: Lists) -> None:
        self.order = Shuffled(seed)
        self.bench = Bench(order=self.order, ready=ready)
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
        self.admission: tuple[Pod, Steps[Admission]] | None = None
        self.in_flight: tuple[str, tuple[str, ...]] | None = None
        self.is_forgotten = False
        self.held: dict[HeldKey, frozenset[str]] = {}
        self.leaked: set[tuple[str, str]] = set()
        self.raced: set[tuple[str, str]] = set()
        self.on_disk: bytes | None = None
        self.steps = 0
        self._serve(lists)

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

    @rule(resource=st.sampled_from(RESOURCES), devices=LISTS)
    def a_plugin_serves(self, resource: ResourceName, devices: tuple[Device, ...]) -> None:
        self._serve({resource: devices})

    def _serve(self, lists: dict[ResourceName, tuple[Device, ...]]) -> None:
        """Registrations and first lists in one go: what most states need to become interesting."""
        for resource, devices in lists.items():
            self._register(Registration("v1beta1", "p.sock", resource))
            for _ in range(3):
                self._go_on(self.registering[-1], PluginOptions())
            self._list(self.streams[-1], devices, written=True)

    @precondition(lambda self: self.registering)
    @rule(which=st.integers(0, 9), options=kst.plugin_options(), fails=st.sampled_from([False, False, False, True]))
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
        self.plugins.devices[resource] = {device.id: device for device in devices}
        self.plugins.healthy[resource] = {device.id for device in devices if device.health == "Healthy"}
        self.plugins.unhealthy[resource] = {device.id for device in devices if device.health != "Healthy"}

        applied = self.bench.manager.apply(DevicesListed(client, devices))

        assert [type(effect) for effect in applied.effects] == [WriteCheckpoint]
        self._write(applied.effects, written=written)

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
        self._write(applied.effects, written=written)

    # ----------------------------------------------------------------------------------------------------- pods

    @precondition(lambda self: self.admission is None)
    @rule(data=st.data(), again=st.sampled_from([False, False, True]))
    def a_pod_is_admitted(self, data: st.DataObject, again: bool) -> None:
        if again and self.pods:
            pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        else:
            pod = data.draw(kst.pods(f"pod-{len(self.pods)}", RESOURCES, max_count=2))
        self._admit(pod)

    @precondition(lambda self: self.admission is None)
    @rule(wanted=st.lists(SMALL_PODS, min_size=1, max_size=3), answer=kst.allocate_answers(), waits=st.booleans())
    def small_pods_are_admitted(
        self, wanted: list[tuple[ResourceName, int, ContainerKind]], answer: AllocateAnswer, waits: bool
    ) -> None:
        """Pods of one container, from their admission to the verdict; the last one's may be left in the middle."""
        for left, (resource, count, kind) in zip(reversed(range(len(wanted))), wanted, strict=True):
            container = Container(ContainerName("main"), kind, {resource: Quantity.of(count)})
            uid = f"pod-{len(self.pods)}"
            is_app = kind is ContainerKind.APP
            self._admit(Pod(uid, "default", PodUID(uid), () if is_app else (container,), (container,) * is_app))
            while self.admission is not None and (left or not waits):
                self._answer_admission(answer, fails=False)

    def _admit(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        self.active.add(pod.uid)
        self.admission = pod, self.bench.admitting(pod)
        self._look_at_admission()

    @precondition(lambda self: self.admission is not None)
    @rule(answer=kst.allocate_answers(), fails=st.sampled_from([False, False, False, True]))
    def the_admission_goes_on(self, answer: AllocateAnswer, fails: bool) -> None:
        self._answer_admission(answer, fails=fails)

    def _answer_admission(self, answer: AllocateAnswer, *, fails: bool) -> None:
        assert self.admission is not None
        pod, steps = self.admission
        match steps.effect:
            case CallAllocate(_, ids):
                assert self.in_flight is not None
                resource, _ = self.in_flight
                before = dict(self.bench.state.books)
                steps.answer(FAILURES[1] if fails else answer)
                if fails:
                    self._counted_anew()
                elif not answer.responses:
                    # What a reclaim during the call has forgotten is free, not lost.
                    self.leaked |= set() if self.is_forgotten else {(resource, device) for device in ids}
                else:
                    self._note_record(pod, resource, ids, answer, before)
                self.in_flight = None
            case WriteCheckpoint():
                self._write([steps.effect], written=not fails)
                steps.answer(CheckpointNotWritten("no space left on device") if fails else None)
            case other:
                pytest.fail(f"an admission asks for {other}")
        self._look_at_admission()

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), is_reclaimed=st.booleans())
    def a_pod_ends(self, data: st.DataObject, is_reclaimed: bool) -> None:
        with_devices = sorted({key[0] for key in self.held if key[0] in self.pods})
        uid = data.draw(st.sampled_from(with_devices or sorted(self.pods)))
        self.active.discard(uid)
        self.bench.remove(uid)
        if is_reclaimed:
            self._reclaim()

    @rule()
    def devices_are_reclaimed(self) -> None:
        self._reclaim()

    def _reclaim(self) -> None:
        self.bench.reclaim()
        if self.ready:
            gone = {key for key in self.held if key[0] not in self.active}
            self._released(gone)
            assert not {uid for uid in self.bench.state.books.pods() if uid not in self.active}
        else:
            assert {key[0] for key in self.held} == self.bench.state.books.pods()

    @rule(ready=st.sampled_from([True, True, False]))
    def sources_change(self, ready: bool) -> None:
        self.ready = ready
        self.bench.sources_ready(ready=ready)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def a_container_is_prepared(self, data: st.DataObject) -> None:
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        container = data.draw(st.sampled_from(list(pod.all_containers())))
        before = snapshot(self.bench.state)
        steps = Steps(self.bench.manager.prepare(pod, container))

        assert steps.is_over
        assert snapshot(self.bench.state) == before
        missing = [
            name
            for name, quantity in container.limits.items()
            if quantity.value and self.bench.state.is_device_plugin_resource(name) and name not in self.plugins.stopped
        ]
        if missing:
            assert isinstance(steps.failure, PreparationFailed)
            assert steps.failure.text in [
                f"endpoint not found in cache for a registered resource: {name}" for name in missing
            ]
        else:
            has_records = any(key[:2] == (pod.uid, container.name) for key in self.held)
            assert (steps.result is not None) == has_records

    # ------------------------------------------------------------------------------------------------- a restart

    @precondition(lambda self: self.steps % 5 == 0)
    @rule(data=st.data(), lost=st.sampled_from([False, False, True]), lists=SEVERAL_LISTS)
    def the_kubelet_restarts(self, data: st.DataObject, lost: bool, lists: Lists) -> None:
        for walk in self.registering:
            walk.close()
        if self.admission:
            self.admission[1].close()
            # The sources deliver the pod again; until then it is not known.
            self.active.discard(self.admission[0].uid)
            self.bench.remove(self.admission[0].uid)
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
        self.admission = self.in_flight = None
        self.leaked = set()
        self._serve(lists)

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
        assert {key: record.ids for key, record in state.books} == self.held
        self._books_agree()
        self._nobody_shares()

    def _books_agree(self) -> None:
        """Ids in use are those recorded, those in a call, and those that a rule says are lost. Rules: DM-97, DM-102"""
        recorded = {(resource, device) for (_, _, resource), ids in self.held.items() for device in ids}
        taken = {(resource, device) for resource, ids in self.bench.state.books.in_use.items() for device in ids}
        calling = {(self.in_flight[0], device) for device in self.in_flight[1]} if self.in_flight else set()
        assert taken - recorded <= calling | self.leaked
        assert recorded - taken <= self.raced

    def _nobody_shares(self) -> None:
        holders: dict[tuple[str, str], set[str]] = {}
        for (uid, _, resource), ids in self.held.items():
            for device in ids:
                holders.setdefault((resource, device), set()).add(uid)
        twice = {device for device, uids in holders.items() if len(uids) > 1}
        assert twice <= self.bench.state.books.shared
        assert twice <= self.raced

    # ------------------------------------------------------------------------------------------------ the model's hands

    def _write(self, effects: Iterable[Effect[None]], *, written: bool) -> None:
        for effect in effects:
            if isinstance(effect, WriteCheckpoint) and written:
                self.on_disk = encode(effect.document)

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
        if self.in_flight:
            self.is_forgotten = True
            self.raced |= {(self.in_flight[0], device) for device in self.in_flight[1]}

    def _note_record(
        self, pod: Pod, resource: str, ids: tuple[str, ...], answer: AllocateAnswer, before: dict[Any, Any]
    ) -> None:
        """Exactly one record is new: for a container of the pod that asks for so many."""
        books = {key: record for key, record in self.bench.state.books if key[0] == pod.uid or key in before}
        new = {key: record for key, record in books.items() if before.get(key) is not record}
        (((uid, name, of), record),) = new.items()
        container = pod.container(name)
        assert (uid, of) == (pod.uid, resource)
        assert container is not None
        assert container.limits[resource].value == len(ids)
        assert record.ids == set(ids)
        assert record.response == answer.responses[0]
        self.held[uid, name, of] = frozenset(ids)

    def _look_at_admission(self) -> None:
        """A reclaim may have come before a choice; then the choice has to be of free and healthy devices."""
        assert self.admission is not None
        pod, steps = self.admission
        self._released(self.held.keys() - {key for key, _ in self.bench.state.books})
        if isinstance(steps.effect, CallAllocate):
            client, ids = steps.effect.client, steps.effect.device_ids
            resource = self.resource_of[client]
            assert self.plugins.caller[resource] == client
            assert self.plugins.stopped[resource] is None
            assert len(set(ids)) == len(ids) > 0
            assert set(ids) <= self.plugins.healthy[resource]
            held = {(of, device) for (_, _, of), held in self.held.items() for device in held}
            assert not ({(resource, device) for device in ids} & (held - self.raced))
            assert not ({(resource, device) for device in ids} & self.leaked)
            self.in_flight, self.is_forgotten = (resource, ids), False
        if not steps.is_over:
            return
        self.admission = None
        if isinstance(steps.result, Rejected):
            self.active.discard(pod.uid)
            if "has been stopped" in steps.result.message:
                self._counted_anew()
            return
        assert steps.result == Admitted()
        for (uid, name, of), held_ids in self.held.items():
            if uid == pod.uid and (container := pod.container(name)) is not None:
                assert len(held_ids) == container.limits[of].value


# Five thousand steps pass in some seconds; a failure takes its time to become small.
pytestmark = pytest.mark.timeout(600)
CoreMachine.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, derandomize=DERANDOMIZE
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
    assert {key: record.ids for key, record in after.state.books} == {
        key: record.ids for key, record in bench.state.books if key[0] == PodUID("p")
    }
