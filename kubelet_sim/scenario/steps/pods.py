"""Steps with pods: they come, are admitted, get their containers, and go."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.container.annotation_rules import CDI_PLUGIN
from kubelet_sim.container.cdi.annotations import annotation_key, annotation_value
from kubelet_sim.container.cdi.names import BadName
from kubelet_sim.errors import PreparationFailed, TransportError, UsageError
from kubelet_sim.manifests import ManifestError, pod_from_mapping, read_pods
from kubelet_sim.model.admission import Admitted, Rejected
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.life import Deletion
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.node.clock import settle
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletGone
from kubelet_sim.profiles import Cdi
from kubelet_sim.scenario.play.stage import StoryStage
from kubelet_sim.scenario.steps.phrases import pod_text
from kubelet_sim.scenario.steps.step_kind import Arguments, ReadSoFar, StepNodes, step
from kubelet_sim.scenario.story import values

LONGEST_STOP_S = 3600.0
"""How much of the node's time a deleted pod may take, whatever it says."""
POD = {"pod": values.text}
NAMESPACE = {"namespace": values.text}
CONTAINER = {"pod": values.text, "container": values.text}
DELETES = "delete-pod deletes a pod"


def _read(manifest: Mapping[str, Any], *, api_checks: bool) -> Pod:
    try:
        return pod_from_mapping(manifest, api_checks=api_checks)
    except ManifestError as error:  # without the number of a document, which a story's pod has not
        text = f"{error.path}: {error.problem}" if error.path else error.problem
        raise values.Misplaced(f"{text}. {error.expected}" if error.expected else text, error.way) from error


@values.kind(values.mapping.schema)
def _pod(value: object) -> Pod:
    return _read(values.mapping(value), api_checks=False)


@values.kind(values.mapping.schema)
def _manifest(value: object) -> Mapping[str, Any]:
    _read(found := values.mapping(value), api_checks=True)
    return found


@step(lambda given: pod_text(given["pod"]), {"pod": _pod}, comes="`admit`, `reason`, `message`")
async def admit(stage: StoryStage, pod: Pod) -> Any:
    """A pod comes, and is admitted or not."""
    stage.pods[pod.uid] = pod
    stage.node.pods.table.drop(pod.uid)
    verdict = await stage.node.kubelet.admit(pod)
    if isinstance(verdict, Rejected):
        stage.node.pods.table.recall(pod, "Failed")
    return _verdict(verdict)


@admit.on_whole_node
async def _admit_whole(stage: StoryStage, pod: Pod) -> Any:
    stage.pods[pod.uid] = pod
    verdict = await stage.node.admit(pod)
    await stage.plugins.caught_up()
    return _verdict(verdict)


def _verdict(verdict: Admitted | Rejected) -> dict[str, Any]:
    if isinstance(verdict, Rejected):
        return {"admit": False, "reason": verdict.reason, "message": verdict.message}
    return {"admit": True, "reason": "", "message": ""}


@step("Pod {pod} is no longer active", POD, nodes=StepNodes.SIMPLE, instead=DELETES)
async def remove(stage: StoryStage, pod: str) -> None:
    """A pod is no longer active; nothing is freed yet."""
    stage.node.pods.table.drop(PodUID(pod))
    await stage.node.kubelet.deactivate(PodUID(pod))


@step("Pod {pod} is no longer active, if it was", POD, nodes=StepNodes.SIMPLE, instead=DELETES)
async def remove_if_active(stage: StoryStage, pod: str) -> None:
    """A pod is no longer active, if it was; nothing is freed yet."""
    if PodUID(pod) in stage.node.kubelet.state.active_pods:
        await stage.node.kubelet.deactivate(PodUID(pod))


@step("Pod {pod} ends by itself", POD, nodes=StepNodes.SIMPLE, instead="exit ends a container of a pod")
async def finish(stage: StoryStage, pod: str) -> None:
    """A pod ends by itself, and stays known."""
    stage.node.pods.table.recall(stage.pod(pod), "Succeeded")
    await stage.node.kubelet.deactivate(PodUID(pod))


@step("Devices of pods that are gone are freed")
async def reclaim(stage: StoryStage) -> None:
    """Devices of pods that are gone are freed."""
    await stage.node.kubelet.reclaim()


@step(
    "Container {container} of {pod} is prepared",
    CONTAINER,
    comes="`options`, or `error`",
    nodes=StepNodes.SIMPLE,
    instead="container-spec tells what a container got",
)
async def container(stage: StoryStage, pod: str, container: str) -> Any:
    """A container is about to be created."""
    known, kubelet = stage.pod(pod), stage.node.kubelet
    wanted = known.container(container)
    if wanted is None:
        raise TransportError(f"pod {pod} has no container {container}")
    try:
        spec = await kubelet.prepare(known, wanted)
    except PreparationFailed as failure:
        return {"error": failure.text}
    told = {"options": None if spec is None else options(spec)}
    has_annotation = kubelet.profile.cdi is Cdi.FIELD_AND_ANNOTATION
    return with_cdi_annotation(told, known, wanted.name) if has_annotation else told


def options(spec: ContainerSpec) -> dict[str, Any]:
    """A container spec with each list sorted."""
    return {
        "envs": sorted([name, value] for name, value in spec.envs),
        "mounts": sorted([each.container_path, each.host_path, each.read_only] for each in spec.mounts),
        "devices": sorted([each.container_path, each.host_path, each.permissions] for each in spec.devices),
        "annotations": sorted([name, value] for name, value in spec.annotations),
        "cdi": sorted(spec.cdi_devices),
    }


def with_cdi_annotation(told: Mapping[str, Any], pod: Pod, name: ContainerName) -> dict[str, Any]:
    """Such options as the device manager of 1.28 to 1.31 answers them: CDI names are in an annotation, too.

    Without names, or with one that is malformed, there is no annotation.

    Rules: DM-133
    """
    given = told.get("options")
    if not given or not given["cdi"]:
        return dict(told)
    try:
        added = [annotation_key(CDI_PLUGIN, f"{pod.uid}-{name}"), annotation_value(given["cdi"])]
    except BadName:
        return dict(told)
    return {"options": {**given, "annotations": sorted([*given["annotations"], added])}}


# --- on a node that runs containers


def _check_pods(so_far: ReadSoFar, arguments: dict[str, Any]) -> None:
    """Puts the text of a file in the place of its name."""
    if "file" in arguments:
        name = arguments["file"]
        arguments["file"] = so_far.folder.read(name)[1]
        read_pods(arguments["file"], name)
    elif not arguments.get("pods"):
        raise UsageError("there is nothing to apply: give pods, or a file")


def _applied(given: Arguments) -> str:
    names = [str(each.get("metadata", {}).get("name", "?")) for each in given.get("pods", ())]
    return f"Pods come: {', '.join(names + (['those of a file'] if 'file' in given else []))}"


@step(
    _applied,
    takes={"pods": values.list_of(_manifest), "file": values.text},
    comes="`pods`: `created` or `unchanged` by name",
    nodes=StepNodes.WHOLE,
    check=_check_pods,
)
async def apply(stage: StoryStage, pods: Sequence[Mapping[str, Any]] = (), file: str | None = None) -> Any:
    """Pods come, from manifests that stand here or in a file; nobody waits for their verdicts."""
    manifests = [dict(each) for each in pods]
    if file is not None:
        manifests += [dict(pod.manifest) for pod in read_pods(file, "the file")]
    if not manifests:
        raise UsageError("there is nothing to apply: give pods, or a file")
    applied = await stage.node.apply_manifests(manifests)
    await stage.plugins.caught_up()
    return {"pods": {each.name: each.word for each in applied}}


@step(
    "Pod {pod} is deleted",
    POD,
    takes={**NAMESPACE, "grace": values.seconds, "force": values.truth, "wait": values.truth},
    nodes=StepNodes.WHOLE,
)
async def delete_pod(
    stage: StoryStage, pod: str, namespace: str = "default", grace: float | None = None, **more: bool
) -> None:
    """A pod is deleted; as much time passes as its containers take to stop, unless `wait: false`."""
    how = Deletion(grace_s=grace, is_forced=more.get("force", False), waits=more.get("wait", True))
    deleting = asyncio.ensure_future(stage.node.remove(pod, namespace, how))
    passed_s = 0.0
    try:
        while True:
            await settle()
            await asyncio.wait({deleting}, timeout=0.01)
            if deleting.done() or passed_s >= LONGEST_STOP_S:
                break
            await stage.node.advance(1.0)
            passed_s += 1.0
    finally:
        if not deleting.done():
            deleting.cancel()
            await asyncio.gather(deleting, return_exceptions=True)
    try:
        await deleting
    except (KubeletGone, asyncio.CancelledError) as error:
        raise TransportError(f"pod {pod} was not gone: {error}") from error
    await stage.plugins.caught_up()


@step(
    lambda given: f"A container of pod {given['pod']} ends with exit code {given.get('code', 0)}",
    POD,
    takes={**NAMESPACE, "container": values.text, "code": values.integer},
    comes="`container`",
    nodes=StepNodes.WHOLE,
)
async def exit_(
    stage: StoryStage, pod: str, container: str | None = None, namespace: str = "default", code: int = 0
) -> Any:
    """A container ends, as its program might."""
    name = stage.node.exit_container(pod, container, namespace, code=code)
    await stage.plugins.caught_up()
    return {"container": name}
