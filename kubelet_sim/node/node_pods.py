"""What a user can do to the pods of a node: put them on it, end their containers, delete them, look at what they got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.errors import UsageError
from kubelet_sim.model.admission import Admission
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.ids import PodUID
from kubelet_sim.model.life import GRACEFUL, Deletion
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.node.node_views import NodeViews


class NodePods(NodeViews):
    """Of a node, which knows how to begin and to end."""

    async def admit(self, pod: Pod) -> Admission:
        """Put a pod on the node and return the verdict; its containers start if the node runs containers.

        Raises:
            UsageError: there is a pod of that name or uid.
            KubeletGone: the kubelet process ended before the verdict.
        """
        return await self._main_loop.admit(pod)

    async def apply(self, pods: Sequence[Pod]) -> None:
        """Put pods on the node, all or none, and return at once: their verdicts come one after the other.

        Raises:
            UsageError: a name or uid is taken; none of them was added.
        """
        await self._main_loop.apply(pods)

    async def apply_manifests(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        """`apply` for manifests; one that is the same as that of the pod of its name is passed over.

        Raises:
            UsageError: one is no pod, or another pod of its name is there; none was added.
        """
        return await self._main_loop.apply_manifests(manifests)

    async def remove(self, name: str, namespace: str = "default", how: Deletion = GRACEFUL) -> None:
        """Delete a pod: its containers stop, then it is gone; its devices stay in use until somebody asks for some.

        Waits for an admission that is under way, as the kubelet's main loop does. Without a kubelet the pod is gone at
        once, and its containers are stopped when a kubelet starts.

        Raises:
            UsageError: there is no such pod.
            KubeletGone: the kubelet process ended before the pod; the next one goes on with it.

        Rules: DM-74, DM-115, DM-116, DM-118
        """
        await self._main_loop.remove(name, namespace, how)

    def exit_container(
        self, name: str, container: str | None = None, namespace: str = "default", *, code: int = 0
    ) -> str:
        """End a container that runs, as its program might; the kubelet does what the pod's restart policy says.

        Args:
            name: the pod's.
            container: may be left out for a pod with one app container.
            namespace: the pod's.
            code: what it ends with, 0 to 255.

        Returns:
            The container's name.

        Raises:
            UsageError: there is no such pod or container, it does not run, or no program ends with that code.
        """
        return self._main_loop.exit_container(name, container, namespace, code)

    async def prepare(self, name: str, container: str, namespace: str = "default") -> ContainerSpec | None:
        """What the kubelet would hand to the runtime if it created the container now; `None`: nothing from plugins.

        Raises:
            UsageError: there is no such pod or container.
            PreparationFailed: the container cannot be created for now.
        """
        pod = self._main_loop.pods.find(name, namespace).pod
        return await self.kubelet.prepare(pod, pod.named_container(container))

    def container_spec(self, name: str, container: str | None = None, namespace: str = "default") -> ContainerSpec:
        """What a container got when it was created, the last time; empty if no plugin had a say.

        Args:
            name: the pod's.
            container: may be left out for a pod with one container.
            namespace: the pod's.

        Raises:
            UsageError: there is no such pod or container, or it has not been created.
        """
        known = self._main_loop.pods.find(name, namespace)
        wanted = known.pod.named_container(container)
        held = self._runtime.latest(known.pod.uid, wanted.name)
        if held is None:
            waiting = known.waiting.get(wanted.name)
            why = known.message or (waiting.message if waiting else "") or "it waits for its turn"
            raise UsageError(f"container {wanted.name} of pod {known.pod.key} has not been created: {why}")
        return held.spec or ContainerSpec()

    def recall(self, pod: Pod, phase: str) -> None:
        """Let a pod be known that ended before, as when the API server lists it; nothing is done for it. Rules: DM-73"""
        self._main_loop.pods.recall(pod, phase)

    def forget(self, uid: PodUID) -> None:
        """Let a recalled pod be gone from its source. Rules: DM-116"""
        self._main_loop.pods.drop(uid)
