"""An endpoint: our handle on the plugin that serves a resource, and the table of its life.

The table is the truth: the functions below follow it, and the diagram in the documentation is drawn from it.
"""

from __future__ import annotations

from enum import Enum

from attrs import evolve, frozen

from kubelet_sim.errors import AllocationFailed, InvariantError
from kubelet_sim.model.ids import ClientID, ResourceName
from kubelet_sim.model.plugin import GRACE_PERIOD_S, PluginOptions


class EndpointState(Enum):
    """Where an endpoint is in its life."""

    ABSENT = "absent"
    """There is none: never registered, or removed after the grace period."""
    LIVE = "live"
    STOPPED = "stopped"
    """Its plugin went away; calls through it fail locally. Rules: DM-46"""
    PLACEHOLDER = "placeholder"
    """Restored from the checkpoint at a kubelet start: stopped, and no plugin was ever there. Rules: DM-145"""


class EndpointEvent(Enum):
    """What can happen to an endpoint, and moves it from state to state."""

    CONNECTED = "connected"
    """A registration succeeded; the new endpoint replaces whatever was there. Rules: DM-26"""
    DISCONNECTED = "disconnected"
    """A stream ended and its client was found in the table. Rules: DM-44, DM-45"""
    RESTORED = "restored"
    """The checkpoint named the resource. Rules: DM-145"""
    EXPIRED = "expired"
    """A node status round found the grace period over. Rules: DM-47"""


_S, _E = EndpointState, EndpointEvent
TRANSITIONS: dict[tuple[EndpointState, EndpointEvent], EndpointState] = {
    (_S.ABSENT, _E.CONNECTED): _S.LIVE,
    (_S.ABSENT, _E.DISCONNECTED): _S.ABSENT,
    (_S.ABSENT, _E.RESTORED): _S.PLACEHOLDER,
    (_S.LIVE, _E.CONNECTED): _S.LIVE,
    (_S.LIVE, _E.DISCONNECTED): _S.STOPPED,
    (_S.STOPPED, _E.CONNECTED): _S.LIVE,
    (_S.STOPPED, _E.DISCONNECTED): _S.STOPPED,
    (_S.STOPPED, _E.EXPIRED): _S.ABSENT,
    (_S.PLACEHOLDER, _E.CONNECTED): _S.LIVE,
    (_S.PLACEHOLDER, _E.DISCONNECTED): _S.PLACEHOLDER,
    (_S.PLACEHOLDER, _E.EXPIRED): _S.ABSENT,
}


@frozen
class Endpoint:
    """Our handle on the plugin that serves a resource."""

    resource: ResourceName
    client: ClientID | None = None
    """The connection that calls go through; `None` in a placeholder."""
    options: PluginOptions | None = None
    """As answered at registration; a placeholder has none. Rules: DM-28, DM-105"""
    stopped_at_s: float | None = None

    @property
    def state(self) -> EndpointState:
        """Never `ABSENT`: then there is no endpoint."""
        if self.stopped_at_s is None:
            return EndpointState.LIVE
        return EndpointState.PLACEHOLDER if self.client is None else EndpointState.STOPPED


def connected(endpoint: Endpoint | None, resource: ResourceName, client: ClientID, options: PluginOptions) -> Endpoint:
    """A fresh live endpoint in place of what was there, which gets no stop time. Rules: DM-26, DM-32, DM-45"""
    return _checked(endpoint, EndpointEvent.CONNECTED, Endpoint(resource, client, options))


def disconnected(endpoint: Endpoint, at_s: float) -> Endpoint:
    """The endpoint, stopped now, whatever it was before. Rules: DM-44, DM-45"""
    return _checked(endpoint, EndpointEvent.DISCONNECTED, evolve(endpoint, stopped_at_s=at_s))


def restored(resource: ResourceName, at_s: float) -> Endpoint:
    """A placeholder: its grace period begins anew with every kubelet process. Rules: DM-45, DM-145"""
    return _checked(None, EndpointEvent.RESTORED, Endpoint(resource, stopped_at_s=at_s))


def expired(endpoint: Endpoint) -> None:
    """Nothing takes its place; a live endpoint cannot expire. Rules: DM-47"""
    if TRANSITIONS.get((endpoint.state, EndpointEvent.EXPIRED)) is not EndpointState.ABSENT:
        raise InvariantError(f"{endpoint.resource}: an endpoint that is {endpoint.state.value} cannot expire")


def grace_period_is_over(endpoint: Endpoint, at_s: float) -> bool:
    """Whether strictly more than five minutes have passed since it stopped. Rules: DM-47, DM-70"""
    return endpoint.stopped_at_s is not None and at_s - endpoint.stopped_at_s > GRACE_PERIOD_S


def live_client(endpoint: Endpoint) -> ClientID:
    """The connection to call through. Raises `AllocationFailed` locally if it is stopped: no call is made then.

    The kubelet prints a machine dump of its own structure; only the words around it and the resource are stable.

    Rules: DM-46
    """
    if endpoint.client is None or endpoint.stopped_at_s is not None:
        dump = f"&{{{{{{}} {{0 0}}}} {endpoint.resource} <nil> {{0 0 <nil>}} <nil>}}"
        raise AllocationFailed(f"endpoint {dump} has been stopped", rule="DM-46")
    return endpoint.client


def state_of(endpoint: Endpoint | None) -> EndpointState:
    """The state of what may be there."""
    return EndpointState.ABSENT if endpoint is None else endpoint.state


def _checked(before: Endpoint | None, event: EndpointEvent, after: Endpoint) -> Endpoint:
    expected = TRANSITIONS.get((state_of(before), event))
    if expected is not after.state:
        raise InvariantError(f"{after.resource}: {state_of(before).value} + {event.value} became {after.state.value}")
    return after
