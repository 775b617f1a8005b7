"""Checkpoints as kubelets before 1.20 wrote them: one list of ids an entry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubelet_sim.core.checkpoint_file.decoder import decode, parse
from kubelet_sim.core.checkpoint_file.document_text import checksum, dump
from kubelet_sim.errors import CheckpointCorrupt, CheckpointUnreadable
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

PUBLISHED: dict[str, Any] = {
    "Data": {
        "PodDeviceEntries": [
            {
                "PodUID": "970a395d-bb3b-11e8-89df-408d5c537d23",
                "ContainerName": "appcntr1",
                "ResourceName": "intel.com/sriov_net_A",
                "DeviceIDs": ["0000:03:02.3", "0000:03:02.0"],
                "AllocResp": "CikKC3NyaW92X25ldF9BEhogMDAwMDowMzowMi4zIDAwMDA6MDM6MDIuMA==",
            }
        ],
        "RegisteredDevices": {
            "intel.com/sriov_net_A": ["0000:03:02.1", "0000:03:02.2", "0000:03:02.3", "0000:03:02.0"],
            "intel.com/sriov_net_B": ["0000:03:06.3", "0000:03:06.0", "0000:03:06.1", "0000:03:06.2"],
        },
    },
    "Checksum": 229855270,
}
"""A file that somebody published, with its checksum."""


def _file(**entry: Any) -> bytes:
    """The published file with members of its entry replaced."""
    changed = json.loads(json.dumps(PUBLISHED))
    changed["Data"]["PodDeviceEntries"][0].update(entry)
    return json.dumps(changed).encode()


def test_a_published_file_is_read() -> None:
    """Its checksum fits, and its devices come to stand under NUMA node 0. Rules: DM-140, DM-144, DM-165"""
    document = decode(_file(), reads_before_1_20=True)
    (entry,) = document.entries or ()
    assert entry.devices == {0: ("0000:03:02.3", "0000:03:02.0")}
    assert entry.resource == "intel.com/sriov_net_A"
    assert document.registered is not None
    assert set(document.registered) == {"intel.com/sriov_net_A", "intel.com/sriov_net_B"}


def test_it_is_unreadable_to_those_that_do_not_read_it() -> None:
    """Up to 1.21, and since 1.31, a list is no map. Rules: DM-144, DM-163, DM-174"""
    with pytest.raises(CheckpointUnreadable, match="DeviceIDs: expected an object, found an array"):
        decode(_file())


def test_the_error_is_that_of_the_first_try() -> None:
    """What is wrong with a file of neither format is said of the format of today. Rules: DM-143, DM-144"""
    with pytest.raises(CheckpointUnreadable, match="expected an object, found an array"):
        decode(_file(DeviceIDs=["other"]), reads_before_1_20=True)
    with pytest.raises(CheckpointUnreadable, match="expected an object, found a string"):
        decode(_file(DeviceIDs="x"), reads_before_1_20=True)


def test_a_file_of_today_is_read_as_what_it_is() -> None:
    """Devices stay where they are; a wrong checksum stays wrong. Rules: DM-144"""
    data = _file(DeviceIDs={"1": ["a"]})
    document, _ = parse(data)
    fitting = data.replace(b"229855270", str(checksum(document)).encode())
    (entry,) = decode(fitting, reads_before_1_20=True).entries or ()
    assert entry.devices == {1: ("a",)}
    with pytest.raises(CheckpointCorrupt):
        decode(data, reads_before_1_20=True)


@pytest.mark.parametrize("ids, shown", [(None, "<nil>"), ((), "[]"), (("a", "b"), "[a b]")])
def test_the_dump_names_the_types_of_then(ids: tuple[str, ...] | None, shown: str) -> None:
    """A plain list, under the type names that were hashed before 1.20. Rules: DM-139, DM-144"""
    document = CheckpointDocument((CheckpointEntry("u", "c", "r", {0: ids}, b""),), {})
    assert dump(document, is_before_1_20=True) == (
        "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[{PodUID:(string)u "
        f"ContainerName:(string)c ResourceName:(string)r DeviceIDs:([]string){shown} AllocResp:([]uint8)[]}}] "
        "RegisteredDevices:(map[string][]string)map[]}"
    )


def test_null_is_a_list_that_is_not_there() -> None:
    """It is hashed as such, and holds no device. Rules: DM-142, DM-144"""
    document, _ = parse(_file(DeviceIDs=None), is_before_1_20=True)
    (entry,) = document.entries or ()
    assert entry.devices == {0: None}
