"""The node's own steps on a node that runs containers: pods live by themselves there, and the kubelet as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from kubelet_sim.errors import TransportError, UsageError
from kubelet_sim.manifests import read_pods
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.life import AS_USUAL, Comeback, Deletion
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.clock import settle
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletGone
from kubelet_sim.scenario.play.stage import Stage
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin

LONGEST_STOP_S = 3600.0
"""How much of the node's time a deleted pod may take, whatever it says."""


class WholeNode(Stage):
    """One story on a node that runs containers."""

    # --- the kubelet

    async def _do_restart(self, **how: Any) -> None:  # type: ignore[override]
        await self.node.restart(_comeback(how))
        self._observed.incarnation += 1
        await self._caught_up()

    async def _do_kill(self, plugin: ScriptedPlugin | None = None) -> None:
        if plugin is not None:
            await self._do_stop(plugin)
            return
        await self.node.kill()
        await self._caught_up()

    async def _do_start(self, plugin: ScriptedPlugin | None = None, **how: Any) -> Any:  # type: ignore[override]
        if plugin is not None:
            await plugin.serve()
            return {"started": True}
        try:
            await self.node.start_kubelet(_comeback(how))
        except TransportError:
            return {"started": False}
        self._observed.incarnation += 1
        await self._caught_up()
        return {"started": True}

    async def _do_crash(self) -> None:
        await self.node.crash()
        await self._caught_up()

    async def _do_start_kubelet(self, **how: Any) -> None:
        await self.node.start_kubelet(_comeback(how))
        self._observed.incarnation += 1
        await self._caught_up()

    async def _do_reboot(self, **how: Any) -> None:
        await self.node.reboot(_comeback(how))
        self._observed.incarnation += 1
        await self._caught_up()

    # --- pods

    async def _do_admit(self, pod: Pod) -> Any:
        self._pods[pod.uid] = pod
        verdict = await self.node.admit(pod)
        await self._caught_up()
        if isinstance(verdict, Rejected):
            return {"admit": False, "reason": verdict.reason, "message": verdict.message}
        return {"admit": True, "reason": "", "message": ""}

    async def _do_apply(self, pods: Sequence[Mapping[str, Any]] = (), file: str | None = None) -> Any:
        manifests = [dict(each) for each in pods]
        if file is not None:
            manifests += [dict(pod.manifest) for pod in read_pods(file, "the file")]
        if not manifests:
            raise UsageError("there is nothing to apply: give pods, or a file")
        applied = await self.node.apply_manifests(manifests)
        await self._caught_up()
        return {"pods": {each.name: each.word for each in applied}}

    async def _do_delete_pod(
        self,
        pod: str,
        namespace: str = "default",
        grace: float | None = None,
        *,
        force: bool = False,
        wait: bool = True,
    ) -> None:
        how = Deletion(grace_s=grace, is_forced=force, waits=wait)
        deleting = asyncio.ensure_future(self.node.remove(pod, namespace, how))
        passed_s = 0.0
        try:
            while True:
                await settle()
                await asyncio.wait({deleting}, timeout=0.01)
                if deleting.done() or passed_s >= LONGEST_STOP_S:
                    break
                await self.node.advance(1.0)
                passed_s += 1.0
        finally:
            if not deleting.done():
                deleting.cancel()
                await asyncio.gather(deleting, return_exceptions=True)
        try:
            await deleting
        except (KubeletGone, asyncio.CancelledError) as error:
            raise TransportError(f"pod {pod} was not gone: {error}") from error
        await self._caught_up()

    async def _do_exit(self, pod: str, container: str | None = None, namespace: str = "default", code: int = 0) -> Any:
        name = self.node.exit_container(pod, container, namespace, code=code)
        await self._caught_up()
        return {"container": name}


def _comeback(how: Mapping[str, Any]) -> Comeback:
    if not how:
        return AS_USUAL
    return Comeback(
        socket_after_s=how.get("socket_after", 0.0),
        keeps_checkpoint=not how.get("lose_checkpoint", False),
        keeps_directory=not how.get("lose_directory", False),
        same_inode=how.get("same_inode", False),
        runtime_after_s=how.get("runtime_after", 0.0),
    )
