from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from kubelet_sim.model.ids import DeviceID, NumaNode, ResourceName
from kubelet_sim.model.pod_resources import (
    AllocatableResources,
    ApiVersion,
    ClaimedDevice,
    ContainerResources,
    DeviceEntry,
    DynamicResource,
    MemoryEntry,
    PodResources,
)
from kubelet_sim.present.documents import machine_text
from kubelet_sim.present.pod_resources_text import (
    allocatable_document,
    allocatable_table,
    list_document,
    numa_text,
    numbers,
    pod_document,
    pods_table,
    size_text,
)
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN

GPU, NIC = ResourceName("example.com/gpu"), ResourceName("example.com/nic")


def entry(resource: ResourceName, device: str, *nodes: int) -> DeviceEntry:
    """An entry as a kubelet sends it."""
    return DeviceEntry(resource, (DeviceID(device),), tuple(map(NumaNode, nodes)) or None)


MEMORY = MemoryEntry("hugepages-2Mi", 4 << 20, (NumaNode(0), NumaNode(1)))
CLAIM = DynamicResource("claim", "ns", (ClaimedDevice(("v.com/c=1",), "driver", "pool", "dev"),))
BUSY = ContainerResources(
    "main",
    (
        entry(NIC, "n"),
        entry(GPU, "b", 1),
        entry(GPU, "b", 0),
        entry(GPU, "a", 0),
        entry(GPU, "c", 0),
        entry(NIC, NASTY),
    ),
    (5, 0, 1, 2),
    (MEMORY,),
    (CLAIM,),
)
PODS = [PodResources("b", "default", (BUSY, ContainerResources("idle"))), PodResources("none", "default")]


def rows(text: str) -> list[list[str]]:
    """The cells of a table, which stand three spaces apart."""
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in text.splitlines()]


def test_a_table_has_each_device_once() -> None:
    """Devices with the same nodes stand together; foreign ids are escaped; what is not there is a dash. Rules: PR-22"""
    assert rows(pods_table(PODS)) == [
        ["NAMESPACE", "POD", "CONTAINER", "RESOURCE", "DEVICES", "NUMA", "CPUS"],
        ["default", "b", "main", "example.com/gpu", "a, c", "0", "0-2,5"],
        ["default", "b", "main", "example.com/gpu", "b", "0,1", "0-2,5"],
        ["default", "b", "main", "example.com/nic", f"{NASTY_SHOWN}, n", "-", "0-2,5"],
        ["default", "b", "idle", "-", "-", "-", "-"],
    ]
    assert pods_table([]) == ""


def test_a_wide_table_has_memory_and_claims() -> None:
    """A real node may have both. Rules: PR-28, PR-29"""
    wide = rows(pods_table(PODS, wide=True))
    assert wide[0][-2:] == ["MEMORY", "CLAIMS"]
    assert wide[1][-2:] == ["hugepages-2Mi 4Mi on 0,1", "ns/claim: dev"]
    assert wide[-1][-2:] == ["-", "-"]


def test_a_table_of_what_is_allocatable() -> None:
    """CPUs are a line of it, memory is for the wide one. Rules: PR-20"""
    resources = AllocatableResources((entry(GPU, "a", 0), entry(GPU, "b")), (0, 1, 2, 3), (MEMORY,))
    assert rows(allocatable_table(resources)) == [
        ["RESOURCE", "DEVICES", "NUMA"],
        ["example.com/gpu", "a", "0"],
        ["example.com/gpu", "b", "-"],
        ["cpu", "0-3", "-"],
    ]
    assert rows(allocatable_table(resources, wide=True))[-1] == ["hugepages-2Mi", "4Mi", "0,1"]
    assert allocatable_table(AllocatableResources()) == ""


def test_documents_have_the_names_of_the_api() -> None:
    """Entries as they came; no topology is no key, node 0 is one; a share id only if there is one. Rules: PR-8, PR-10"""
    (pod, _) = list_document(PODS, ApiVersion.V1)["pod_resources"]
    main = pod["containers"][0]
    assert main["devices"][0] == {"resource_name": NIC, "device_ids": ["n"]}
    assert main["devices"][2] == {
        "resource_name": GPU,
        "device_ids": ["b"],
        "topology": {"nodes": [{"ID": 0}]},
    }
    assert main["cpu_ids"] == [5, 0, 1, 2]
    nodes = {"nodes": [{"ID": 0}, {"ID": 1}]}
    assert main["memory"] == [{"memory_type": "hugepages-2Mi", "size": 4 << 20, "topology": nodes}]
    device = {
        "cdi_devices": [{"name": "v.com/c=1"}],
        "driver_name": "driver",
        "pool_name": "pool",
        "device_name": "dev",
    }
    claim = {"claim_name": "claim", "claim_namespace": "ns", "claim_resources": [device]}
    assert main["dynamic_resources"] == [claim]
    assert pod_document(PODS[1]) == {"pod_resources": {"name": "none", "namespace": "default", "containers": []}}
    assert allocatable_document(AllocatableResources()) == {"devices": [], "cpu_ids": [], "memory": []}
    assert json.loads(machine_text(list_document(PODS, ApiVersion.V1), "json"))["pod_resources"][1]["name"] == "none"


def test_the_older_document_has_names_and_ids() -> None:
    """Nothing else has room in that message. Rules: PR-9"""
    bare = PodResources("p", "default", (ContainerResources("main", (entry(GPU, "a"),)),))
    assert list_document([bare], ApiVersion.V1ALPHA1)["pod_resources"] == [
        {
            "name": "p",
            "namespace": "default",
            "containers": [{"name": "main", "devices": [{"resource_name": GPU, "device_ids": ["a"]}]}],
        }
    ]


@pytest.mark.parametrize(
    "values, text", [((), "-"), ((3,), "3"), ((2, 0, 1), "0-2"), ((0, 2, 3, 7, 7), "0,2-3,7"), ((-1, 0), "-1-0")]
)
def test_numbers_are_written_as_runs(values: tuple[int, ...], text: str) -> None:
    """As an operating system writes CPUs."""
    assert numbers(values) == text


def test_sizes_and_nodes() -> None:
    """The largest unit that divides; no topology differs from one without nodes. Rules: PR-10"""
    assert [size_text(n) for n in (0, 1, 1024, 3 << 30, (1 << 30) + 1024)] == ["0", "1", "1Ki", "3Gi", "1048577Ki"]
    assert (numa_text(None), numa_text(()), numa_text((NumaNode(1), NumaNode(0)))) == ("-", "none", "0,1")


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["get"], "get needs the NAME of a pod"),
        (["list", "x"], "list takes no NAME"),
        (["allocatable", "--api", "v1alpha1"], "v1alpha1 has no method but list"),
        (["watch"], "'watch' is not one of"),
    ],
)
def test_misuse_is_one_line(arguments: list[str], text: str) -> None:
    """And exit code 2, before anything is dialled."""
    done = CliRunner().invoke(cli, ["podresources", *arguments, "--socket", "/nowhere/kubelet.sock"])
    assert done.exit_code == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
