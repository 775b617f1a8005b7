"""The annotations of a container: the plugins' first, the kubelet's own over them, and the CDI annotation of 1.28–1.31."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from kubelet_sim.container.cdi.annotations import annotation_key, annotation_value
from kubelet_sim.container.cdi.names import BadName
from kubelet_sim.container.config import Annotation, CdiName, Giver, LostEntry, NotSimulated, Origin, PodFacts
from kubelet_sim.container.manifest_parts import ManifestPart
from kubelet_sim.container.volumes import TERMINATION_LOG
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.profiles import Cdi, Profile

_CONTAINER = "io.kubernetes.container"
_POD = "io.kubernetes.pod"
CDI_PLUGIN = "devicemanager"
"""The first part of the name in the CDI annotation's key. Rules: DM-133"""
_DEFAULT_GRACE_S = 30


def container_annotations(
    share: ContainerSpec, pod_manifest: ManifestPart, container: ManifestPart, attempt: int
) -> tuple[list[Annotation], list[LostEntry]]:
    """The plugins' annotations with the kubelet's own over them, silently; and what was overwritten.

    Annotations of the pod are not copied to its containers.

    Rules: DM-131
    Follows: newContainerAnnotations
    """
    found = {
        key: Annotation(key, value, Origin(Giver.PLUGIN, resource, ("DM-126", "DM-131")))
        for (key, value), resource in zip(share.annotations, _resources(share), strict=True)
    }
    lost = []
    for key, value, note in _of_kubelet(pod_manifest, container, attempt):
        if key in found:
            lost.append(_overwritten(found[key], value))
        found[key] = Annotation(key, value, Origin(Giver.KUBELET, "", ("DM-131",), note))
    return list(found.values()), lost


def with_cdi_annotation(
    annotations: list[Annotation], names: Iterable[CdiName], pod: PodFacts, container: str, profile: Profile
) -> tuple[list[Annotation], list[LostEntry]]:
    """The annotations with the kubelet's CDI annotation, if its release sends one and there are CDI devices.

    Where the key would be too long, or a name is malformed, there is none at all and only an error in the kubelet's log.

    Rules: DM-132, DM-133
    Follows: getCDIAnnotations
    """
    devices = sorted(each.name for each in names)
    if profile.cdi is not Cdi.FIELD_AND_ANNOTATION or not devices:
        return annotations, []
    origin = Origin(Giver.KUBELET, "CDI devices", ("DM-133",))
    try:
        key = annotation_key(CDI_PLUGIN, f"{pod.uid}-{container}")
        value = annotation_value(devices)
    except BadName as error:
        why = f"Failed to create CDI annotations: {error}; the CRI field is sent all the same"
        return annotations, [LostEntry("annotation", f"cdi.k8s.io/{CDI_PLUGIN}_…", ",".join(devices), origin, why)]
    if any(each.key == key for each in annotations):
        return annotations, [
            LostEntry("annotation", key, value, origin, "a plugin's annotation has this key already [DM-133]")
        ]
    return [*annotations, Annotation(key, value, origin)], []


def left_out(pod_manifest: ManifestPart) -> Iterable[NotSimulated]:
    """What is said of a pod's annotations: they stay with the pod. Rules: DM-131"""
    for key in pod_manifest.part("metadata").part("annotations").value:
        if str(key).startswith("cdi.k8s.io/"):
            yield NotSimulated(f"pod annotation {key}", "the kubelet copies no pod annotation to a container")


def _resources(share: ContainerSpec) -> Iterable[str]:
    return share.provenance.annotations or ("",) * len(share.annotations)


def _overwritten(theirs: Annotation, value: str) -> LostEntry:
    return LostEntry(
        "annotation",
        theirs.key,
        theirs.value,
        theirs.origin,
        "the kubelet's own annotation overwrites it silently [DM-131]",
        is_conflict=theirs.value != value,
    )


def _of_kubelet(pod_manifest: ManifestPart, container: ManifestPart, attempt: int) -> Iterable[tuple[str, str, str]]:
    yield f"{_CONTAINER}.hash", _hash(container), "stands for the kubelet's own hash, which has another value"
    yield f"{_CONTAINER}.restartCount", str(attempt), ""
    yield f"{_CONTAINER}.terminationMessagePath", container.text("terminationMessagePath", TERMINATION_LOG), ""
    yield f"{_CONTAINER}.terminationMessagePolicy", container.text("terminationMessagePolicy", "File"), ""
    deletion = pod_manifest.part("metadata").number("deletionGracePeriodSeconds")
    if deletion is not None:
        yield f"{_POD}.deletionGracePeriod", str(deletion), ""
    grace = pod_manifest.part("spec").number("terminationGracePeriodSeconds")
    yield f"{_POD}.terminationGracePeriod", str(_DEFAULT_GRACE_S if grace is None else grace), ""
    if "preStop" in container.part("lifecycle"):
        yield f"{_CONTAINER}.preStopHandler", _json(container.part("lifecycle").value["preStop"]), ""
    ports = list(container.parts("ports"))
    if ports:
        yield f"{_CONTAINER}.ports", _json([{"protocol": "TCP", **port.value} for port in ports]), ""


def _hash(container: ManifestPart) -> str:
    """Eight hexadecimal digits of the name and the image, as the kubelet's hash is about them."""
    text = _json({"image": container.text("image"), "name": container.text("name")})
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
