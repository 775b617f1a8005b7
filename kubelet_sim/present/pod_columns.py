"""READY, STATUS and RESTARTS of a pod, as `kubectl get pods` works them out from its status. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubelet_sim.model.durations import age_text

if TYPE_CHECKING:
    from kubelet_sim.model.views import ContainerView, PodView

_SIDECAR, _APP = "sidecar", "app"
_INITIALIZING = "PodInitializing"


def ready_text(pod: PodView) -> str:
    """How many of the containers that stay do their part: `1/2`. Init containers do not count, sidecars do."""
    lasting = [each for each in pod.containers if each.kind in {_APP, _SIDECAR}]
    return f"{sum(each.is_ready for each in lasting)}/{len(lasting)}"


def status_text(pod: PodView) -> str:
    """The phase, or what there is to say instead: `CrashLoopBackOff`, `Init:0/1`, `Completed`, `Terminating`."""
    if pod.is_deleting:
        return "Terminating"
    if pod.reason:
        return pod.reason
    return _init_status(pod) or _app_status(pod)


def restarts_text(pod: PodView, now_s: float) -> str:
    """How often containers were started again, and when the last one had ended: `3 (12s ago)`."""
    is_initializing = bool(_init_status(pod))
    counted = [each for each in pod.containers if is_initializing or each.kind in {_APP, _SIDECAR}]
    restarts = sum(each.restart_count for each in counted)
    ended_at_s = [each.last_finished_at_s for each in counted if each.last_finished_at_s is not None]
    return f"{restarts} ({age_text(now_s - max(ended_at_s))} ago)" if restarts and ended_at_s else str(restarts)


def _init_status(pod: PodView) -> str:
    """What holds up the app containers; empty when nothing does, or if the pod was ready once."""
    inits = [each for each in pod.containers if each.kind != _APP]
    if any(each.kind == _APP and each.id for each in pod.containers):
        return ""
    for number, each in enumerate(inits):
        if each.is_ready:
            continue
        if each.state == "exited":
            return f"Init:{each.reason or f'ExitCode:{each.exit_code}'}"
        if each.state == "waiting" and each.reason not in {"", _INITIALIZING}:
            return f"Init:{each.reason}"
        return f"Init:{number}/{len(inits)}"
    return ""


def _app_status(pod: PodView) -> str:
    """The first container that has something to say; a container that runs on outweighs one that has ended well."""
    apps = [each for each in pod.containers if each.kind == _APP]
    told = [text for each in apps if (text := _said(each))]
    if not told:
        return pod.phase
    if told[0] == "Completed" and any(each.is_ready for each in apps):
        return "NotReady"
    return told[0]


def _said(container: ContainerView) -> str:
    if container.state == "exited":
        return container.reason or f"ExitCode:{container.exit_code}"
    return container.reason if container.state == "waiting" else ""
