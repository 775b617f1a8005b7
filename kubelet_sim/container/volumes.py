"""The mounts that a pod's own volumes come to, and those that the kubelet adds for itself."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from attrs import frozen

from kubelet_sim.container.config import Bind, Giver, MadeByKubelet, NotSimulated, Origin, PodFacts, Propagation
from kubelet_sim.container.expansion import expand
from kubelet_sim.container.manifest_parts import ManifestPart
from kubelet_sim.errors import UsageError

ETC_HOSTS = "/etc/hosts"
TERMINATION_LOG = "/dev/termination-log"
_DIRECTORIES = {
    "emptyDir": "kubernetes.io~empty-dir",
    "configMap": "kubernetes.io~configmap",
    "secret": "kubernetes.io~secret",
    "projected": "kubernetes.io~projected",
    "downwardAPI": "kubernetes.io~downward-api",
}
"""The kinds of volumes that the kubelet makes itself, and where."""
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"[^/\0]+")
"""Of what becomes part of a path."""
_PROPAGATIONS = {
    "": Propagation.PRIVATE,
    "None": Propagation.PRIVATE,
    "HostToContainer": Propagation.HOST_TO_CONTAINER,
    "Bidirectional": Propagation.BIDIRECTIONAL,
}


@frozen
class PodDirectory:
    """The kubelet's directory of one pod."""

    path: str

    @classmethod
    def of(cls, kubelet_root: str, pod: PodFacts) -> PodDirectory:
        """Below `pods/`, by uid. Raises `UsageError` for a uid that is no name of a directory."""
        if not _NAME.fullmatch(pod.uid) or set(pod.uid) == {"."}:
            raise UsageError(f"the uid of pod {pod.namespace}/{pod.name} is {pod.uid!r}, which names no directory")
        return cls(f"{kubelet_root}/pods/{pod.uid}")

    def volume(self, kind: str, name: str) -> str:
        """Where the kubelet makes a volume."""
        return f"{self.path}/volumes/{_DIRECTORIES[kind]}/{name}"

    def sub_path(self, volume: str, container: str, number: int) -> str:
        """Where the kubelet binds the sub-path of a volume mount."""
        return f"{self.path}/volume-subpaths/{volume}/{container}/{number}"

    @property
    def etc_hosts(self) -> str:
        """The pod's hosts file."""
        return f"{self.path}/etc-hosts"

    def termination_log(self, container: str, attempt: int) -> str:
        """A file of a container; the kubelet's eight digits are random, these are not."""
        return f"{self.path}/containers/{container}/{attempt:08x}"


def pod_mounts(
    pod_spec: ManifestPart, container: ManifestPart, where: PodDirectory, envs: Mapping[str, str]
) -> tuple[list[Bind], list[NotSimulated]]:
    """The volume mounts in the order of the manifest, then `/etc/hosts`, unless a volume mount has that path.

    Raises:
        UsageError: for what the kubelet refuses: a volume that is not there, a sub-path that is absolute, leaves the
            volume or needs a variable without value, an unknown propagation.

    Rules: DM-127, DM-129, DM-130
    Follows: makeMounts
    """
    volumes = {volume.text("name"): volume for volume in pod_spec.parts("volumes")}
    mounts: list[Bind] = []
    left_out: list[NotSimulated] = []
    files: dict[str, NotSimulated] = {}
    paths = set()
    for number, mount in enumerate(container.parts("volumeMounts")):
        paths.add(mount.text("mountPath"))
        name = mount.text("name")
        if not mount.text("mountPath"):
            raise UsageError(f"{mount.path}.mountPath: there is none; expected a path in the container")
        if not _LABEL.fullmatch(name):
            raise UsageError(f"{mount.path}.name: {name!r} is no name of a volume; expected letters, digits and -")
        if name not in volumes:
            raise UsageError(f"cannot find volume {name!r} to mount into container {container.text('name')!r}")
        sub_path = _sub_path(mount, envs)
        made = _volume(volumes[name], where)
        if made is None:
            kind = ", ".join(sorted(set(volumes[name].value) - {"name"})) or "nothing"
            left_out.append(NotSimulated(f"mount {mount.text('mountPath')}", f"volume {name} is of kind {kind}"))
            continue
        mounts.append(_bind(mount, made, sub_path, where.sub_path(name, container.text("name"), number)))
        if made.has_files:
            files[name] = NotSimulated(f"files of volume {name}", f"one of kind {made.kind} is an empty directory here")
    left_out.extend(files.values())
    left_out.extend(
        NotSimulated(f"block device {device.text('devicePath')}", "block volumes are not emulated")
        for device in container.parts("volumeDevices")
    )
    if ETC_HOSTS not in paths:
        origin = Origin(Giver.KUBELET, "hosts file", ("DM-127", "DM-130"))
        mounts.append(Bind(ETC_HOSTS, where.etc_hosts, read_only=False, origin=origin, made=MadeByKubelet.FILE))
    return mounts, left_out


def termination_mounts(container: ManifestPart, where: PodDirectory, attempt: int) -> Iterator[Bind]:
    """The file for the termination message, which comes last. Rules: DM-127"""
    path = container.text("terminationMessagePath", TERMINATION_LOG)
    if path:
        host_path = where.termination_log(container.text("name"), attempt)
        origin = Origin(Giver.KUBELET, "termination message", ("DM-127",))
        yield Bind(_absolute(path), host_path, read_only=False, origin=origin, made=MadeByKubelet.FILE)


@frozen
class _Volume:
    path: str
    read_only: bool
    made: MadeByKubelet
    kind: str

    @property
    def has_files(self) -> bool:
        """Whether the kubelet would put files into it, from what it asks the API server for."""
        return self.kind in _DIRECTORIES and self.kind != "emptyDir"


def _volume(volume: ManifestPart, where: PodDirectory) -> _Volume | None:
    """Where a volume lies on the host; `None` for a kind that is not simulated."""
    name = volume.text("name")
    for kind in _DIRECTORIES:
        if kind in volume or volume.value.get(kind, False) is None:  # `emptyDir:` alone is null, and still a kind
            return _Volume(where.volume(kind, name), kind != "emptyDir", MadeByKubelet.DIRECTORY, kind)
    if "hostPath" in volume:
        path = volume.part("hostPath").text("path")
        if not path:
            raise UsageError(f"{volume.path}.hostPath.path: there is none; expected a path on the host")
        return _Volume(path, read_only=False, made=MadeByKubelet.NOTHING, kind="hostPath")
    return None


def _bind(mount: ManifestPart, volume: _Volume, sub_path: str, sub_path_at: str) -> Bind:
    propagation = mount.text("mountPropagation")
    if propagation not in _PROPAGATIONS:
        raise UsageError(
            f"{mount.path}.mountPropagation: found {propagation!r}; expected None, HostToContainer or Bidirectional"
        )
    return Bind(
        container_path=_absolute(mount.text("mountPath")),
        host_path=sub_path_at if sub_path else volume.path,
        read_only=mount.flag("readOnly") or volume.read_only,
        origin=Origin(Giver.POD, f"volume {mount.text('name')} ({volume.kind})", ("DM-127",)),
        propagation=_PROPAGATIONS[propagation],
        recursive_read_only=mount.text("recursiveReadOnly") in {"Enabled", "IfPossible"},
        made=MadeByKubelet.DIRECTORY if sub_path else volume.made,
        volume_path=posixpath.join(volume.path, sub_path) if sub_path else "",
    )


def _sub_path(mount: ManifestPart, envs: Mapping[str, str]) -> str:
    path = mount.text("subPath")
    expression = mount.text("subPathExpr")
    if expression:
        missing: set[str] = set()

        def value_of(name: str) -> str:
            if not envs.get(name):
                missing.add(name)
            return envs.get(name, "")

        path = expand(expression, value_of)
        if missing:
            raise UsageError(f"{mount.path}.subPathExpr: missing value for {', '.join(sorted(missing))}")
    if path.startswith("/"):
        raise UsageError(f"{mount.path}: a sub-path must not be absolute: {path!r}")
    if ".." in path.split("/"):
        raise UsageError(f"{mount.path}: a sub-path must not lead out of its volume: {path!r}")
    return path


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"
