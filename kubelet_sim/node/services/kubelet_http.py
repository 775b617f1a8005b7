"""What a kubelet process shows over HTTP: its metrics and its health. A `KubeletPart` of the process.

A kubelet has these on its own port, with TLS and authentication, or on its read-only port, without; here they are as on the
latter. Nothing can be changed here.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
from kubelet_sim.node.services.health_checks import Answer, Healthz, always_well, device_plugin, sync_loop
from kubelet_sim.node.services.http_address import HttpAddress
from kubelet_sim.node.services.http_endpoint import NOT_FOUND, HttpEndpoint, Request, Response
from kubelet_sim.node.services.metrics import exposition, metrics_of

_HEALTHZ = "/healthz"


def kubelet_http(kubelet: KubeletProcess, address: HttpAddress, busy_for_s: Callable[[], float]) -> HttpEndpoint:
    """The endpoint of one kubelet process; its counters begin at 0 with it.

    Args:
        kubelet: the process.
        address: where to listen.
        busy_for_s: since when the main loop is without progress.

    Rules: DM-12, DM-74, DM-161
    """
    healthz = kubelet_healthz(kubelet, busy_for_s)
    registry = metrics_of(kubelet).registry()

    def answer(request: Request) -> Response:
        if request.path == "/metrics":
            body, content_type = exposition(registry, request.accept)
            return Response(body, content_type=content_type)
        if request.path.rstrip("/") == _HEALTHZ:
            is_verbose, excluded = "verbose" in request.query, request.query.get("exclude", ())
            return _response(healthz.all(is_verbose=is_verbose, excluded=excluded))
        if request.path.startswith(f"{_HEALTHZ}/"):
            one = healthz.one(request.path.removeprefix(f"{_HEALTHZ}/"))
            return _response(one) if one is not None else NOT_FOUND
        return NOT_FOUND

    return HttpEndpoint(address, answer)


def kubelet_healthz(kubelet: KubeletProcess, busy_for_s: Callable[[], float]) -> Healthz:
    """The checks that the kubelet has. Rules: DM-12, DM-74, DM-175"""
    checks = {"ping": always_well, "log": always_well, "syncloop": sync_loop(busy_for_s)}
    if kubelet.profile.has_device_plugin_check:
        checks["device-plugin"] = device_plugin(lambda: kubelet.registration_failure)
    return Healthz(checks)


def _response(answer: Answer) -> Response:
    return Response(answer.text.encode(), HTTPStatus(answer.status))
