"""Puts the container together: what device plugins grant, what the pod says, what the kubelet adds, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from attrs import frozen

from kubelet_sim.container import annotation_rules as annotating
from kubelet_sim.container import security, volumes
from kubelet_sim.container.config import (
    Bind,
    CdiName,
    ContainerConfig,
    ContainerDevice,
    Env,
    Giver,
    LostEntry,
    NotSimulated,
    Origin,
    PodFacts,
)
from kubelet_sim.container.environment import NOTHING_MORE, ClusterData, PodEnvironment
from kubelet_sim.container.expansion import expand, known
from kubelet_sim.container.manifest_parts import ManifestPart
from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.model.pod import Container, Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.profiles import V1_36, Cdi, Profile

T = TypeVar("T")

KUBELET_ROOT = "/var/lib/kubelet"
_PARTS = {
    "envs": "env",
    "mounts": "mount",
    "devices": "device",
    "annotations": "annotation",
    "cdi_devices": "CDI device",
}


@frozen
class KubeletContext:
    """What the kubelet knows beside the pod: where its directory is, which release it is, how often it was here."""

    profile: Profile = V1_36
    kubelet_root: str = KUBELET_ROOT
    attempt: int = 0
    world: ClusterData = NOTHING_MORE


DEFAULT = KubeletContext()


def container_config(pod: Pod, name: str, share: ContainerSpec, around: KubeletContext = DEFAULT) -> ContainerConfig:
    """The container of that name as the kubelet hands it to the runtime.

    Args:
        pod: with the manifest it came from; without one its containers have no settings of their own.
        name: of a container of any kind.
        share: what device plugins grant; empty if none has a say.
        around: the rest of what the kubelet knows.

    Raises:
        UsageError: there is no such container, or the kubelet would refuse what its manifest says.

    Rules: DM-123, DM-127, DM-128, DM-129, DM-130, DM-131, DM-132, DM-134
    Follows: generateContainerConfig, GenerateRunContainerOptions
    """
    container = pod.container(name)
    if container is None:
        names = there_are([each.name for each in pod.all_containers()])
        raise UsageError(f"pod {pod.key} has no container {name!r}; {names}")
    return _Builder(pod, container, share, around).built()


@frozen
class _Builder:
    pod: Pod
    container: Container
    share: ContainerSpec
    around: KubeletContext

    def built(self) -> ContainerConfig:
        manifest = ManifestPart(self.pod.manifest)
        spec = _own_part(manifest.part("spec"), self.container.name)
        facts = _facts(self.pod, manifest.part("spec"))
        environment = PodEnvironment(self.pod, self.container, self.around.world)
        envs = (*self._plugin_envs(), *environment.read(spec))
        values = {each.name: each.value for each in envs}
        mounts, left_out = self._mounts(manifest, spec, facts, values)
        cdi_devices, lost_cdi = self._cdi_devices()
        found, overwritten = annotating.container_annotations(self.share, manifest, spec, self.around.attempt)
        found, no_cdi = annotating.with_cdi_annotation(
            found, cdi_devices, facts, self.container.name, self.around.profile
        )
        return ContainerConfig(
            pod=facts,
            name=self.container.name,
            image=spec.text("image"),
            attempt=self.around.attempt,
            command=tuple(expand(each, known(values)) for each in spec.texts("command")),
            args=tuple(expand(each, known(values)) for each in spec.texts("args")),
            working_dir=spec.text("workingDir"),
            envs=envs,
            mounts=mounts,
            devices=tuple(
                ContainerDevice(each.container_path, each.host_path, each.permissions, self._plugin(resource))
                for each, resource in self._with_resources("devices", self.share.devices)
            ),
            labels=_labels(facts, self.container.name),
            annotations=tuple(found),
            cdi_devices=cdi_devices,
            stdin=spec.flag("stdin"),
            stdin_once=spec.flag("stdinOnce"),
            tty=spec.flag("tty"),
            security=security.security(manifest.part("spec"), spec),
            limits=security.limits(self.pod, self.container),
            lost=(*self._dropped(), *lost_cdi, *overwritten, *no_cdi),
            not_simulated=(
                *environment.not_simulated,
                *left_out,
                *annotating.left_out(manifest),
                *_not_simulated(manifest.part("spec"), spec),
            ),
        )

    def _plugin_envs(self) -> Iterator[Env]:
        for (name, value), resource in self._with_resources("envs", self.share.envs):
            yield Env(name, value, self._plugin(resource, "DM-127"))

    def _mounts(
        self, manifest: ManifestPart, spec: ManifestPart, facts: PodFacts, envs: Mapping[str, str]
    ) -> tuple[tuple[Bind, ...], list[NotSimulated]]:
        """The plugins' first, then the pod's and the kubelet's. Rules: DM-127, DM-130"""
        where = volumes.PodDirectory.of(self.around.kubelet_root, facts)
        of_plugins = [
            Bind(each.container_path, each.host_path, each.read_only, self._plugin(resource, "DM-127"))
            for each, resource in self._with_resources("mounts", self.share.mounts)
        ]
        of_pod, left_out = volumes.pod_mounts(manifest.part("spec"), spec, where, envs)
        last = volumes.termination_mounts(spec, where, self.around.attempt)
        return (*of_plugins, *of_pod, *last), left_out

    def _cdi_devices(self) -> tuple[tuple[CdiName, ...], list[LostEntry]]:
        """None before 1.28, which does not know the field, or with its gate off. Rules: DM-132, DM-171"""
        named = list(self._with_resources("cdi_devices", self.share.cdi_devices))
        if self.around.profile.cdi is Cdi.NEVER:
            return (), [
                LostEntry("CDI device", name, name, self._plugin(resource), self._unread) for name, resource in named
            ]
        return tuple(CdiName(name, self._plugin(resource, "DM-132")) for name, resource in named), []

    @property
    def _unread(self) -> str:
        return f"kubelet {self.around.profile.version} does not know cdi_devices, or its gate is off [DM-171]"

    def _dropped(self) -> Iterator[LostEntry]:
        """What the merge of the plugins' answers kept out. Rules: DM-124"""
        for each in self.share.provenance.dropped:
            same = each.resource == each.kept_resource
            winner = "an earlier entry of the same answer" if same else f"the answer for {each.kept_resource}"
            chance = "" if same else "; which of the two is first is random in a kubelet"
            why = f"{winner} has it already, with {each.kept_value!r}{chance} [DM-124]"
            origin = Origin(Giver.PLUGIN, each.resource, ("DM-124",))
            if not each.kept_resource:
                why, origin = self._unread, self._plugin(each.resource)
            yield LostEntry(_PARTS[each.part], each.key, each.value, origin, why, is_conflict=each.is_conflict)

    def _with_resources(self, part: str, entries: tuple[T, ...]) -> Iterator[tuple[T, str]]:
        resources: tuple[str, ...] = getattr(self.share.provenance, part) or ("",) * len(entries)
        return zip(entries, resources, strict=True)

    def _plugin(self, resource: str, *rules: str) -> Origin:
        return Origin(Giver.PLUGIN, resource, ("DM-126", *rules))


def _own_part(pod_spec: ManifestPart, name: str) -> ManifestPart:
    listed = [*pod_spec.parts("initContainers"), *pod_spec.parts("containers")]
    return next((each for each in listed if each.text("name") == name), ManifestPart({"name": name}))


def _facts(pod: Pod, pod_spec: ManifestPart) -> PodFacts:
    hostname = pod_spec.text("hostname") or pod.name[:63].rstrip("-.")
    return PodFacts(pod.name, pod.namespace, pod.uid, hostname, pod_spec.flag("hostNetwork"))


def _labels(pod: PodFacts, container: str) -> tuple[tuple[str, str], ...]:
    """Those by which the kubelet finds its containers again; a pod's own labels stay with the pod."""
    return (
        ("io.kubernetes.container.name", container),
        ("io.kubernetes.pod.name", pod.name),
        ("io.kubernetes.pod.namespace", pod.namespace),
        ("io.kubernetes.pod.uid", pod.uid),
    )


def _not_simulated(pod_spec: ManifestPart, container: ManifestPart) -> Iterator[NotSimulated]:
    if not ("enableServiceLinks" in pod_spec and not pod_spec.flag("enableServiceLinks")):
        yield NotSimulated("service variables", "an emulated node knows no services")
    if "hostUsers" in pod_spec and not pod_spec.flag("hostUsers"):
        yield NotSimulated(
            "range of user ids", "a kubelet picks one for each pod; 65536 to 131071 stand for it [DM-130]"
        )
    if list(pod_spec.parts("resourceClaims")):
        yield NotSimulated("resource claims", "dynamic resource allocation is not emulated [DM-85]")
    for name in ("seccompProfile", "appArmorProfile", "seLinuxOptions"):
        if any(name in part.part("securityContext") for part in (pod_spec, container)):
            yield NotSimulated(name, "the container gets the defaults of the machine")
