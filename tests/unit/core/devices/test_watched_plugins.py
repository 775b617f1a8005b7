from __future__ import annotations

from collections.abc import Callable

import pytest

from kubelet_sim.core.devices.endpoint import EndpointState
from kubelet_sim.core.effects import CallGetDevicePluginOptions, CloseConnection, Dial, OpenListAndWatch
from kubelet_sim.core.facts import Applied, WatchedPluginGone
from kubelet_sim.errors import DialFailed, PluginNotValid, RegistrationRefused, RpcFailed
from kubelet_sim.model.ids import ClientID
from kubelet_sim.model.plugin import PluginInfo, PluginOptions, SocketPath
from tests.unit.core.bench import DEV, GONE_S, NIC, Bench, Steps, snapshot, written

FOUND = "/root/plugins_registry/x-reg.sock"
SERVES = "/run/x.sock"
INFO = PluginInfo("DevicePlugin", DEV, SERVES, ("v1beta1",))


def _found(bench: Bench, info: PluginInfo = INFO) -> Steps[ClientID]:
    return Steps(bench.manager.register_watched(info, FOUND))


def _gone(bench: Bench, resource: str = DEV, at_s: float = GONE_S) -> Applied[None]:
    return bench.manager.apply(WatchedPluginGone(DEV if resource == DEV else NIC, SocketPath(SERVES), at_s))


def test_a_watched_plugin_is_registered_as_one_that_called_register() -> None:
    """Enter the client, dial the path as given, ask for options, connect the endpoint, open the stream. Rules: DM-26, DM-150"""
    bench = Bench()
    options = PluginOptions(pre_start_required=True)

    steps = _found(bench)
    client = bench.state.clients[DEV]

    assert steps.effect == Dial(client, DEV, SocketPath(SERVES))
    steps.answer()
    assert steps.effect == CallGetDevicePluginOptions(client)
    steps.answer(options)
    assert steps.effect == OpenListAndWatch(client)
    assert bench.state.endpoints[DEV].options == options
    assert steps.answer().result == client


def test_the_counter_of_register_calls_counts_register_calls() -> None:
    """A plugin that the watcher found is not counted. Rules: DM-21, DM-150"""
    bench = Bench()

    _found(bench).finish()

    assert not bench.state.registrations


@pytest.mark.parametrize("endpoint", ["/run/x.sock", "x.sock", "../x.sock", "/root/device-plugins/x.sock", "/a/../x"])
def test_the_endpoint_is_dialled_as_given(endpoint: str) -> None:
    """It is joined with nothing and not cleaned. Rules: DM-150"""
    steps = _found(Bench(), PluginInfo("DevicePlugin", DEV, endpoint, ("v1beta1",)))

    assert steps.effect == Dial(ClientID(1), DEV, SocketPath(endpoint))


def test_without_an_endpoint_the_socket_that_was_asked_serves() -> None:
    """An empty endpoint is replaced by the path of the registration socket. Rules: DM-148"""
    steps = _found(Bench(), PluginInfo("DevicePlugin", DEV, "", ("v1beta1",)))

    assert steps.effect == Dial(ClientID(1), DEV, SocketPath(FOUND))


@pytest.mark.parametrize(
    "info, text",
    [
        (
            PluginInfo("DevicePlugin", DEV, SERVES, ("v1", "v1alpha", "v1beta1 ")),
            (
                "RegisterPlugin error -- plugin validation failed with err: manager version, v1beta1, is not among plugin "
                "supported versions [v1 v1alpha v1beta1 ]"
            ),
        ),
        (
            PluginInfo("DevicePlugin", "cpu", SERVES, ()),
            (
                "RegisterPlugin error -- plugin validation failed with err: manager version, v1beta1, is not among plugin "
                "supported versions []"
            ),
        ),
        (
            PluginInfo("DevicePlugin", 'c"pu', SERVES, ("v1alpha", "v1beta1")),
            (
                "RegisterPlugin error -- plugin validation failed with err: invalid name of device plugin socket: "
                'the ResourceName "c\\"pu" is invalid'
            ),
        ),
    ],
)
def test_what_is_not_valid_is_refused_before_anything_is_tried(info: PluginInfo, text: str) -> None:
    """First the versions, then the name; nothing has changed. Rules: DM-149, DM-151"""
    bench = Bench()
    before = snapshot(bench.state)

    failure = _found(bench, info).failure

    assert isinstance(failure, PluginNotValid)
    assert failure.text == str(failure) == text
    assert snapshot(bench.state) == before
    assert [each.text for each in bench.notes.warnings(failure.rule.split()[0])] == [
        f"registration by the plugin watcher refused: {text}"
    ]


@pytest.mark.parametrize(
    "fail, text",
    [
        (lambda steps: steps.answer(DialFailed()), "failed to dial device plugin: context deadline exceeded"),
        (
            lambda steps: steps.answer().answer(RpcFailed("Unimplemented", "unknown service v1beta1.DevicePlugin")),
            (
                "failed to get device plugin options: rpc error: code = Unimplemented desc = unknown service "
                "v1beta1.DevicePlugin"
            ),
        ),
    ],
)
def test_a_failed_registration_takes_the_entry_of_the_name_with_it(
    fail: Callable[[Steps[ClientID]], Steps[ClientID]], text: str
) -> None:
    """As for Register: the older client is out of the table, and its endpoint stays. Rules: DM-26, DM-35, DM-151"""
    bench = Bench()
    older = bench.serve("a")

    failure = fail(_found(bench)).failure

    assert isinstance(failure, RegistrationRefused)
    assert not isinstance(failure, PluginNotValid)
    assert failure.text == f"RegisterPlugin error -- plugin registration failed with err: {text}"
    assert bench.state.clients == {}
    assert bench.state.endpoints[DEV].client == older


def test_the_removal_of_its_socket_disconnects_a_watched_plugin() -> None:
    """Devices unhealthy, the endpoint stopped, the connection closed; no checkpoint. Rules: DM-44, DM-152"""
    bench = Bench()
    client = _found(bench).finish()
    bench.list(client, "a", "b")

    applied = _gone(bench)

    assert applied.effects == (CloseConnection(client),)
    assert bench.state.clients == {}
    assert bench.state.healthy == {DEV: set()}
    assert bench.state.unhealthy == {DEV: {"a", "b"}}
    endpoint = bench.state.endpoints[DEV]
    assert (endpoint.state, endpoint.stopped_at_s) == (EndpointState.STOPPED, GONE_S)
    assert not written(applied.effects)


def test_the_end_of_the_stream_that_follows_changes_nothing() -> None:
    """The connection that was closed ends its stream; nobody is in the table any more. Rules: DM-35, DM-152"""
    bench = Bench()
    client = _found(bench).finish()
    bench.list(client, "a")
    _gone(bench)
    stopped = bench.state.endpoints[DEV]

    assert bench.end(client, GONE_S + 1, RpcFailed("Canceled", "grpc: the client connection is closing")).effects == ()
    assert bench.state.endpoints[DEV] == stopped


def test_the_removal_disconnects_a_newer_client_that_called_register() -> None:
    """Whoever has the name; the stream of the plugin whose socket it was goes on feeding the resource. Rules: DM-152"""
    bench = Bench()
    watched = _found(bench).finish()
    newer = bench.serve("a")

    assert _gone(bench).effects == (CloseConnection(newer),)
    assert bench.state.endpoints[DEV].state is EndpointState.STOPPED
    bench.list(watched, "b")
    assert bench.state.healthy == {DEV: {"b"}}


def test_the_removal_disconnects_a_client_that_is_still_connecting() -> None:
    """Its connection is closed, and its registration fails by that. Rules: DM-44, DM-152"""
    bench = Bench()
    _found(bench).finish()
    connecting = bench.registering()
    client = bench.state.clients[DEV]

    assert _gone(bench).effects == (CloseConnection(client),)
    connecting.answer().answer(RpcFailed("Canceled", "grpc: the client connection is closing"))
    assert isinstance(connecting.failure, RegistrationRefused)


def test_the_removal_of_a_plugin_that_is_gone_already_changes_nothing() -> None:
    """The stream has ended before: nobody has the name; other names are not touched. Rules: DM-152"""
    bench = Bench()
    client = _found(bench).finish()
    bench.serve("n", resource=NIC)
    bench.end(client, 1.0)
    before = snapshot(bench.state)

    assert _gone(bench).effects == ()
    assert snapshot(bench.state) == before
