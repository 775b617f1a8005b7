"""What the node's own steps of a story do, and what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubelet_sim.core.devices.pod_device_health import allocated_resources_status
from kubelet_sim.core.topology.masks import nodes_of
from kubelet_sim.errors import RpcFailed, TransportError
from kubelet_sim.model.admission import Rejected
from kubelet_sim.model.ids import ContainerName, PodUID
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.pod_resources import ApiVersion
from kubelet_sim.node.bell import Bell
from kubelet_sim.node.faults import ActiveFault
from kubelet_sim.node.node import Node
from kubelet_sim.node.services.registry_plan import PERIOD_S as RECONCILER_S
from kubelet_sim.profiles import Cdi
from kubelet_sim.scenario.play import looks
from kubelet_sim.scenario.play.backstage import Backstage
from kubelet_sim.scenario.play.catch_up import CatchingUp
from kubelet_sim.scenario.play.observed_calls import Observed
from kubelet_sim.scenario.play.views import Views
from kubelet_sim.scenario.plugins.processes import Processes
from kubelet_sim.scenario.plugins.scripted_plugin import ScriptedPlugin
from kubelet_sim.scenario.steps.verbs import fault_of
from kubelet_sim.scenario.story.story import Step, Story
from kubelet_sim.transcript import Record
from kubelet_sim.wire.pod_resources_client import PodResourcesClient
from kubelet_sim.wire.status import enum_name


class Stage(Backstage, Views):
    """One story being played: its node, its plugins, and the pods that it has spoken of."""

    def __init__(self, story: Story, node: Node, bell: Bell, observed: Observed | None = None) -> None:
        self._story = story
        self._node = node
        self._bell = bell
        self._observed = observed or Observed()
        self._kubelets = CatchingUp(node, bell)
        self._processes = Processes(story.commands, node, bell, self._observed, self._kubelets.has_listed, story.folder)
        super().__init__(story, node.root.layout.device_plugins, self._kubelets, bell.ring)
        self._pods: dict[PodUID, Pod] = {}
        self._faults: dict[str, ActiveFault] = {}
        self._active: tuple[Pod, ...] = ()
        self._journal: list[Record] = []
        self._unlisten = node.transcript.listen(self._note)

    def _note(self, record: Record) -> None:
        self._journal.append(record)
        self._bell.ring()

    @property
    def node(self) -> Node:
        """The story's node."""
        return self._node

    @property
    def bell(self) -> Bell:
        """Rings when something may have changed."""
        return self._bell

    async def do(self, step: Step) -> Any:
        """Do one step and return what came. Raises `KubeletSimError` for what cannot be done."""
        arguments = dict(step.arguments)
        if arguments.get("plugin") in self._processes:
            came = await self._processes.do(step.do, arguments.pop("plugin"), arguments)
            await self._caught_up()
        else:
            came = await super().do(step)
        if self._story.commands:
            self._processes.note_plugins()
        return came

    def is_ready(self, waited_s: float) -> bool:
        """Whether plugins that are commands are ready, or have had the time for it that their story gives them."""
        return self._processes.are_ready(waited_s)

    def output(self) -> Mapping[str, tuple[str, ...]]:
        """The last lines of the plugins that are commands."""
        return self._processes.output()

    async def close(self) -> None:
        """Stop all plugins."""
        self._unlisten()
        await self._processes.close()
        await super().close()

    def journal(self) -> tuple[Record, ...]:
        """What happened on the node since the last look."""
        journal, self._journal = tuple(self._journal), []
        return journal

    # --- plugins that are found by the plugin watcher

    async def _do_watch_serve(self, plugin: ScriptedPlugin) -> Any:
        await plugin.let_itself_be_found()
        return await self._watched(plugin)

    async def _do_watch_remove(self, plugin: ScriptedPlugin) -> Any:
        plugin.hide()
        return await self._watched(plugin)

    async def _do_notified(self, plugin: ScriptedPlugin) -> Any:
        return {"notified": plugin.notices()}

    async def _watched(self, plugin: ScriptedPlugin) -> Any:
        """What it is told until the reconciler's next second is over."""
        await self._node.advance(RECONCILER_S)
        await self._caught_up()
        return await self._do_notified(plugin)

    # --- what goes wrong

    async def _do_fault(self, fault: str, **more: Any) -> Any:
        name = more.get("as", fault)
        if name in self._faults and not self._faults[name].is_over:
            raise TransportError(f"there is a fault {name} already; give this one another name (as)")
        self._faults[name] = active = await self._node.inject(fault_of({"fault": fault, **more}))
        await self._caught_up()
        return {"did": active.did}

    async def _do_undo(self, fault: str) -> Any:
        active = self._faults.get(fault)
        if active is None:
            raise TransportError(f"no step before injected a fault {fault}")
        await active.undo()
        await self._caught_up()
        return {"applied": active.applied}

    # --- the node

    async def _do_kill(self, plugin: ScriptedPlugin | None = None) -> None:
        if plugin is not None:
            await self._do_stop(plugin)
            return
        kubelet = self._kubelets.kubelet()
        if kubelet is not None:
            self._active = tuple(kubelet.state.active_pods.values())
            await self._node.kill()
        await self._caught_up()

    async def _do_start(
        self, running: Iterable[tuple[str, str]] = (), *, ready: bool = True, plugin: ScriptedPlugin | None = None
    ) -> Any:
        if plugin is not None:
            await plugin.serve()
            return {"started": True}
        reported = frozenset((PodUID(uid), ContainerName(container)) for uid, container in running)
        try:
            kubelet = await self._node.boot(reported, self._active)
        except TransportError:
            return {"started": False}
        self._observed.incarnation += 1
        await kubelet.sources_ready(ready=ready)
        if self._story.has_plugin_watcher:
            await self._node.advance(0)  # what is in plugins_registry is registered at once
            await self._caught_up()
        return {"started": True}

    async def _do_restart(self, running: Iterable[tuple[str, str]] = (), *, ready: bool = True) -> None:
        await self._do_kill()
        started = await self._do_start(running, ready=ready)
        if not started["started"]:
            raise TransportError("the kubelet could not start again")

    async def _do_ready(self, *, value: bool) -> None:
        await self._node.kubelet.sources_ready(ready=value)

    async def _do_advance(self, seconds: float) -> None:
        await self._node.advance(seconds)
        await self._caught_up()

    async def _do_capacity(self) -> Any:
        return looks.capacity(await self._node.status_round())

    # --- pods

    async def _do_admit(self, pod: Pod) -> Any:
        self._pods[pod.uid] = pod
        self._node.pods.table.drop(pod.uid)
        verdict = await self._node.kubelet.admit(pod)
        if isinstance(verdict, Rejected):
            self._node.pods.table.recall(pod, "Failed")
            return {"admit": False, "reason": verdict.reason, "message": verdict.message}
        return {"admit": True, "reason": "", "message": ""}

    async def _do_remove(self, pod: str) -> None:
        self._node.pods.table.drop(PodUID(pod))
        await self._node.kubelet.deactivate(PodUID(pod))

    async def _do_finish(self, pod: str) -> None:
        self._node.pods.table.recall(self._known(pod), "Succeeded")
        await self._node.kubelet.deactivate(PodUID(pod))

    async def _do_remove_if_active(self, pod: str) -> None:
        if PodUID(pod) in self._node.kubelet.state.active_pods:
            await self._node.kubelet.deactivate(PodUID(pod))

    async def _do_reclaim(self) -> None:
        await self._node.kubelet.reclaim()

    async def _do_container(self, pod: str, container: str) -> Any:
        known = self._known(pod)
        wanted = known.container(container)
        if wanted is None:
            raise TransportError(f"pod {pod} has no container {container}")
        kubelet = self._node.kubelet
        told = await looks.container(kubelet.prepare(known, wanted))
        has_annotation = kubelet.profile.cdi is Cdi.FIELD_AND_ANNOTATION
        return looks.with_cdi_annotation(told, known, wanted.name) if has_annotation else told

    def _known(self, uid: str) -> Pod:
        try:
            return self._pods[PodUID(uid)]
        except KeyError:
            raise TransportError(f"no step before admitted a pod {uid}") from None

    # --- looking

    async def _do_allocated(self, pod: str) -> Any:
        known = self._pods.get(PodUID(pod))
        return looks.allocated(self._node.kubelet.state, PodUID(pod), known)

    async def _do_allocated_count(self, pod: str) -> Any:
        by_container = await self._do_allocated(pod)
        return {
            container: {resource: len(ids) for resource, ids in resources.items()}
            for container, resources in by_container.items()
        }

    async def _do_status(self, pod: str) -> Any:
        return allocated_resources_status(self._node.kubelet.state, self._known(pod))

    async def _do_metrics(self, about: str = "") -> Any:
        from kubelet_sim.node.services.metrics import metrics_of

        numbers = metrics_of(self._node.kubelet).numbers()
        return {name: number for name, number in numbers.items() if about in name}

    async def _do_affinity(self, pod: str, container: str) -> Any:
        if self._known(pod).container(container) is None:
            raise TransportError(f"pod {pod} has no container {container}")
        hint = self._node.kubelet.state.affinities.of(PodUID(pod), ContainerName(container))
        nodes = None if hint.mask is None else list(nodes_of(hint.mask))
        return {"nodes": nodes, "preferred": hint.is_preferred}

    async def _do_podresources(
        self, call: str, api: str = ApiVersion.V1.value, pod: str = "", namespace: str = "default"
    ) -> Any:
        async with PodResourcesClient(self._node.root.layout.pod_resources_socket) as client:
            try:
                match call:
                    case "list":
                        return looks.pods_with_resources(await client.list(ApiVersion(api)))
                    case "get":
                        return looks.pod_with_resources(await client.get(pod, namespace))
                return looks.allocatable(await client.allocatable())
            except RpcFailed as failure:
                return {"code": enum_name(failure.code), "message": failure.description}

    async def _do_in_use(self) -> Any:
        return looks.in_use(self._node.kubelet.state)

    async def _do_state(self) -> Any:
        return looks.healths(self._node.kubelet.state)
