"""Hypothesis strategies for what plugins send and what pods ask for: the usual, and everything that is merely allowed.

A value that shrinks does so towards the usual one: short ids, `Healthy`, no topology, an empty response. All texts can
travel on the wire. What is not valid there at all (bytes that are no message) is not made here.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from kubelet_sim.model.device import HEALTHY, UNHEALTHY, Device
from kubelet_sim.model.ids import ContainerName, DeviceID, NumaNode, PodUID, ResourceName
from kubelet_sim.model.plugin import API_VERSION, AllocateAnswer, PluginOptions, Registration
from kubelet_sim.model.pod import Container, ContainerKind, Pod
from kubelet_sim.model.quantity import Quantity
from kubelet_sim.model.response import ContainerResponse, DeviceNode, Mount
from kubelet_sim.wire.messages import encode_container_response

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("kubelet_sim.testing.strategies needs Hypothesis: pip install hypothesis") from missing

RESOURCES = (ResourceName("example.com/dev"), ResourceName("vendor.io/nic"))
"""Two names that a plugin may register."""

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_ODD_IDS = ("", " ", "a b", "a,b", "../a", "\x00", "\x1b[31m", "\u202ea", "\u2028<&>", "\U0001f600", "a" * 64)
_ODD_HEALTHS = (UNHEALTHY, "", "healthy", "Unknown", "Healthy ")
_ODD_NAMES = ("", "cpu", "kubernetes.io/x", "requests.foo/bar", "Example.com/dev", "a/b/c", "x/" + "a" * 64)
_ODD_VERSIONS = ("", "v1", "v1alpha", "v1beta1 ", "V1BETA1", 'v1beta1"\n')


def device_ids() -> st.SearchStrategy[DeviceID]:
    """Ids of devices: mostly a few short ones, so that they meet, else any text, empty included. Rules: DM-55"""
    return st.sampled_from("abcdefgh").map(DeviceID) | st.sampled_from(_ODD_IDS).map(DeviceID) | _TEXTS.map(DeviceID)


def healths() -> st.SearchStrategy[str]:
    """Health as a plugin may send it; only `Healthy` to the letter is healthy. Rules: DM-52"""
    return st.sampled_from((HEALTHY, HEALTHY, HEALTHY, *_ODD_HEALTHS))


def topologies() -> st.SearchStrategy[tuple[NumaNode, ...] | None]:
    """NUMA nodes of a device: absent, empty, repeated, negative and beyond what a machine has included. Rules: DM-56"""
    nodes = st.sampled_from((0, 1, 2, -1, 63, 64, 2**63 - 1, -(2**63))).map(NumaNode)
    return st.none() | st.lists(nodes, max_size=3).map(tuple)


def devices(ids: st.SearchStrategy[DeviceID] | None = None) -> st.SearchStrategy[Device]:
    """One entry of a ListAndWatch message.

    Args:
        ids: what an id may be; `device_ids()` unless told otherwise.
    """
    return st.builds(Device, device_ids() if ids is None else ids, healths(), topologies())


def device_lists(
    ids: st.SearchStrategy[DeviceID] | None = None, *, min_size: int = 0, max_size: int = 6
) -> st.SearchStrategy[tuple[Device, ...]]:
    """A whole message: empty, and with ids that occur twice, with both healths, too. Rules: DM-51, DM-53, DM-54"""
    return st.lists(devices(ids), min_size=min_size, max_size=max_size).map(tuple)


def container_responses() -> st.SearchStrategy[ContainerResponse]:
    """What a plugin answers for one container: nothing in it is validated, keys repeat, `raw` fits the values.

    Rules: DM-124, DM-125
    """
    keys = st.sampled_from(("A", "B", "")) | _TEXTS
    paths = st.sampled_from(("/dev/a", "/dev/a/", "rel", "")) | _TEXTS
    maps = st.dictionaries(keys, st.sampled_from(("1", "2", "")) | _TEXTS, max_size=2)
    values = st.builds(
        ContainerResponse,
        envs=maps,
        mounts=st.lists(st.builds(Mount, paths, paths, st.booleans()), max_size=2).map(tuple),
        devices=st.lists(st.builds(DeviceNode, paths, paths, st.sampled_from(("", "r", "rwm", "x"))), max_size=2).map(
            tuple
        ),
        annotations=maps,
        cdi_devices=st.lists(st.sampled_from(("vendor.com/class=a", "no name", "")), max_size=2).map(tuple),
    )
    return values.map(lambda response: evolve(response, raw=encode_container_response(response)))


def allocate_answers() -> st.SearchStrategy[AllocateAnswer]:
    """What a plugin answers to Allocate: mostly one container response, none or a surplus else. Rules: DM-99"""
    counts = st.just(1) | st.sampled_from((0, 2, 3))
    responses = counts.flatmap(lambda count: st.lists(container_responses(), min_size=count, max_size=count))
    return responses.map(tuple).map(AllocateAnswer)


def plugin_options() -> st.SearchStrategy[PluginOptions]:
    """What a plugin asks to be called for. Rules: DM-28"""
    return st.builds(PluginOptions, st.booleans(), st.booleans())


def registrations(
    resources: Sequence[ResourceName] = RESOURCES, *, valid_only: bool = False
) -> st.SearchStrategy[Registration]:
    """A Register request.

    Args:
        resources: the valid names to draw from.
        valid_only: leave out versions and names that are refused.

    Rules: DM-22, DM-23, DM-25
    """
    names = st.sampled_from(tuple(resources))
    versions = st.just(API_VERSION)
    if not valid_only:
        names |= st.sampled_from(_ODD_NAMES).map(ResourceName)
        versions |= st.sampled_from(_ODD_VERSIONS)
    sockets = st.sampled_from(("p.sock", "sub/p.sock", "../p.sock", "/run/p.sock", ""))
    return st.builds(Registration, versions, sockets, names, st.none() | plugin_options())


def limits(resources: Sequence[str] = RESOURCES, *, max_count: int = 4) -> st.SearchStrategy[dict[str, Quantity]]:
    """Limits of one container: counts from 0 of some resources, some of them written as fractions. Rules: DM-82, DM-84"""
    counts = st.integers(0, max_count).map(Quantity.of)
    fractions = st.sampled_from(("1500m", "1n", "0.5", "0m")).map(Quantity.parse)
    return st.dictionaries(st.sampled_from(tuple(resources)), counts | fractions, max_size=len(resources))


def pods(
    uid: str, resources: Sequence[str] = RESOURCES, *, max_count: int = 4, max_containers: int = 2
) -> st.SearchStrategy[Pod]:
    """A pod of that uid and name, with init containers, sidecars and app containers; limits are requested, too.

    Args:
        uid: of the pod; two pods with one uid are the same pod.
        resources: what its containers may ask for.
        max_count: the most of one resource and container, if it is no fraction.
        max_containers: the most app containers, and the most init containers.
    """
    init_kinds = st.sampled_from((ContainerKind.INIT, ContainerKind.SIDECAR))

    def container(name: str, kind: ContainerKind, asked: dict[str, Quantity]) -> Container:
        return Container(ContainerName(name), kind, asked, asked)

    def pod(init: list[tuple[ContainerKind, dict[str, Quantity]]], apps: list[dict[str, Quantity]]) -> Pod:
        return Pod(
            uid,
            "default",
            PodUID(uid),
            tuple(container(f"init-{number}", *given) for number, given in enumerate(init)),
            tuple(container(f"app-{number}", ContainerKind.APP, given) for number, given in enumerate(apps)),
        )

    asked = limits(resources, max_count=max_count)
    return st.builds(
        pod,
        st.lists(st.tuples(init_kinds, asked), max_size=max_containers),
        st.lists(asked, min_size=1, max_size=max_containers),
    )
