"""What a release makes of init containers with `restartPolicy: Always`."""

from __future__ import annotations

from attrs import evolve

from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.profiles import Profile, Sidecars


def as_known(profile: Profile, pod: Pod) -> Pod:
    """The pod as a kubelet of that release sees it: where the field does not exist, a sidecar is an ordinary init container.

    Rules: DM-171
    """
    if profile.sidecars is not Sidecars.UNKNOWN:
        return pod
    if not any(container.kind is ContainerKind.SIDECAR for container in pod.init_containers):
        return pod
    return evolve(pod, init_containers=tuple(map(_ordinary, pod.init_containers)))


def kind_for_reuse(profile: Profile, container: Container) -> ContainerKind:
    """What a container counts as when it has got its devices: whether they are handed on.

    Rules: DM-86, DM-171, DM-172
    """
    if container.kind is ContainerKind.SIDECAR and profile.sidecars is Sidecars.GIVE_AWAY:
        return ContainerKind.INIT
    return container.kind


def _ordinary(container: Container) -> Container:
    return evolve(container, kind=ContainerKind.INIT) if container.kind is ContainerKind.SIDECAR else container
