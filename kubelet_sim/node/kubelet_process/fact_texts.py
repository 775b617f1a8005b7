"""Facts, effects and answers in words, for the transcript."""

from __future__ import annotations

from kubelet_sim.core.effects import (
    AnswerCaller,
    CallAllocate,
    CallGetDevicePluginOptions,
    CallGetPreferredAllocation,
    CallPreStartContainer,
    CloseConnection,
    Dial,
    NotifyPodHealth,
    OpenListAndWatch,
    TakeAdmissionTurn,
    WriteCheckpoint,
)
from kubelet_sim.core.facts import (
    CheckpointRestored,
    ContainersRemoved,
    DevicesListed,
    PodActivated,
    PodDeactivated,
    ReclaimAsked,
    RuntimeListed,
    SourcesReadyChanged,
    StatusRoundDue,
    StreamEnded,
    WatchedPluginGone,
)
from kubelet_sim.core.state import State
from kubelet_sim.model.ids import ClientID
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions
from kubelet_sim.model.response import ContainerResponse

Words = tuple[str, str, tuple[str, ...]]
"""Subject, text, rules."""
_NODE = "node"


def fact_text(fact: object, state: State) -> Words:
    """The sentence that the transcript has for a fact."""
    match fact:
        case DevicesListed(client, devices):
            return _name(state, client), f"client {client} sent a list of {len(devices)}", ("DM-51",)
        case StreamEnded(client, _, error):
            how = f": {error}" if error else " normally"
            return _name(state, client), f"the stream of client {client} ended{how}", ("DM-42",)
        case WatchedPluginGone(resource, socket):
            return resource, f"the plugin on {socket} has no registration socket any more, or another", ("DM-152",)
        case StatusRoundDue():
            return _NODE, "node status is due", ("DM-65",)
        case PodActivated(pod):
            return pod.key, "a source delivered the pod", ("DM-116",)
        case PodDeactivated(uid):
            pod_or_none = state.active_pods.get(uid)
            return pod_or_none.key if pod_or_none else uid, "the pod is not active any more", ("DM-116",)
        case ContainersRemoved(pod):
            return pod.key, "its containers are removed", ("TM-46",)
        case SourcesReadyChanged(ready):
            return _NODE, f"pod sources are {'ready' if ready else 'not ready'}", ("DM-109",)
        case ReclaimAsked():
            return _NODE, "somebody asked for a reclaim", ("DM-115",)
        case RuntimeListed(running):
            return _NODE, f"the runtime reports {_count(len(running), 'running container')}", ("DM-7",)
        case CheckpointRestored(entries, registered):
            return (
                _NODE,
                f"checkpoint: {_count(len(entries), 'record')}, {_count(len(registered), 'resource')}",
                ("DM-145",),
            )
    return _NODE, type(fact).__name__, ()


def effect_text(effect: object, state: State) -> Words:
    """The sentence that the transcript has for an effect."""
    match effect:
        case AnswerCaller():
            return _NODE, "Register is answered; the plugin is dialled afterwards", ("DM-163",)
        case Dial(client, resource, socket):
            return resource, f"client {client} dials {socket}", ("DM-26",)
        case CallGetDevicePluginOptions(client):
            return _name(state, client), f"GetDevicePluginOptions to client {client}", ("DM-26",)
        case OpenListAndWatch(client):
            return _name(state, client), f"ListAndWatch to client {client}", ("DM-26",)
        case CallAllocate(client, device_ids):
            return _name(state, client), f"Allocate({', '.join(device_ids)}) to client {client}", ("DM-98",)
        case CloseConnection(client):
            return _name(state, client), f"the connection of client {client} is closed", ("DM-44",)
        case CallGetPreferredAllocation(client, available, must_include, size):
            asked = f"{size} of {', '.join(available)}"
            must = f", with {', '.join(must_include)}" if must_include else ""
            return _name(state, client), f"GetPreferredAllocation({asked}{must}) to client {client}", ("DM-94",)
        case CallPreStartContainer(client, device_ids):
            return _name(state, client), f"PreStartContainer({', '.join(device_ids)}) to client {client}", ("DM-103",)
        case TakeAdmissionTurn():
            return _NODE, "a late allocation waits for its turn", ("DM-86", "DM-106")
        case NotifyPodHealth(pods):
            names = ", ".join(known.key if (known := state.active_pods.get(uid)) else uid for uid in pods)
            return _NODE, f"device health: the status of {names} is to be brought up to date", ("DM-157",)
        case WriteCheckpoint(document):
            return _NODE, f"a checkpoint with {_count(len(document.entries or ()), 'record')} is written", ("DM-136",)
    return _NODE, type(effect).__name__, ()


def answer_text(effect: object, answer: object) -> str:
    """What came back, empty where that is nothing."""
    match effect, answer:
        case CallGetDevicePluginOptions(), PluginOptions(
            pre_start_required=pre, get_preferred_allocation_available=pref
        ):
            return f"options: pre_start_required {pre}, get_preferred_allocation_available {pref}".lower()
        case CallGetPreferredAllocation(), tuple():
            return f"preferred: {', '.join(answer)}" if answer else "no preference"
        case CallAllocate(), AllocateAnswer(responses=(first, *_)):
            return f"allocated: {response_text(first)}"
        case CallAllocate(), AllocateAnswer():
            return "an answer without container response"
    return ""


def client_details(told: object) -> dict[str, int]:
    """Which connection a fact or an effect is about, if any, for those who look for it."""
    client = getattr(told, "client", None)
    return {} if client is None else {"client": client}


def response_text(response: ContainerResponse) -> str:
    """A response by the number of its parts."""
    parts = {
        "env": response.envs,
        "mount": response.mounts,
        "device node": response.devices,
        "annotation": response.annotations,
        "CDI device": response.cdi_devices,
    }
    return ", ".join(_count(len(part), name) for name, part in parts.items() if part) or "nothing to set"


def _name(state: State, client: ClientID) -> str:
    return state.resource_of.get(client, f"client {client}")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
