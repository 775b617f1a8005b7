"""Values in the words of a story that is told; what is long is cut."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.model.device import Device
from kubelet_sim.model.pod import Pod

_LONGEST = 200
_NAMED = 6


def short(value: Any) -> str:
    """Any value as JSON, up to 200 characters of it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def about(given: Mapping[str, Any]) -> str:
    """The text that what is looked for has to hold, if there is one."""
    return f" about {given['about']}" if given.get("about") else ""


def devices_text(devices: Sequence[Device]) -> str:
    """How many devices there are, and the first few with their health and NUMA nodes."""
    if not devices:
        return "no devices"
    shown = [_device(each) for each in devices[:_NAMED]]
    further = f" and {len(devices) - _NAMED} more" if len(devices) > _NAMED else ""
    return f"{len(devices)} device{'s' * (len(devices) != 1)}: {', '.join(shown)}{further}"


def _device(device: Device) -> str:
    notes = [] if device.is_healthy else [device.health or "of no health"]
    notes += [f"NUMA {','.join(map(str, device.numa_nodes))}"] if device.numa_nodes else []
    return f"{device.id or '(no id)'}{f' ({chr(44).join(notes)})' if notes else ''}"


def pod_text(pod: Pod) -> str:
    """A pod by its name, with what each container wants."""
    wanted = [
        f"{each.name}{'' if each.kind.value == 'app' else f' ({each.kind.value})'} wants {_limits(each.limits)}"
        for each in pod.all_containers()
    ]
    return f"Pod {pod.name} comes ({'; '.join(wanted)})"


def _limits(limits: Mapping[str, object]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in limits.items()) or "nothing"
