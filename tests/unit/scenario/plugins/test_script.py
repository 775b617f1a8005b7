from __future__ import annotations

from typing import Any

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID, NumaNode
from kubelet_sim.model.plugin import PluginOptions, Registration
from kubelet_sim.scenario.plugins.script import During, read_devices, read_script, read_status

LEAST = {"resource": "example.com/dev", "socket": "p.sock"}


def test_the_least_script() -> None:
    """Its streams stay silent, it registers its socket, and answers every call with nothing special."""
    script = read_script(LEAST)
    assert script.devices is None
    assert script.registration == Registration("v1beta1", "p.sock", script.resource, None)
    assert script.options == PluginOptions()
    assert script.allocate.responses == 1
    assert script.options_during == During()


def test_a_script_with_everything() -> None:
    """Every key of the format is read."""
    script = read_script(
        {
            **LEAST,
            "devices": [{"id": "a", "health": "Sick", "numa": []}],
            "version": "",
            "endpoint": "other.sock",
            "options": {"preStart": True},
            "request_options": {"preferred": True},
            "options_error": ["INTERNAL", "no"],
            "list_error": ["CANCELLED", "gone"],
            "options_during": {"sleep": 1},
            "allocate": {
                "envs": {"K": "{ids}"},
                "mounts": [["/c", "/h", True]],
                "devices": [["/dev/c", "/dev/h", "r"]],
                "device_per_id": True,
                "annotations": {"n": "v"},
                "cdi": ["v.com/c=x"],
                "responses": 2,
                "no_response": True,
                "error": ["NOT_FOUND", "x"],
                "push": [{"id": "b"}],
                "drop": True,
            },
            "preferred": {"ids": ["a"], "no_response": True, "error": ["ABORTED", "y"], "sleep": 0.5},
            "prestart": {"error": ["UNKNOWN", "z"], "drop": True},
        }
    )
    assert script.devices == (Device(DeviceID("a"), "Sick", ()),)
    assert script.registration == Registration(
        "", "other.sock", script.resource, PluginOptions(get_preferred_allocation_available=True)
    )
    assert script.options == PluginOptions(pre_start_required=True)
    codes = [error.code for error in (script.options_error, script.list_error, script.prestart.error) if error]
    assert codes == ["Internal", "Canceled", "Unknown"]
    allocate = script.allocate
    assert (allocate.mounts, allocate.devices, allocate.cdi) == (
        (("/c", "/h", True),),
        (("/dev/c", "/dev/h", "r"),),
        ("v.com/c=x",),
    )
    assert (dict(allocate.envs), dict(allocate.annotations)) == ({"K": "{ids}"}, {"n": "v"})
    assert (allocate.device_per_id, allocate.responses, allocate.no_response) == (True, 2, True)
    assert allocate.during == During(push=(Device(DeviceID("b")),), drop=True)
    assert (script.preferred.ids, script.preferred.no_response, script.preferred.during) == (("a",), True, During(0.5))
    assert script.prestart.during.drop


def test_a_change_replaces_keys_as_a_whole() -> None:
    """What `allocate` had before is gone, other keys stay."""
    before = read_script({**LEAST, "devices": [], "allocate": {"error": ["INTERNAL", "x"], "cdi": ["v.com/c=x"]}})
    after = before.merged({"allocate": {"envs": {"K": "V"}}})
    assert (after.allocate.error, after.allocate.cdi) == (None, ())
    assert dict(after.allocate.envs) == {"K": "V"}
    assert after.devices == ()
    assert before.allocate.error is not None


def test_topology_is_absent_or_empty_or_there() -> None:
    """A device without `numa` has no topology, which is not an empty one (DM-56)."""
    devices = read_devices([{"id": "a"}, {"id": "b", "numa": []}, {"id": "c", "numa": [1, 0]}])
    assert [device.topology for device in devices] == [None, (), (NumaNode(1), NumaNode(0))]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"resource": None}, "resource: expected text, not None"),
        ({"device": []}, "the script has no key 'device'"),
        ({"devices": {}}, "devices: expected a list"),
        ({"devices": [{"health": "Healthy"}]}, "devices: a device has no id"),
        ({"devices": [{"id": "a", "numa": 1}]}, "devices: numa: expected a list"),
        ({"options": {"prestart": True}}, "options: options has no key 'prestart'"),
        ({"options": {"preStart": 1}}, "options: preStart: expected true or false"),
        ({"options_error": ["INTERNAL"]}, "options_error: expected [CODE, text]"),
        ({"options_error": ["internal", "x"]}, "options_error: 'internal' is no gRPC status code"),
        ({"allocate": {"mounts": [["/a", "/b"]]}}, "allocate: mounts: expected [container path, host path, read only]"),
        ({"allocate": {"devices": [["/a", "/b", 1]]}}, "allocate: devices: expected [container path, host path"),
        ({"allocate": {"envs": {"K": 1}}}, "allocate: envs: expected text, not 1"),
        ({"allocate": {"sleep": "1"}}, "allocate: sleep: expected seconds"),
        ({"prestart": {"no_response": True}}, "prestart: prestart has no key 'no_response'"),
    ],
)
def test_a_wrong_script_is_refused_with_its_key(change: dict[str, Any], words: str) -> None:
    """The error names the key and what was expected there."""
    with pytest.raises(UsageError) as caught:
        read_script({**LEAST, **change})
    assert words in str(caught.value)


def test_a_status_keeps_its_text() -> None:
    """The text of a status stays as it is, and its code gets the name that Go has for it."""
    status = read_status(["INVALID_ARGUMENT", "bad: ..."])
    assert (status.code, status.description) == ("InvalidArgument", "bad: ...")
