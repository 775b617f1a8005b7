"""What a pod's manifest says of how its simulated containers behave: when they end, how long they take to stop. Pure.

A container here runs no program, so a manifest may say what the program would do, in annotations of ours:

- `exit.kubelet-sim/NAME`: `CODE`, `CODE after SECONDS`, or `never`. Without it an init container ends at once with 0,
  and all others run until they are stopped.
- `stop.kubelet-sim/NAME`: how many seconds a container takes to stop when it is asked to. Without it, none.

And an image of a registry below the top-level domain `invalid`, which there never is (RFC 2606), cannot be pulled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.model.ids import ContainerName
from kubelet_sim.model.pod import Container, ContainerKind, Pod

EXIT, STOP = "exit.kubelet-sim/", "stop.kubelet-sim/"
DEFAULT_GRACE_S = 30.0
"""How long the containers of a pod may take to stop, unless its manifest says it."""
_SECONDS = r"(?P<seconds>[0-9]{1,7}(?:\.[0-9]{1,6})?)s?"
_EXIT = re.compile(rf"(?P<code>[0-9]{{1,3}})(?:\s+after\s+{_SECONDS})?")
_STOP = re.compile(_SECONDS)
_LARGEST_CODE = 255


@frozen
class Ending:
    """How a container ends by itself."""

    code: int
    after_s: float = 0.0


def ending(pod: Pod, container: Container) -> Ending | None:
    """How a container ends once it runs; `None`: not by itself. Raises `UsageError` for a value that says nothing."""
    key = EXIT + container.name
    value = _annotations(pod).get(key)
    if value is None:
        return Ending(0) if container.kind is ContainerKind.INIT else None
    if value == "never":
        return None
    match = _EXIT.fullmatch(value)
    if match is None or int(match["code"]) > _LARGEST_CODE:
        raise UsageError(f"pod {pod.key}: {key}: {value!r} is none of CODE, CODE after SECONDS, never")
    return Ending(int(match["code"]), float(match["seconds"] or 0))


def stopping_s(pod: Pod, container: Container) -> float:
    """How long a container takes to stop when it is asked to. Raises `UsageError` for a value that is no time."""
    key = STOP + container.name
    value = _annotations(pod).get(key)
    if value is None:
        return 0.0
    match = _STOP.fullmatch(value)
    if match is None:
        raise UsageError(f"pod {pod.key}: {key}: {value!r} is no number of seconds")
    return float(match["seconds"])


def grace_s(pod: Pod) -> float:
    """How long the containers of a pod may take to stop, as its manifest has it."""
    value = _spec(pod).get("terminationGracePeriodSeconds")
    return float(value) if isinstance(value, int) and value >= 0 else DEFAULT_GRACE_S


def check(pod: Pod) -> None:
    """Read all of it. Raises `UsageError` for what says nothing, and for a container that the pod does not have."""
    annotations = _annotations(pod)
    if not annotations:
        return
    names = {container.name for container in pod.all_containers()}
    for key in annotations:
        for prefix in (EXIT, STOP):
            if key.startswith(prefix) and ContainerName(key.removeprefix(prefix)) not in names:
                raise UsageError(
                    f"pod {pod.key}: {key}: the pod has no such container; it has: {', '.join(sorted(names))}"
                )
    for container in pod.all_containers():
        ending(pod, container)
        stopping_s(pod, container)


def image_of(pod: Pod, container: Container) -> str:
    """The image that the manifest names; empty without one."""
    spec = _spec(pod)
    listed = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return next((str(each.get("image") or "") for each in listed if each.get("name") == container.name), "")


def can_be_pulled(image: str) -> bool:
    """Whether there may be such a registry."""
    host = image.split("/", 1)[0] if "/" in image else ""
    name = host.rsplit(":", 1)[0]
    return not (name == "invalid" or name.endswith(".invalid"))


def _annotations(pod: Pod) -> Mapping[str, str]:
    metadata = pod.manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return {str(key): str(value) for key, value in annotations.items()} if isinstance(annotations, Mapping) else {}


def _spec(pod: Pod) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = pod.manifest.get("spec") or {}
    return spec
