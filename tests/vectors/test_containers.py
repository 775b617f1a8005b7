"""The recorded merges as containers: what the real device manager came to is what the runtime gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubelet_sim.container import container_config, cri
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Mount
from tests.unit.container import cri_messages

VECTOR_FILES = {"story": "scenarios.json"}


def _recorded(story: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Pod, container and merged options, wherever a story of a real device manager has some."""
    pods = {step["pod"]["metadata"]["name"]: step["pod"] for step in story["steps"] if step["do"] == "admit"}
    for step in story["steps"]:
        options = (step.get("expect") or {}).get("options")
        if step["do"] == "container" and options:
            yield pods[step["pod"]], step["container"], options


def test_what_was_merged_is_what_the_runtime_gets(story: dict[str, Any]) -> None:
    """In the lists of the CRI message, before what pod and kubelet add. Rules: DM-123, DM-124, DM-126, DM-127, DM-132"""
    for manifest, container, options in _recorded(story):
        _check(manifest, container, options)


def _check(manifest: dict[str, Any], container: str, options: dict[str, Any]) -> None:
    share = ContainerSpec(
        tuple((name, value) for name, value in options["envs"]),
        tuple(Mount(*each) for each in options["mounts"]),
        tuple(DeviceNode(*each) for each in options["devices"]),
        tuple((key, value) for key, value in options["annotations"]),
        tuple(options["cdi"]),
    )
    message = cri_messages.read(cri(container_config(pod_from_mapping(manifest, api_checks=False), container, share)))
    assert [[each.key, each.value] for each in message.envs][: len(options["envs"])] == options["envs"]
    mounts = [[each.container_path, each.host_path, each.readonly] for each in message.mounts]
    assert mounts[: len(options["mounts"])] == options["mounts"]
    assert [[each.container_path, each.host_path, each.permissions] for each in message.devices] == options["devices"]
    assert {key: message.annotations[key] for key, _ in options["annotations"]} == dict(options["annotations"])
    assert [each.name for each in message.CDI_devices] == options["cdi"]
