"""A node that is interrupted again and again at random, while pods come and go; a seed decides all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from kubelet_sim.errors import KubeletSimError
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.life import Comeback, Deletion
from kubelet_sim.model.pod import Pod
from kubelet_sim.node.sync import SyncNode
from tests.life.books import Answer, check_capacity, check_checkpoint, check_records, check_specs, held

MOST_PODS = 6
KINDS = ("restart", "restart", "reboot", "crash", "twice")
NO_DIRECTORY = "no directory"
"""With the checkpoint, so that no pod may be there."""


class Interruptions:
    """What happens to one node, and whether its books are right after each.

    Args:
        node: the node, on the real clock: plugins take real time.
        random: decides everything.
        devices: how many devices of each resource there are once all plugins are there.
        answer: what the plugins answer to Allocate.
        kinds: of interruptions, one as likely as the other.
    """

    def __init__(
        self, node: SyncNode, random: Random, devices: Mapping[str, int], answer: Answer, kinds: Sequence[str] = KINDS
    ) -> None:
        self.node = node
        self.done: list[str] = []
        """What happened, for whoever has to find out why it went wrong."""
        self._random = random
        self._devices = devices
        self._answer = answer
        self._kinds = kinds
        self._pods: dict[str, Pod] = {}
        self._count = 0

    def everything_is_back(self, timeout_s: float) -> None:
        """Wait for all plugins; then the node object is right, too."""
        self.node.wait_for(
            lambda now: all(
                any((view.name, view.healthy, view.endpoint) == (name, count, "live") for view in now.resources)
                for name, count in self._devices.items()
            ),
            timeout_s,
        )
        check_capacity(self.node, self._devices)
        self.done.append("all plugins are back")

    def pods_come_and_go(self) -> None:
        """One pod goes, a container ends, and some pods come; what has failed is taken away, as a controller would."""
        for view in self.node.status().pods:
            if view.phase in {"Failed", "Succeeded"}:
                self._remove(view.name)
        living = [view for view in self.node.status().pods if not view.is_deleting]
        if living and self._random.random() < 0.5:
            self._remove(self._random.choice(living).name)
        running = [
            (view.name, each.name)
            for view in self.node.status().pods
            for each in view.containers
            if each.state == "running"
        ]
        if running and self._random.random() < 0.3:
            pod, container = self._random.choice(running)
            self._do(f"exit {pod}/{container}", lambda: self.node.exit_container(pod, container, code=1))
        if self.node.status().has_kubelet:
            self.node.status_round()  # or what has come back does not fit the node for ten seconds
        while len(self._pods) < MOST_PODS and self._random.random() < 0.8:
            self._apply()

    def interrupt(self) -> None:
        """One restart, reboot or crash; pods that nobody has killed keep their devices through it."""
        before = held(self.node.status())
        kind = self._random.choice(self._kinds)
        self.done.append(kind)
        match kind:
            case "restart":
                self.node.restart()
            case "twice":
                self.node.restart()
                self.node.restart()
            case "no directory":
                for view in self.node.status().pods:
                    self._remove(view.name)
                before = {}
                self.node.restart(Comeback(keeps_directory=False))
            case "reboot":
                self.node.reboot(seed=self._random.randrange(1000))
            case "crash":
                self.node.crash()
                if self._random.random() < 0.5:
                    self.pods_come_and_go()
                self.node.start_kubelet()
        self.check()
        now = self.node.status()
        living = {view.uid for view in now.pods if view.phase not in {"Succeeded", "Failed"}}
        for key, found in before.items():
            if key[0] in living:
                assert held(now).get(key) == found, f"{key} held {found}, and holds {held(now).get(key)}"

    def check(self) -> None:
        """The books, as they have to be at every moment."""
        now = self.node.status()
        check_records(now, self._pods)
        check_specs(self.node, now, self._answer)
        file = self.node.node.root.layout.checkpoint
        if Path(file).exists():
            check_checkpoint(now, file)

    def _apply(self) -> None:
        """Pods for devices that are there: others would run without them, as on a real node."""
        self._count += 1
        now = {view.name: view for view in self.node.status().resources}
        free = [
            name
            for name in sorted(self._devices)
            if name in now and now[name].endpoint == "live" and now[name].healthy > now[name].allocated
        ]
        if not free:
            return
        pod = _pod(f"pod-{self._count}", self._random.choice(free), with_init=self._random.random() < 0.3)
        self._pods[pod.uid] = pod
        self._do(f"admit {pod.name}", lambda: self.node.admit(pod))

    def _remove(self, name: str) -> None:
        self._pods.pop(name, None)
        self._do(f"delete {name}", lambda: self.node.remove(name, how=Deletion(is_forced=self._random.random() < 0.3)))

    def _do(self, what: str, do: object) -> None:
        assert callable(do)
        try:
            do()
        except KubeletSimError as error:
            what = f"{what}: {error}"
        self.done.append(what)


def _pod(name: str, resource: str, *, with_init: bool) -> Pod:
    """A pod for one device; its init container, if it has one, hands its own on."""
    resources = {"resources": {"limits": {resource: 1}}}
    init: Sequence[object] = [{"name": "init", "image": "i", **resources}] if with_init else []
    return pod_from_mapping(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name},
            "spec": {"initContainers": init, "containers": [{"name": "main", "image": "i", **resources}]},
        }
    )
