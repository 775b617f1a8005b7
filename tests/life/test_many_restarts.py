"""Plugins that nobody wrote for us, and our own, through fifty restarts, reboots and crashes in a row; ten in the usual run.

What happens is decided by a seed, which a failure names. Run it again with `KUBELET_SIM_LIFE_SEED=SEED`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest

from kubelet_sim.model.response import ContainerSpec, DeviceNode, Mount
from kubelet_sim.node.sync import SyncNode
from tests.examples.fleet import EXAMPLES, Fleet
from tests.interop.rdma import RDMA_NODES, RDMA_SHARES, RdmaMachine
from tests.life.books import Answer
from tests.life.interruptions import KINDS, NO_DIRECTORY, Interruptions
from tests.life.watched import WatchedPlugin
from tests.patience import PATIENCE_S

SEED = int(os.environ.get("KUBELET_SIM_LIFE_SEED", "5"))
MANY_TIMES = 50
HOW_OFTEN = pytest.mark.parametrize("times", [10, pytest.param(MANY_TIMES, marks=pytest.mark.whole)])


@pytest.fixture
def node(make_kubelet: Callable[..., SyncNode]) -> SyncNode:
    """A node on the real clock: plugins take real time."""
    return make_kubelet()


def survive(
    node: SyncNode,
    times: int,
    devices: Mapping[str, int],
    answer: Answer,
    *,
    waits: float,
    further: tuple[str, ...] = (),
) -> None:
    """So many interruptions, with the books looked at after each.

    Args:
        node: where all plugins are listed already.
        times: how many interruptions.
        devices: how many each resource has.
        answer: what the plugins answer.
        waits: how often, from 0 to 1, the next interruption waits for all plugins to be back.
        further: kinds of interruptions besides the usual ones.
    """
    random = Random(SEED)  # noqa: S311 - to repeat, no secret
    it = Interruptions(node, random, devices, answer, (*KINDS, *further))
    try:
        it.everything_is_back(PATIENCE_S)
        for _ in range(times):
            it.pods_come_and_go()
            it.interrupt()
            if random.random() < waits:
                it.everything_is_back(PATIENCE_S)
        it.everything_is_back(PATIENCE_S)
        it.pods_come_and_go()
        it.check()
    except BaseException:
        print(f"KUBELET_SIM_LIFE_SEED={SEED}", *it.done, sep="\n  ")  # noqa: T201 - pytest shows it with the failure
        raise


@HOW_OFTEN
def test_example_plugins_come_back_after_many_restarts(node: SyncNode, times: int) -> None:
    """Each comes back every time, and pods that live hold what its Allocate answered.

    Rules: DM-16, DM-17, DM-108, DM-111, DM-112
    """
    fleet = Fleet(node, node.config.root.resolve())
    try:
        for example in EXAMPLES:
            fleet.start(example)
        by_resource = {name: (example, ids) for example in EXAMPLES for name, ids in fleet.devices(example).items()}

        def answer(resource: str, ids: tuple[str, ...]) -> ContainerSpec:
            example = by_resource[resource][0]
            if example.name == "two_resources":  # each resource has an answer of its own
                variable = f"{resource.rpartition('/')[2].upper()}_IDS"
                nodes = tuple(DeviceNode(f"/dev/{each}", "/dev/null", "rw") for each in sorted(ids))
                return ContainerSpec(envs=((variable, ",".join(ids)),), devices=nodes)
            return example.grants({resource: ids})

        survive(
            node,
            times,
            {name: len(ids) for name, (_, ids) in by_resource.items()},
            answer,
            waits=0.5,
            further=(NO_DIRECTORY,),
        )
        assert set(fleet.terminate().values()) == {0}
    finally:
        fleet.kill()


@HOW_OFTEN
def test_a_plugin_that_the_watcher_finds(node: SyncNode, times: int) -> None:
    """Every new kubelet finds its socket again, without the plugin doing anything. Rules: DM-111, DM-146"""
    resource = "example.com/watched"
    plugin = node.run(WatchedPlugin.started(node, resource, ("w1", "w2", "w3")))
    try:
        answer: Answer = lambda _, ids: ContainerSpec(envs=(("IDS", ",".join(ids)),))  # noqa: E731 - it needs a type
        survive(node, times, {resource: 3}, answer, waits=0.5, further=(NO_DIRECTORY,))
    finally:
        node.run(plugin.stop())


@pytest.mark.whole
@pytest.mark.timeout(960)
def test_plugins_written_in_go_come_back_after_many_restarts(
    node: SyncNode,
    rdma_machine: RdmaMachine,
    rdma_card: Path,
    sample_device_plugin: Path,
    rdma_shared_device_plugin: Path,
    start_isolated: Callable[..., subprocess.Popen[bytes]],
) -> None:
    """The sample plugin of Kubernetes, which takes 10 s to come back, and the one for shared RDMA devices.

    They see the directory through a mount of their own, so it has to stay.

    Rules: DM-16, DM-17, DM-108, DM-111, DM-112
    """
    assert rdma_card.exists()
    directory = Path(node.device_plugin_directory)
    plugins = [
        start_isolated(sample_device_plugin, directory),
        start_isolated(
            rdma_shared_device_plugin,
            directory,
            rdma_machine.config,
            shown=rdma_machine.shown,
            environment=rdma_machine.environment,
        ),
    ]

    def answer(resource: str, ids: tuple[str, ...]) -> ContainerSpec:
        if resource == "rdma/hca":
            return ContainerSpec(devices=tuple(DeviceNode(path, path, "rwm") for path in RDMA_NODES))
        return ContainerSpec(mounts=tuple(Mount(f"/tmp/{each}", f"/tmp/{each}", read_only=False) for each in ids))

    survive(node, MANY_TIMES, {"example.com/resource": 2, "rdma/hca": RDMA_SHARES}, answer, waits=0.1)
    assert [plugin.poll() for plugin in plugins] == [None, None]
