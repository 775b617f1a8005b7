"""What an API server makes of a Pod that somebody creates: the defaults of the API, amounts in their canonical form.

What admission plugins add (service account, tolerations, priority) is left out: there are none of them here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kubelet_sim.core.cpus.cpu_manager import is_guaranteed
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.quantity import Quantity

_SERVERS_OWN = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
)
_OTHERS_STATUS = ("resourceClaimStatuses", "extendedResourceClaimStatus")
"""Parts of the status that are no kubelet's, and may come with a manifest. Rules: DM-85"""
_POD = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
_MODE = {"defaultMode": 0o644}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "fieldRef": {"apiVersion": "v1"},
    "hostPath": {"type": ""},
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "livenessProbe": _PROBE,
    "projected": _MODE,
    "readinessProbe": _PROBE,
    "resourceFieldRef": {"divisor": "0"},
    "secret": _MODE,
    "serviceAccountToken": {"expirationSeconds": 3600},
    "startupProbe": _PROBE,
}
"""What a part of a pod's spec gets if it is there, by its name."""
_AMOUNTS = frozenset({"limits", "overhead", "requests"})
_AMOUNT = frozenset({"divisor", "sizeLimit"})
SIZES = ("cpu", "memory")
"""The resources that can be changed of a pod that runs, and that decide on its quality of service."""


def new_pod(pod: Pod, node_name: str, phase: str = "Pending") -> dict[str, Any]:
    """The Pod as an API server holds it when it is bound to the node; without a spec if it came without a manifest."""
    metadata = {**_completed(pod.manifest.get("metadata") or {}), "name": pod.name, "namespace": pod.namespace}
    metadata = {name: value for name, value in metadata.items() if name not in _SERVERS_OWN}
    given = _completed(pod.manifest.get("status") or {})
    status = {name: given[name] for name in _OTHERS_STATUS if name in given}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "uid": str(pod.uid)}}
    if "spec" in pod.manifest:
        made["spec"] = {**pod_spec(pod), "nodeName": node_name}
    return {**made, "status": {**status, "phase": phase, "qosClass": quality_of_service(pod)}}


def pod_spec(pod: Pod) -> dict[str, Any]:
    """The spec of a pod's manifest with the API's defaults; it shares nothing with the manifest."""
    spec = _with(_POD, _completed(pod.manifest["spec"]))
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [_container(each, has_host_network=bool(spec.get("hostNetwork"))) for each in spec[name]]
    if "volumes" in spec:
        spec["volumes"] = _of_each(spec["volumes"], lambda each: each if len(each) > 1 else each | {"emptyDir": {}})
    if "serviceAccountName" in spec:
        spec["serviceAccount"] = spec["serviceAccountName"]
    return spec


def quality_of_service(pod: Pod) -> str:
    """The pod's class, which decides who is ended first when memory runs out; an amount of 0 is none."""
    if is_guaranteed(pod):
        return "Guaranteed"
    asks = any(
        name in amounts and amounts[name].amount > 0
        for each in pod.all_containers()
        for amounts in (each.limits, each.requests)
        for name in SIZES
    )
    return "Burstable" if asks else "BestEffort"


def _container(container: dict[str, Any], *, has_host_network: bool) -> dict[str, Any]:
    made = _with(_CONTAINER | {"imagePullPolicy": _pull_policy(container.get("image", ""))}, container)
    if limits := made["resources"].get("limits"):
        made["resources"] = {**made["resources"], "requests": limits | made["resources"].get("requests", {})}

    def port(given: dict[str, Any]) -> dict[str, Any]:
        host = {"hostPort": given["containerPort"]} if has_host_network and "containerPort" in given else {}
        return {"protocol": "TCP"} | host | given

    return made | {"ports": _of_each(made["ports"], port)} if "ports" in made else made


def _pull_policy(image: str) -> str:
    """The default of `imagePullPolicy`: `Always` for the tag `latest`, which is that of an image without tag and digest."""
    name, _, digest = image.rsplit("/", 1)[-1].partition("@")
    tag = name.partition(":")[2] or ("" if digest or not image else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _completed(value: Any, key: str = "", *, is_projection: bool = False) -> Any:
    """A copy of a part of a manifest: without nulls, with what the API adds to a part of that name.

    What is projected into a volume has no mode of its own.
    """
    if isinstance(value, list):
        return [_completed(each, is_projection=key == "sources") for each in value]
    if not isinstance(value, Mapping):
        return _canonical(value) if key in _AMOUNT else value
    if key in _AMOUNTS:
        return {name: _canonical(each) for name, each in value.items() if each is not None}
    given = {
        name: _completed(each, "" if is_projection and _DEFAULTS.get(name) is _MODE else name)
        for name, each in value.items()
        if each is not None
    }
    return _with(_DEFAULTS.get(key, {}), given)


def _with(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping with defaults for the entries that it lacks; an empty text lacks."""
    return {**defaults, **{name: each for name, each in given.items() if each != "" or name not in defaults}}


def _of_each(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A list with its mappings changed; nobody has checked before that it is one."""
    if not isinstance(value, list):
        return value
    return [change(each) if isinstance(each, dict) else each for each in value]


def _canonical(value: Any) -> Any:
    try:
        return _canonical_text(str(value))
    except ValueError:  # in a part that nobody has checked
        return value


@lru_cache(maxsize=1000)
def _canonical_text(text: str) -> str:
    """The canonical form of an amount, remembered, as many pods ask for the same. Raises `ValueError` for what is no amount."""
    return Quantity.parse(text.strip(" \t\r\n")).canonical
