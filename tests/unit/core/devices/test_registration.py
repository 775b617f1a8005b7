from __future__ import annotations

import itertools

import pytest

from kubelet_sim.core.devices.endpoint import Endpoint, EndpointState
from kubelet_sim.core.effects import CallGetDevicePluginOptions, CloseConnection, Dial, OpenListAndWatch
from kubelet_sim.errors import DialFailed, PluginFault, RegistrationRefused, RpcFailed
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import PluginOptions, Registration, SocketName
from tests.unit.core.bench import DEV, GONE_S, NIC, Bench, Steps, pod, scripted, snapshot, written

PRE_START = PluginOptions(pre_start_required=True)
PREFERRED = PluginOptions(get_preferred_allocation_available=True)
OPTIONS_FAILED = (
    "failed to get device plugin options: rpc error: code = Unimplemented desc = unknown service v1beta1.DevicePlugin"
)
NO_OPTIONS = RpcFailed("Unimplemented", "unknown service v1beta1.DevicePlugin")


def _refused(steps: Steps[ClientID]) -> RegistrationRefused:
    with pytest.raises(RegistrationRefused) as caught:
        _ = steps.result
    assert str(caught.value) == caught.value.text
    return caught.value


def test_the_steps_of_a_registration() -> None:
    """Enter the client, dial, ask for options, connect the endpoint, open the stream; then answer. Rules: DM-26, DM-27"""
    bench = Bench()

    steps = bench.registering(socket="sub/../x.sock")
    client = bench.state.clients[DEV]

    assert steps.effect == Dial(client, DEV, SocketName("sub/../x.sock"))
    steps.answer()
    assert steps.effect == CallGetDevicePluginOptions(client)
    assert DEV not in bench.state.endpoints
    steps.answer(PRE_START)
    assert steps.effect == OpenListAndWatch(client)
    assert bench.state.endpoints == {DEV: Endpoint(DEV, client, PRE_START)}
    assert not steps.is_over
    steps.answer()
    assert steps.result == client


def test_nothing_is_known_of_devices_before_the_first_list() -> None:
    """A registration alone makes no device resource and writes no checkpoint. Rules: DM-50, DM-136"""
    bench = Bench()
    steps = bench.registering()

    steps.finish()

    assert not written(steps.seen)
    assert not any((bench.state.healthy, bench.state.unhealthy, bench.state.devices))
    assert not bench.state.is_device_plugin_resource(DEV)


@pytest.mark.parametrize(
    "version, shown",
    [
        ("", '""'),
        ("v1", '"v1"'),
        ("v1alpha", '"v1alpha"'),
        ("v1beta1 ", '"v1beta1 "'),
        ("V1BETA1", '"V1BETA1"'),
        ("v1beta2", '"v1beta2"'),
        ('a"\\\n\x00\x7f\u2028é', '"a\\"\\\\\\n\\x00\\x7f\\u2028é"'),
    ],
)
def test_other_api_versions_are_refused(version: str, shown: str) -> None:
    """Only `v1beta1` to the letter is served, and the text quotes what was sent. Rules: DM-22"""
    steps = Bench().registering(version=version)

    assert not steps.seen
    assert _refused(steps).text == (
        f'requested API version {shown} is not supported by kubelet. Supported version is ["v1beta1"]'
    )


@pytest.mark.parametrize(
    "name, shown",
    [
        ("", '""'),
        ("cpu", '"cpu"'),
        ("kubernetes.io/x", '"kubernetes.io/x"'),
        ("notkubernetes.io/x", '"notkubernetes.io/x"'),
        ("requests.foo/bar", '"requests.foo/bar"'),
        ("Example.com/dev", '"Example.com/dev"'),
        ("a/b/c", '"a/b/c"'),
        ("a" * 245 + "/x", '"' + "a" * 245 + '/x"'),
        ('x/"\t', '"x/\\"\\t"'),
    ],
)
def test_names_that_are_no_extended_resources_are_refused(name: str, shown: str) -> None:
    """A name that no pod could ask for is refused before anybody is dialled. Rules: DM-23, DM-24"""
    steps = Bench().registering(name)

    assert not steps.seen
    assert _refused(steps).text == f"the ResourceName {shown} is invalid"


def test_the_version_is_looked_at_before_the_name() -> None:
    """Of two faults the version is told. Rules: DM-21"""
    assert "API version" in _refused(Bench().registering("cpu", version="v2")).text


@pytest.mark.parametrize("resource, version", [("cpu", "v1beta1"), (DEV, "v2"), ("", "")])
def test_a_refused_call_changes_nothing_but_the_count(resource: str, version: str) -> None:
    """It is counted under the name as sent; every table stays, a live plugin of the name too. Rules: DM-21"""
    bench = Bench()
    bench.serve("a")
    before = snapshot(bench.state)

    _refused(bench.registering(resource, version))

    after = snapshot(bench.state)
    assert after.pop("registrations")[resource] == before.pop("registrations").get(resource, 0) + 1
    assert after == before


@pytest.mark.parametrize("resource, version", [(DEV, "v1beta1"), ("cpu", "v1beta1"), (DEV, "v2")])
def test_every_call_is_noted_first(resource: str, version: str) -> None:
    """Before anything is looked at, the request is noted under the name as sent. Rules: DM-21"""
    bench = Bench()
    noted = len(bench.notes.decisions)
    bench.registering(resource, version)

    first = bench.notes.decisions[noted]
    assert (first.subject, first.rules) == (resource, ("DM-21",))


def test_every_call_is_counted_at_once() -> None:
    """The count goes up before the plugin is dialled, and for failures as well. Rules: DM-21"""
    bench = Bench()
    waiting = bench.registering()
    assert bench.state.registrations[DEV] == 1

    waiting.answer(DialFailed())
    bench.register()
    assert bench.state.registrations == {DEV: 2}


@pytest.mark.parametrize(
    "failures, text",
    [
        ([DialFailed()], "failed to dial device plugin: context deadline exceeded"),
        ([DialFailed("context canceled")], "failed to dial device plugin: context canceled"),
        (
            [None, NO_OPTIONS],
            OPTIONS_FAILED,
        ),
        (
            [None, RpcFailed("DeadlineExceeded", "context deadline exceeded")],
            "failed to get device plugin options: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        ),
    ],
)
def test_a_plugin_that_cannot_be_connected_is_refused(failures: list[Exception | None], text: str) -> None:
    """The text says which step failed; the client's entry is gone, no endpoint comes, nothing is closed. Rules: DM-26, DM-29, DM-36"""
    bench = Bench()
    steps = bench.registering()

    for failure in failures:
        steps.answer(failure)

    assert _refused(steps).text == text
    assert not any((bench.state.clients, bench.state.endpoints))
    assert all(isinstance(effect, Dial | CallGetDevicePluginOptions) for effect in steps.seen)


@pytest.mark.parametrize("failures", [[DialFailed()], [None, NO_OPTIONS]])
def test_the_endpoint_survives_a_failed_registration(failures: list[Exception | None]) -> None:
    """The endpoint of the earlier plugin stays as it was, devices and all. Rules: DM-26, DM-35"""
    bench = Bench()
    first = bench.register(options=PREFERRED)
    bench.list(first, "a")
    steps = bench.registering()

    for failure in failures:
        steps.answer(failure)

    assert bench.state.endpoints == {DEV: Endpoint(DEV, first, PREFERRED)}
    assert bench.state.healthy == {DEV: {"a"}}


def test_only_the_answered_options_count() -> None:
    """The options in the Register request are not looked at; a new registration reads them anew. Rules: DM-28"""
    bench = Bench()
    request = Registration("v1beta1", "p.sock", DEV, options=PRE_START)

    Steps(bench.manager.register(request)).finish(scripted(CallGetDevicePluginOptions, PREFERRED))
    assert bench.state.endpoints[DEV].options == PREFERRED

    Steps(bench.manager.register(request)).finish()
    assert bench.state.endpoints[DEV].options == PluginOptions()


def test_a_name_is_nobodys() -> None:
    """A second Register for a served name succeeds, and the newest is called from then on. Rules: DM-31, DM-32"""
    bench = Bench()
    first = bench.serve("a")

    steps = bench.registering()
    second = steps.finish()

    assert second != first
    assert not [effect for effect in steps.seen if isinstance(effect, CloseConnection)]
    assert bench.state.clients == {DEV: second}
    assert bench.state.endpoints[DEV].client == second
    assert bench.state.endpoints[DEV].stopped_at_s is None


def test_one_plugin_may_serve_two_resources_on_one_socket() -> None:
    """Each registration makes a client of its own, and neither touches the other's resource. Rules: DM-37, DM-38"""
    bench = Bench()
    dev_client, nic_client = bench.serve("a"), bench.serve("a", "b", resource=NIC)

    bench.end(dev_client)

    assert bench.state.clients == {NIC: nic_client}
    assert bench.state.healthy == {DEV: set(), NIC: {"a", "b"}}
    assert bench.state.endpoints[NIC].state is EndpointState.LIVE


def test_a_plugin_that_does_not_answer_blocks_only_itself() -> None:
    """While one Register waits, others are served, pods admitted, lists taken. Rules: DM-20, DM-39"""
    bench = Bench()
    waiting = bench.registering(NIC)

    bench.serve("a")

    assert bench.admit(pod("p", {DEV: 1})) == Admitted()
    assert isinstance(waiting.effect, Dial)
    waiting.finish()
    assert set(bench.state.endpoints) == {DEV, NIC}


def test_back_within_the_grace_period() -> None:
    """The endpoint is live at once, the devices stay unhealthy until the first list. Rules: DM-48"""
    bench = Bench()
    bench.end(bench.serve("a", "b"))

    client = bench.register()

    assert bench.state.endpoints[DEV].state is EndpointState.LIVE
    assert bench.round(10.0).answer.capacity == {DEV: 2}
    assert bench.round(10.0).answer.allocatable == {DEV: 0}
    bench.list(client, "c")
    assert bench.round(10.0).answer.allocatable == {DEV: 1}


def test_back_after_removal() -> None:
    """A resource that was removed is absent from capacity until the first list. Rules: DM-49"""
    bench = Bench()
    bench.end(bench.serve("a"))
    bench.round(GONE_S + 1)

    client = bench.register()

    assert bench.round(GONE_S + 2).answer.capacity == {}
    assert bench.admit(pod("p", {DEV: 0})) == Admitted()
    bench.list(client, "a")
    assert bench.round(GONE_S + 3).answer.capacity == {DEV: 1}


def test_a_live_endpoint_never_expires() -> None:
    """A registration without any list has no stop time, however long it is silent. Rules: DM-43, DM-45"""
    bench = Bench()
    bench.end(bench.serve("a"))
    bench.register()

    assert bench.round(1e9).answer.deleted == ()
    assert bench.shown() == (1, 0)


def test_failure_takes_the_entry_of_another() -> None:
    """A failed registration arms the trap: the older stream goes on, and its end is not noticed. Rules: DM-35"""
    bench = Bench()
    older = bench.serve("a")
    bench.registering().answer(DialFailed())
    assert bench.state.clients == {}

    bench.list(older, "a", "b")
    before = snapshot(bench.state)
    applied = bench.end(older, 5.0)

    assert applied.effects == ()
    assert snapshot(bench.state) == before
    assert bench.state.healthy == {DEV: {"a", "b"}}
    assert bench.state.endpoints[DEV].state is EndpointState.LIVE


def test_a_failure_is_told_to_whom_it_hits() -> None:
    """That somebody else's entry was removed is noted as a warning. Rules: DM-35, DM-38"""
    bench = Bench()
    first, _second = bench.registering(), bench.registering()

    first.answer(DialFailed())

    assert bench.state.clients == {}
    assert bench.notes.warnings("DM-38")


def test_the_old_stream_ends_while_the_new_plugin_is_dialled() -> None:
    """The entry it finds is the newcomer's, whose registration goes on and whose end is missed later. Rules: DM-33, DM-38"""
    bench = Bench()
    older = bench.serve("a")
    newer = bench.registering()

    bench.end(older, 1.0)
    assert bench.state.clients == {}
    assert bench.state.endpoints[DEV].state is EndpointState.STOPPED

    client = newer.finish()
    bench.list(client, "a")
    assert bench.state.endpoints[DEV] == Endpoint(DEV, client, PluginOptions())
    assert bench.end(client, 2.0).effects == ()
    assert bench.state.healthy == {DEV: {"a"}}


OUTCOMES: dict[str, tuple[object, ...]] = {
    "succeeds": (None, PluginOptions(), None),
    "not dialled": (DialFailed(),),
    "no options": (None, NO_OPTIONS),
}


def _merges(first: int, second: int) -> list[tuple[int, ...]]:
    """Every order in which the steps of two walks can fall."""
    places = range(first + second)
    chosen = itertools.combinations(places, second)
    return [tuple(int(place in of_second) for place in places) for of_second in chosen]


@pytest.mark.parametrize("outcomes", list(itertools.product(OUTCOMES, repeat=2)), ids=" and ".join)
def test_two_registrations_of_one_name_in_every_order(outcomes: tuple[str, str]) -> None:
    """The table holds who entered last, unless somebody failed since; the endpoint, who connected last. Rules: DM-26, DM-38"""
    answers = [OUTCOMES[outcome] for outcome in outcomes]
    for order in _merges(1 + len(answers[0]), 1 + len(answers[1])):
        bench = Bench()
        walks: list[Steps[ClientID] | None] = [None, None]
        numbers: dict[int, ClientID] = {}
        left = [list(given) for given in answers]
        entry: int | None = None
        endpoint: int | None = None
        for who in order:
            walk = walks[who]
            if walk is None:
                walks[who] = bench.registering()
                numbers[who] = bench.state.clients[DEV]
                entry = who
            else:
                answer = left[who].pop(0)
                walk.answer(answer)
                if isinstance(answer, PluginFault):
                    entry = None
                if isinstance(answer, PluginOptions):
                    endpoint = who
            assert bench.state.clients.get(DEV) == (None if entry is None else numbers[entry]), order
            live = bench.state.endpoints.get(DEV)
            assert (live and live.client) == (None if endpoint is None else numbers[endpoint]), order
        assert all(walk is not None and walk.is_over for walk in walks)
        assert numbers[0] != numbers[1]


def test_both_streams_of_concurrent_registrations_run() -> None:
    """Table and endpoint may name different clients; lists of both are applied, the last one wins. Rules: DM-32, DM-38"""
    bench = Bench()
    first, second = bench.registering(), bench.registering()
    b = second.finish()
    a = first.finish()
    assert (bench.state.clients[DEV], bench.state.endpoints[DEV].client) == (b, a)

    bench.list(a, "x")
    bench.list(b, "y")
    assert bench.state.healthy == {DEV: {"y"}}

    assert bench.end(a, 1.0).effects == (CloseConnection(b),)
    assert bench.state.endpoints[DEV] == Endpoint(DEV, a, PluginOptions(), 1.0)


@pytest.mark.parametrize("answered", range(3))
def test_a_kubelet_may_end_in_the_middle(answered: int) -> None:
    """A walk that is closed at any step leaves no trace of an error. Rules: DM-16"""
    bench = Bench()
    steps = bench.registering()
    for answer in [None, PluginOptions()][:answered]:
        steps.answer(answer)

    steps.close()

    assert steps.failure is None


def test_clients_are_never_reused() -> None:
    """Each registration has a number of its own, failures included. Rules: DM-26"""
    bench = Bench()
    bench.registering().answer(DialFailed())
    clients = [bench.register(resource) for resource in (DEV, NIC, DEV)]

    assert len(set(clients)) == 3
    assert [bench.state.resource_of[client] for client in clients] == [DEV, NIC, DEV]
    assert len(bench.state.resource_of) == 3


def test_clients_that_are_over_are_forgotten() -> None:
    """A plugin that registers again and again, or fails to, leaves nothing behind but its last endpoint. Rules: DM-26"""
    bench = Bench()
    for _ in range(50):
        client = bench.serve("a")
        bench.registering().answer(DialFailed())
        bench.end(client, 0.0)
        assert len(bench.state.resource_of) <= 1
    bench.end(bench.serve("a"), 0.0)
    bench.round(GONE_S + 1)
    assert bench.state.resource_of == {}


def test_walks_do_nothing_before_their_first_step() -> None:
    """A walk that nobody has advanced has not happened. Rules: DM-21"""
    bench = Bench()
    bench.manager.register(Registration("v1beta1", "p.sock", ResourceName("example.com/dev")))

    assert not bench.state.registrations
    assert not bench.state.clients
