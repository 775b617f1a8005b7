"""What the core does differently under the profiles of other releases: each test fails if its switch is ignored."""

from __future__ import annotations

import pytest
from attrs import evolve

from kubelet_sim.core.devices.device_hints import container_hints
from kubelet_sim.core.devices.endpoint import EndpointState
from kubelet_sim.core.effects import (
    AnswerCaller,
    CallAllocate,
    CallGetDevicePluginOptions,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    CloseConnection,
    Dial,
    OpenListAndWatch,
)
from kubelet_sim.core.facts import RuntimeListed, WatchedPluginGone
from kubelet_sim.core.kubelet.invariants import check
from kubelet_sim.errors import DialFailed, PreparationFailed, RegistrationRefused
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import ClientID, ContainerName, DeviceID, PodUID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, AllocateAnswer, PluginInfo, PluginOptions, Registration, SocketPath
from kubelet_sim.model.pod import ContainerKind, Pod
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.profiles import RELEASES, V1_36, Profile, Sidecars, profile_of, with_gates
from tests.unit.core.bench import (
    DEV,
    PRE_STARTS,
    PREFERS,
    Bench,
    Preferring,
    Steps,
    container,
    dev,
    init,
    pod,
    pod_of,
    scripted,
    sick,
    sidecar,
    topology,
    written,
)

ASKS_FOR_MORE = PluginOptions(pre_start_required=True, get_preferred_allocation_available=True)


def of(version: str, **gates: bool) -> Profile:
    """A release, with gates turned."""
    return with_gates(profile_of(version), gates)


def on(version: str, **gates: bool) -> Bench:
    """A bench of that release."""
    return Bench(profile=of(version, **gates))


def registering(bench: Bench, options: PluginOptions | None = None, socket: str = "p.sock") -> Steps[ClientID]:
    """A registration whose request has options."""
    return Steps(bench.manager.register(Registration(API_VERSION, socket, DEV, options)))


# ------------------------------------------------------------------------------------------------------- registration


def test_the_caller_goes_before_the_plugin_is_dialled() -> None:
    """Up to 1.24 Register is answered first, and the plugin is asked nothing. Rules: DM-163, DM-168"""
    steps = registering(on("1.24"))
    steps.finish()

    assert [type(effect) for effect in steps.seen] == [AnswerCaller, Dial, OpenListAndWatch]


def test_the_caller_waits_since_the_rework() -> None:
    """Since 1.25 dial and options come first. Rules: DM-27, DM-168"""
    steps = registering(on("1.25.0"))
    steps.finish()

    assert [type(effect) for effect in steps.seen] == [Dial, CallGetDevicePluginOptions, OpenListAndWatch]


def test_a_refusal_is_answered_by_every_release() -> None:
    """Version and name are looked at before anybody is let go. Rules: DM-163"""
    steps = on("1.20").registering("cpu")

    assert isinstance(steps.failure, RegistrationRefused)
    assert not steps.seen


def test_a_plugin_that_is_not_there_is_only_told_in_the_transcript() -> None:
    """Up to 1.24 nobody hears of it, and nothing of it stays. Rules: DM-163"""
    bench = on("1.24")
    steps = registering(bench)
    steps.answer()  # The caller.
    steps.answer(DialFailed())

    assert steps.is_over
    assert bench.notes.warnings("DM-40")
    assert not any((bench.state.endpoints, bench.state.clients, bench.state.resource_of, bench.state.socket_of))


@pytest.mark.parametrize("options", [None, PluginOptions(), ASKS_FOR_MORE])
def test_options_come_from_the_request(options: PluginOptions | None) -> None:
    """Up to 1.24 they are those of the Register request, none if it has none. Rules: DM-28, DM-163"""
    bench = on("1.24")
    registering(bench, options).finish()

    assert bench.state.endpoints[DEV].options == (options or PluginOptions())


def test_options_of_the_request_are_ignored_later() -> None:
    """Since 1.25 the plugin's own answer counts. Rules: DM-28, DM-168"""
    bench = on("1.25.0")
    registering(bench, ASKS_FOR_MORE).finish()

    assert bench.state.endpoints[DEV].options == PluginOptions()


# ------------------------------------------------------------------------------------------------ who is disconnected


def test_an_older_stream_ends_alone_before_the_rework() -> None:
    """Up to 1.24 its end closes its own connection and changes nothing for the newer plugin. Rules: DM-163"""
    bench = on("1.24")
    older = bench.serve("a")
    newer = bench.serve("a", "b")

    applied = bench.end(older)

    assert applied.effects == (CloseConnection(older),)
    assert bench.state.endpoints[DEV].state is EndpointState.LIVE
    assert bench.state.endpoints[DEV].client == newer
    assert bench.state.healthy[DEV] == {"a", "b"}
    assert bench.state.clients == {}
    check(bench.state)


def test_the_current_stream_ends_its_endpoint_before_the_rework() -> None:
    """Up to 1.24 the end of the registered endpoint's stream makes its devices unhealthy. Rules: DM-163"""
    bench = on("1.24")
    client = bench.serve("a")

    applied = bench.end(client, 7.0)

    assert applied.effects == (CloseConnection(client),)
    assert bench.state.endpoints[DEV].stopped_at_s == 7.0
    assert not bench.state.healthy[DEV]
    assert bench.state.unhealthy[DEV] == {"a"}


def test_a_failed_registration_does_not_orphan_a_plugin_before_the_rework() -> None:
    """Up to 1.24 nobody takes the entry of the one that is there. Rules: DM-35, DM-163"""
    bench = on("1.24")
    client = bench.serve("a")
    steps = registering(bench)
    steps.answer()
    steps.answer(DialFailed())

    bench.end(client)

    assert bench.state.endpoints[DEV].state is EndpointState.STOPPED


def _two_plugins(bench: Bench, second_socket: str) -> tuple[ClientID, ClientID]:
    older = registering(bench, socket="first.sock").finish()
    bench.list(older, "a")
    newer = registering(bench, socket=second_socket).finish()
    bench.list(newer, "a", "b")
    return older, newer


def test_an_older_stream_on_another_socket_ends_alone_after_1_36() -> None:
    """Clients are kept by resource and socket: the newer plugin goes on. Rules: DM-180"""
    bench = on("next")
    older, newer = _two_plugins(bench, "second.sock")

    applied = bench.end(older)

    assert applied.effects == (CloseConnection(older),)
    assert bench.state.endpoints[DEV].client == newer
    assert bench.state.endpoints[DEV].state is EndpointState.LIVE
    assert set(bench.state.clients.values()) == {newer}
    check(bench.state)


def test_an_older_stream_on_the_same_socket_cuts_off_the_newer_after_1_36() -> None:
    """On one socket there is one client, as there was one for a resource before. Rules: DM-33, DM-180"""
    bench = on("next")
    older, newer = _two_plugins(bench, "first.sock")

    assert bench.end(older).effects == (CloseConnection(newer),)
    assert bench.state.endpoints[DEV].state is EndpointState.STOPPED


@pytest.mark.parametrize(
    "named, path, directory, is_one",
    [
        ("x.sock", "/var/lib/kubelet/device-plugins/x.sock", "/var/lib/kubelet/device-plugins", True),
        ("x.sock", "/tmp/root/device-plugins/x.sock", "/tmp/root/device-plugins", True),
        ("a/../x.sock", "/tmp/root/device-plugins//./x.sock", "/tmp/root/device-plugins", True),
        ("../plugins_registry/x.sock", "/tmp/root/plugins_registry/x.sock", "/tmp/root/device-plugins", True),
        ("x.sock", "/tmp/root/plugins_registry/x.sock", "/tmp/root/device-plugins", False),
        ("x.sock", "/tmp/root2/device-plugins/x.sock", "/tmp/root/device-plugins", False),
        ("x.sock", "x.sock", "/tmp/root/device-plugins", False),
    ],
)
def test_a_socket_is_one_however_it_is_named_after_1_36(named: str, path: str, directory: str, is_one: bool) -> None:
    """By its name, or by its path where the watcher found the plugin: the file counts. Rules: DM-25, DM-150, DM-180"""
    bench = on("next")
    older = registering(bench, socket=named).finish()
    bench.list(older, "a")
    info = PluginInfo("DevicePlugin", DEV, path, ("v1beta1",))
    newer = Steps(bench.manager.register_watched(info, "/found.sock", directory)).finish()
    bench.list(newer, "a")

    assert bench.end(older).effects == (CloseConnection(newer if is_one else older),)
    check(bench.state)


@pytest.mark.parametrize("path, is_gone", [("/r/device-plugins/x.sock", True), ("/r/x.sock", False)])
def test_a_socket_that_goes_takes_the_client_on_it_after_1_36(path: str, is_gone: bool) -> None:
    """One that called Register itself, too, if it is on that very file. Rules: DM-152, DM-180"""
    bench = on("next")
    client = registering(bench, socket="x.sock").finish()
    bench.list(client, "a")

    applied = bench.manager.apply(WatchedPluginGone(DEV, SocketPath(path, "/r/device-plugins"), 1.0))

    assert applied.effects == ((CloseConnection(client),) if is_gone else ())


def test_an_older_stream_cuts_off_the_newer_in_1_36() -> None:
    """One client a resource, whatever the sockets are. Rules: DM-33"""
    bench = on("1.36")
    older, newer = _two_plugins(bench, "second.sock")

    assert bench.end(older).effects == (CloseConnection(newer),)
    assert bench.state.endpoints[DEV].state is EndpointState.STOPPED


@pytest.mark.parametrize("version, crashes", [("1.25.0", True), ("1.28", True), ("1.29", False), ("1.36", False)])
def test_a_disconnect_without_endpoint(version: str, crashes: bool) -> None:
    """From 1.25 to 1.28 a kubelet would have crashed; it is told. Rules: DM-168, DM-172"""
    bench = on(version)
    client = bench.serve("a")
    del bench.state.endpoints[DEV]

    bench.end(client)

    assert bool(bench.notes.warnings("DM-168")) is crashes


# ------------------------------------------------------------------------------------------------------------ checks


def _restarted(version: str, *, back_with: tuple[Device | str, ...] = ()) -> Bench:
    """A kubelet after a restart with the records of a running pod, sources not ready; the plugin may be back."""
    bench = on(version)
    bench.serve("a", "b")
    steps = bench.admitting(pod("one", {DEV: 1}))
    assert isinstance(steps.finish(), Admitted)
    after = bench.restarted(written(steps.seen)[-1], running=[("one", "main")])
    if back_with:
        after.serve(*back_with)
    return after


def test_a_running_pod_is_let_through_unseen_before_the_checks() -> None:
    """Up to 1.25.9 a pod with all its devices recorded is never checked. Rules: DM-163, DM-168"""
    after = _restarted("1.25.0")
    after.sources_ready(ready=True)
    assert isinstance(after.admit(pod("one", {DEV: 1})), Admitted)

    gone = _restarted("1.25.0", back_with=(sick("a"),))
    assert isinstance(gone.admit(pod("one", {DEV: 1})), Admitted)


def test_a_running_pod_is_rejected_between_two_patches() -> None:
    """From 1.25.10 to 1.25.13 even what runs needs healthy devices at a kubelet restart. Rules: DM-168"""
    assert _restarted("1.25.10").refusal(pod("one", {DEV: 1})).startswith("no healthy devices present")
    assert isinstance(_restarted("1.25").admit(pod("one", {DEV: 1})), Admitted)


def test_unhealthy_devices_are_no_reason_before_the_checks() -> None:
    """Up to 1.25.9 a new pod is refused for want of free devices only. Rules: DM-163, DM-168"""
    old, new = on("1.24"), on("1.25.10")
    for bench in (old, new):
        bench.serve(sick("a"))

    assert old.refusal(pod("one", {DEV: 1})) == (
        f"requested number of devices unavailable for {DEV}. Requested: 1, Available: 0"
    )
    assert new.refusal(pod("one", {DEV: 1})).startswith("no healthy devices present")


@pytest.mark.parametrize(
    "version, text", [("1.24", "can't"), ("1.25.0", "can't"), ("1.25.10", "cannot"), ("1.36", "cannot")]
)
def test_the_text_for_a_resource_that_is_not_registered(version: str, text: str) -> None:
    """Its wording came with the checks. Rules: DM-90, DM-163, DM-168"""
    bench = on(version)
    bench.state.allocations.know(DEV)

    assert bench.refusal(pod("one", {DEV: 1})) == f"{text} allocate unregistered device {DEV}"


def test_a_limit_of_zero_is_never_refused_before_the_checks() -> None:
    """What needs nothing is let through before anything is looked at. Rules: DM-84, DM-163"""
    old, new = on("1.24"), on("1.36")
    for bench in (old, new):
        bench.serve(sick("a"))

    assert isinstance(old.admit(pod("one", {DEV: 0})), Admitted)
    assert isinstance(new.admit(pod("one", {DEV: 0})), Rejected)


def _several_of_a_name(version: str, order: Preferring | None, first: bool, second: bool) -> Bench:
    bench = Bench(profile=of(version), ready=False, order=order)
    key = PodUID("one"), ContainerName("main")
    bench.manager.apply(RuntimeListed(frozenset(), ((*key, first), (*key, second))))
    bench.state.allocations.know(DEV)
    return bench


def test_one_arbitrary_container_of_a_name_speaks_for_all() -> None:
    """Up to 1.33 an earlier, exited one may be looked at: here the order picks that one. Rules: DM-110, DM-177"""
    assert isinstance(_several_of_a_name("1.34", None, False, True).admit(pod("one", {DEV: 1})), Admitted)
    assert isinstance(_several_of_a_name("1.33", None, True, True).admit(pod("one", {DEV: 1})), Admitted)
    assert isinstance(_several_of_a_name("1.33", None, False, True).admit(pod("one", {DEV: 1})), Rejected)


def test_what_runs_needs_no_list_of_all_containers() -> None:
    """A start that is told of running containers only knows them in every release. Rules: DM-110"""
    bench = Bench(profile=of("1.33"), ready=False)
    bench.manager.apply(RuntimeListed(frozenset({(PodUID("one"), ContainerName("main"))})))
    bench.state.allocations.know(DEV)

    assert isinstance(bench.admit(pod("one", {DEV: 1})), Admitted)


# ------------------------------------------------------------------------------------------------------ at creation


def test_a_limit_of_zero_stops_a_container_in_1_20() -> None:
    """A plugin that requires PreStartContainer has no devices to be told. Rules: DM-84, DM-163, DM-164"""
    old, new = on("1.20"), on("1.21")
    for bench in (old, new):
        registering(bench, PRE_STARTS).finish()
        bench.list(ClientID(1), "a")
        assert isinstance(bench.admit(pod("one", {DEV: 0})), Admitted)

    with pytest.raises(PreparationFailed, match="no devices found allocated in local cache"):
        old.preparing(pod("one", {DEV: 0})).finish()
    assert new.preparing(pod("one", {DEV: 0})).finish() is None


def test_any_pod_is_allocated_to_late_up_to_1_23() -> None:
    """Since 1.24 only an active one is. Rules: DM-106, DM-167"""
    for version, ids in (("1.23", {"a"}), ("1.24", None)):
        bench = on(version)
        assert isinstance(bench.admit(pod("one", {DEV: 1})), Admitted)
        bench.serve("a")
        bench.remove("one")
        bench.preparing(pod("one", {DEV: 1})).finish()
        assert bench.ids("one") == ids


@pytest.mark.parametrize("when", ["before", "during"])
def test_whether_a_pod_is_active_is_asked_when_a_resource_has_its_turn(when: str) -> None:
    """A pod that ends while its PreStartContainer is under way gets nothing late. Rules: DM-106, DM-167"""
    other = ResourceName("vendor.io/nic")
    bench = on("1.36")
    bench.serve("a", resource=DEV, options=PRE_STARTS)
    wanted = pod("one", {DEV: 1, other: 1})
    assert isinstance(bench.admit(wanted), Admitted)
    bench.serve("n", resource=other)
    if when == "before":
        bench.remove("one")
    steps = bench.preparing(wanted)
    assert isinstance(steps.effect, CallPreStartContainer)
    if when == "during":
        bench.remove("one")
    steps.finish()

    assert bench.ids("one", resource=other) is None


# ------------------------------------------------------------------------------------------------------------- texts


def test_an_empty_answer_is_printed_as_the_library_does() -> None:
    """Up to 1.33 the protobuf library shows it whole. Rules: DM-99, DM-177"""
    begin = "no containers return in allocation response "
    for version, shown in (
        ("1.33", "&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}"),
        ("1.34", ""),
    ):
        bench = on(version)
        bench.serve("a")
        assert bench.refusal(pod("one", {DEV: 1}), scripted(CallAllocate, AllocateAnswer(()))) == begin + shown


@pytest.mark.parametrize("version, crashes", [("1.33", False), ("1.34", True)])
def test_a_device_that_vanishes_during_allocate(version: str, crashes: bool) -> None:
    """Since 1.34 a kubelet would have crashed; before, it is a device without topology. Rules: DM-59, DM-177"""
    bench = on(version)
    client = bench.serve(dev("a", 1))
    steps = bench.admitting(pod("one", {DEV: 1}))
    bench.list(client)
    steps.finish()

    (warning,) = bench.notes.warnings("DM-59")
    assert ("crashes" in warning.text) is crashes
    assert bench.ids("one") == {"a"}


@pytest.mark.parametrize("version, crashes", [("1.33", False), ("1.34", True)])
def test_hints_for_a_device_that_vanished(version: str, crashes: bool) -> None:
    """The same where hints are made of recorded devices. Rules: DM-59, DM-177"""
    bench = Bench(profile=of(version), settings=topology("best-effort"), numa=(0, 1))
    client = bench.serve(dev("a", 0))
    bench.admit(pod("one", {DEV: 1}))
    bench.list(client, dev("b", 0))
    bench.admit(pod("one", {DEV: 1}))

    assert any("crashes" in warning.text for warning in bench.notes.warnings("DM-59")) is crashes


@pytest.mark.parametrize("version, crashes", [("1.29", True), ("1.30", False)])
def test_a_recount_while_a_plugin_is_asked(version: str, crashes: bool) -> None:
    """Up to 1.29 a kubelet would have crashed when the name is lost meanwhile. Rules: DM-97, DM-173"""
    bench = on(version)
    bench.serve("a", "b", options=PREFERS)
    bench.admit(pod("gone", {DEV: 1}))
    bench.remove("gone")
    bench.sources_ready(ready=False)  # No reclaim before the choice.
    steps = bench.admitting(pod("one", {DEV: 1}))
    assert isinstance(steps.effect, CallGetPreferredAllocation)
    bench.sources_ready(ready=True)
    bench.reclaim()
    steps.finish()

    assert bool(bench.notes.warnings("DM-173")) is crashes
    assert bench.ids("one")


# ------------------------------------------------------------------------------------------------------- predicates


@pytest.mark.parametrize("version, is_admitted", [("1.30", False), ("1.31", True)])
def test_an_init_container_that_asks_for_an_unknown_resource(version: str, is_admitted: bool) -> None:
    """Up to 1.30 only app containers are forgiven that. Rules: DM-80, DM-174"""
    verdict = on(version).admit(pod_of("one", init("first", {DEV: 1}), container("main")))
    assert isinstance(verdict, Admitted) is is_admitted
    if isinstance(verdict, Rejected):
        assert verdict.reason == f"OutOf{DEV}"


def test_an_app_container_may_ask_for_an_unknown_resource_in_every_release() -> None:
    """It runs without the device. Rules: DM-81"""
    for profile in RELEASES.values():
        assert isinstance(Bench(profile=profile).admit(pod("one", {DEV: 1})), Admitted)


def _claimed() -> Pod:
    plain = pod("one", {DEV: 1})
    (main,) = plain.containers
    return evolve(plain, containers=(evolve(main, claimed=frozenset({DEV})),))


def test_a_limit_that_a_claim_serves_is_skipped() -> None:
    """In 1.36 neither devices nor room on the node are needed for it. Rules: DM-80, DM-85, DM-179"""
    bench = on("1.36")
    bench.serve(sick("a"))
    bench.round()

    steps = bench.admitting(_claimed())

    assert isinstance(steps.result, Admitted)
    assert not steps.seen
    assert bench.ids("one") is None


def test_predicates_count_a_claimed_request_in_1_35() -> None:
    """With the gate on, the device manager of 1.35 skips the limit, the predicates do not. Rules: DM-85, DM-178, DM-179"""
    bench = on("1.35", DRAExtendedResource=True)
    bench.serve(sick("a"))
    bench.round()

    verdict = bench.admit(_claimed())

    assert isinstance(verdict, Rejected)
    assert verdict.reason == f"OutOf{DEV}"


def test_without_the_gate_a_claim_changes_nothing() -> None:
    """The device manager allocates. Rules: DM-85"""
    bench = on("1.36", DRAExtendedResource=False)
    bench.serve("a")
    bench.round()

    assert isinstance(bench.admit(_claimed()), Admitted)
    assert bench.ids("one") == {"a"}


def test_hints_and_creation_do_not_know_of_claims() -> None:
    """A claimed limit still makes hints, and a plugin that requires PreStartContainer stops the container. Rules: DM-85"""
    strict = Bench(settings=topology("restricted"), numa=(0, 1))
    strict.serve(dev("a", 0, health="Sick"))
    assert isinstance(verdict := strict.admit(_claimed()), Rejected)
    assert verdict.reason == "TopologyAffinityError"

    bench = on("1.36")
    bench.serve("a", options=PRE_STARTS)
    bench.round()
    assert isinstance(bench.admit(_claimed()), Admitted)
    with pytest.raises(PreparationFailed, match="no devices found allocated"):
        bench.preparing(_claimed()).finish()


# --------------------------------------------------------------------------------------------------- CDI and sidecars


@pytest.mark.parametrize(
    "profile, names",
    [
        (of("1.27"), ()),
        (of("1.28"), ()),
        (of("1.28", DevicePluginCDIDevices=True), ("vendor.com/class=one",)),
        (of("1.29"), ("vendor.com/class=one",)),
    ],
    ids=["1.27", "1.28", "1.28 with the gate", "1.29"],
)
def test_cdi_names_reach_a_container_where_they_are_known(profile: Profile, names: tuple[str, ...]) -> None:
    """Before, and without the gate, the field is not read. Rules: DM-171, DM-172, DM-181"""
    bench = Bench(profile=profile)
    bench.serve("a")
    answer = AllocateAnswer((ContainerResponse(cdi_devices=("vendor.com/class=one",)),))
    bench.admit(pod("one", {DEV: 1}), scripted(CallAllocate, answer))

    spec = bench.preparing(pod("one", {DEV: 1})).finish()

    assert spec is not None
    assert spec.cdi_devices == names
    unread = [(each.part, each.key, each.kept_resource) for each in spec.provenance.dropped]
    assert unread == ([] if names else [("cdi_devices", "vendor.com/class=one", "")])
    assert len(spec.provenance.cdi_devices) == len(names)


# ---------------------------------------------------------------------------------------------------------- sidecars


def _with_sidecar() -> Pod:
    return pod_of("one", sidecar("side", {DEV: 1}), container("main", {DEV: 1}))


@pytest.mark.parametrize(
    "profile, side, main, reusable",
    [
        (of("1.27"), {"a"}, {"a"}, False),
        (of("1.28"), {"a"}, {"a"}, False),
        (of("1.28", SidecarContainers=True), {"a"}, {"a"}, False),
        (of("1.29"), {"a"}, {"b"}, False),
        (of("1.29", SidecarContainers=False), {"a"}, {"a"}, False),
    ],
    ids=lambda value: value.sidecars.value if isinstance(value, Profile) else None,
)
def test_who_gets_the_devices_of_a_sidecar(profile: Profile, side: set[str], main: set[str], reusable: bool) -> None:
    """Only a sidecar that is kept as such keeps its devices. Rules: DM-87, DM-171, DM-172"""
    bench = Bench(profile=profile)
    bench.serve("a", "b")
    bench.round()

    assert isinstance(bench.admit(_with_sidecar()), Admitted)

    assert (bench.ids("one", "side"), bench.ids("one")) == (side, main)
    assert bool(bench.reusable("one")) is reusable


def test_an_unknown_sidecar_does_not_run_beside_others() -> None:
    """Where the field does not exist, the pod needs room for one of the two at a time. Rules: DM-171"""
    for profile, is_admitted in ((of("1.27"), True), (of("1.28", SidecarContainers=True), False), (of("1.29"), False)):
        bench = Bench(profile=profile)
        wanted = pod_of("one", sidecar("side", {"cpu": 40}), container("main", {"cpu": 40}))
        assert isinstance(bench.admit(wanted), Admitted) is is_admitted


def test_a_pod_is_seen_as_the_release_sees_it() -> None:
    """In the tables, too: what is active has no sidecar where there is none. Rules: DM-171"""
    bench = on("1.27")
    bench.serve("a")
    bench.round()
    bench.admit(_with_sidecar())

    (known,) = bench.state.active_pods.values()
    assert [each.kind for each in known.init_containers] == [ContainerKind.INIT]
    assert on("1.29").profile.sidecars is Sidecars.KEEP


# ---------------------------------------------------------------------------------------------------------- topology


@pytest.mark.parametrize("version, node", [("1.20", 0), ("1.21", 0), ("1.23", -1)])
def test_where_a_device_without_topology_is_recorded(version: str, node: int) -> None:
    """Up to 1.22 under NUMA node 0, and so in the checkpoint. Rules: DM-100, DM-163, DM-166"""
    bench = on(version)
    bench.serve("a")
    steps = bench.admitting(pod("one", {DEV: 1}))
    steps.finish()

    (entry,) = written(steps.seen)[-1].entries or ()
    assert entry.devices == {node: ("a",)}


@pytest.mark.parametrize("version, is_admitted", [("1.25", False), ("1.26", True)])
def test_a_topology_without_nodes(version: str, is_admitted: bool) -> None:
    """Up to 1.25 it can never be aligned, since then it is none. Rules: DM-56, DM-169"""
    bench = Bench(profile=of(version), settings=topology("restricted"), numa=(0, 1))
    bench.serve(Device(DeviceID("a"), topology=()))
    assert isinstance(bench.admit(pod("one", {DEV: 1})), Admitted) is is_admitted


@pytest.mark.parametrize("version, chosen", [("1.21", "b"), ("1.23", "a")])
def test_a_device_on_several_nodes_is_filed_under_one(version: str, chosen: str) -> None:
    """Before 1.23 the order of nodes is open: node 0 comes first here, so the device looks unaligned. Rules: DM-91, DM-166"""
    nic = ResourceName("vendor.io/nic")
    bench = Bench(profile=of(version), settings=topology("best-effort"), numa=(0, 1))
    bench.serve(dev("a", 0, 1), dev("b", 1))
    bench.serve(dev("n", 1), resource=nic)
    bench.round()

    assert isinstance(bench.admit(pod("one", {DEV: 1, nic: 1})), Admitted)

    hint = bench.state.affinities.of(PodUID("one"), ContainerName("main"))
    assert hint.mask == 0b10
    assert bench.ids("one") == {chosen}


def test_hints_name_every_node_of_the_machine_up_to_1_34() -> None:
    """A node without devices takes part in the hints, in larger masks. Rules: DM-120, DM-178"""
    for version, masks in (("1.34", {0b001, 0b011, 0b101, 0b111}), ("1.35", {0b001})):
        bench = Bench(profile=of(version), settings=topology("best-effort"), numa=(0, 1, 2))
        bench.serve(dev("a", 0))
        wanted = pod("one", {DEV: 1})
        hints = container_hints(bench.manager.context, wanted, wanted.containers[0])[DEV]
        assert {hint.mask for hint in hints or ()} == masks


def test_the_defaults_are_those_of_1_36() -> None:
    """A bench without a profile is the release that the other tests are about."""
    assert Bench().profile is V1_36
