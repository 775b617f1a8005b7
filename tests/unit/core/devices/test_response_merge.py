from __future__ import annotations

import pytest

from kubelet_sim.core.devices.response_merge import merged
from kubelet_sim.core.ports import Order
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.response import ContainerResponse, ContainerSpec, DeviceNode, Dropped, Mount
from tests.unit.core.bench import Bench, Reversed

A, B = ResourceName("a.io/x"), ResourceName("b.io/x")


def _merged(*responses: ContainerResponse, order: Order | None = None) -> tuple[ContainerSpec, list[str]]:
    """The merge in resource order, and the conflicts noted."""
    bench = Bench(order=order)
    names = [ResourceName(f"{letter}.io/x") for letter in "abcdefgh"]
    spec = merged(bench.manager.context, "default/p main", dict(zip(names, responses, strict=False)))
    noted = bench.notes.warnings("DM-124")
    assert {decision.subject for decision in noted} <= {"default/p main"}
    return spec, [decision.text for decision in noted]


def test_one_response_is_translated() -> None:
    """Every part becomes its like, order inside the lists as sent. Rules: DM-124, DM-126"""
    response = ContainerResponse(
        envs={"K": "V", "A": ""},
        mounts=(Mount("/z", "/host/z", read_only=True), Mount("/a", "/host/a")),
        devices=(DeviceNode("/dev/z", "/dev/1", "rw"), DeviceNode("/dev/a", "/dev/0", "")),
        annotations={"n": "1"},
        cdi_devices=("v/c=2", "v/c=1"),
    )

    assert _merged(response) == (
        ContainerSpec(
            envs=(("A", ""), ("K", "V")),
            mounts=response.mounts,
            devices=response.devices,
            annotations=(("n", "1"),),
            cdi_devices=("v/c=2", "v/c=1"),
        ),
        [],
    )


def test_no_response() -> None:
    """Nothing merged is empty in every part. Rules: DM-123"""
    assert _merged() == (ContainerSpec(), [])


def test_responses_are_joined() -> None:
    """Keys that differ are all kept, those of one resource together. Rules: DM-123, DM-124"""
    spec, conflicts = _merged(
        ContainerResponse(envs={"A": "1"}, mounts=(Mount("/a", "/1"),), annotations={"a": "1"}, cdi_devices=("v/c=1",)),
        ContainerResponse(envs={"B": "2"}, mounts=(Mount("/b", "/2"),), annotations={"b": "2"}, cdi_devices=("v/c=2",)),
    )

    assert spec.envs == (("A", "1"), ("B", "2"))
    assert spec.mounts == (Mount("/a", "/1"), Mount("/b", "/2"))
    assert spec.annotations == (("a", "1"), ("b", "2"))
    assert spec.cdi_devices == ("v/c=1", "v/c=2")
    assert conflicts == []


CONFLICTS = {
    "Environment variable has conflicting setting": (
        ContainerResponse(envs={"K": "1"}),
        ContainerResponse(envs={"K": "2"}),
    ),
    "Container device has conflicting mapping host devices": (
        ContainerResponse(devices=(DeviceNode("/dev/x", "/1", "r"),)),
        ContainerResponse(devices=(DeviceNode("/dev/x", "/2", "r"),)),
    ),
    "Container mount has conflicting mapping host mounts": (
        ContainerResponse(mounts=(Mount("/m", "/1"),)),
        ContainerResponse(mounts=(Mount("/m", "/2"),)),
    ),
    "Annotation has conflicting setting": (
        ContainerResponse(annotations={"k": "1"}),
        ContainerResponse(annotations={"k": "2"}),
    ),
}


@pytest.mark.parametrize("text", CONFLICTS)
def test_the_first_occurrence_wins(text: str) -> None:
    """The later one is dropped and the conflict noted in the kubelet's words; which is first is open. Rules: DM-124"""
    first, second = CONFLICTS[text]

    spec, noted = _merged(first, second)
    assert spec == _merged(first)[0]
    assert len(noted) == 1
    assert noted[0].startswith(text)

    assert _merged(first, second, order=Reversed())[0] == _merged(second)[0]
    assert _merged(first, second, first)[0] == spec


@pytest.mark.parametrize(
    "first, second",
    [
        (ContainerResponse(envs={"K": "1"}), ContainerResponse(envs={"K": "1"})),
        (
            ContainerResponse(devices=(DeviceNode("/dev/x", "/1", "r"),)),
            ContainerResponse(devices=(DeviceNode("/dev/x", "/1", "rwm"),)),
        ),
        (
            ContainerResponse(mounts=(Mount("/m", "/1", read_only=True),)),
            ContainerResponse(mounts=(Mount("/m", "/1", read_only=False),)),
        ),
        (ContainerResponse(annotations={"k": "1"}), ContainerResponse(annotations={"k": "1"})),
        (ContainerResponse(cdi_devices=("v/c=1",)), ContainerResponse(cdi_devices=("v/c=1",))),
    ],
)
def test_what_is_no_conflict(first: ContainerResponse, second: ContainerResponse) -> None:
    """Permissions and read-only are not compared; equal values and CDI names are dropped silently. Rules: DM-124"""
    assert _merged(first, second) == (_merged(first)[0], [])


def test_duplicates_in_one_response() -> None:
    """They are treated like those of two responses. Rules: DM-124"""
    spec, noted = _merged(
        ContainerResponse(
            mounts=(Mount("/m", "/1"), Mount("/m", "/2"), Mount("/n", "/3"), Mount("/m", "/1")),
            devices=(DeviceNode("/d", "/1", "r"), DeviceNode("/d", "/2", "w")),
            cdi_devices=("v/c=1", "v/c=2", "v/c=1"),
        )
    )

    assert spec.mounts == (Mount("/m", "/1"), Mount("/n", "/3"))
    assert spec.devices == (DeviceNode("/d", "/1", "r"),)
    assert spec.cdi_devices == ("v/c=1", "v/c=2")
    assert len(noted) == 2


def test_kinds_do_not_meet() -> None:
    """A mount and a device of one path, a variable and an annotation of one name, are no conflict. Rules: DM-124"""
    response = ContainerResponse(
        envs={"k": "1"}, annotations={"k": "2"}, mounts=(Mount("/x", "/1"),), devices=(DeviceNode("/x", "/2", "r"),)
    )
    spec, noted = _merged(response)

    assert (spec.envs, spec.annotations, noted) == ((("k", "1"),), (("k", "2"),), [])
    assert (spec.mounts, spec.devices) == (response.mounts, response.devices)


def test_nothing_is_validated() -> None:
    """Empty keys and paths, relative paths, unknown letters, malformed names are passed on; paths are texts. Rules: DM-124, DM-125"""
    response = ContainerResponse(
        envs={"": "x", "a=b": "\x00"},
        mounts=(Mount("", ""), Mount("/a", "rel"), Mount("/a/", "rel")),
        devices=(DeviceNode("../x", "", "xyz"),),
        annotations={"": ""},
        cdi_devices=("", "not a name"),
    )
    spec, noted = _merged(response)

    assert spec == ContainerSpec(
        (("", "x"), ("a=b", "\x00")), response.mounts, response.devices, (("", ""),), ("", "not a name")
    )
    assert noted == []


def test_the_order_of_variables_is_open() -> None:
    """Inside one response, maps have no order; lists do. Rules: DM-124"""
    response = ContainerResponse(envs={"A": "1", "B": "2"}, mounts=(Mount("/a", "/1"), Mount("/b", "/2")))

    spec, _ = _merged(response, order=Reversed())

    assert spec.envs == (("B", "2"), ("A", "1"))
    assert spec.mounts == response.mounts


def test_every_entry_knows_whose_it_is() -> None:
    """The merge says which resource each entry came with, in the order of the lists. Rules: DM-124"""
    spec, _ = _merged(
        ContainerResponse(envs={"A": "1"}, mounts=(Mount("/a", "/1"),), cdi_devices=("v/c=1",)),
        ContainerResponse(envs={"B": "2"}, devices=(DeviceNode("/d", "/d", "r"),), annotations={"k": "v"}),
    )

    assert spec.provenance.envs == ("a.io/x", "b.io/x")
    assert spec.provenance.mounts == ("a.io/x",)
    assert spec.provenance.devices == ("b.io/x",)
    assert spec.provenance.annotations == ("b.io/x",)
    assert spec.provenance.cdi_devices == ("a.io/x",)
    assert spec.provenance.dropped == ()


def test_what_was_dropped_is_kept_as_a_note() -> None:
    """Equal duplicates are dropped, too, but are no conflict; so are those of one response. Rules: DM-124"""
    spec, _ = _merged(
        ContainerResponse(envs={"K": "1"}, cdi_devices=("v/c=1", "v/c=1")),
        ContainerResponse(envs={"K": "2"}, cdi_devices=("v/c=1",)),
    )

    assert spec.provenance.dropped == (
        Dropped("cdi_devices", "v/c=1", "a.io/x", "v/c=1", "v/c=1", "a.io/x"),
        Dropped("envs", "K", "b.io/x", "2", "1", "a.io/x"),
        Dropped("cdi_devices", "v/c=1", "b.io/x", "v/c=1", "v/c=1", "a.io/x"),
    )
    assert [each.is_conflict for each in spec.provenance.dropped] == [False, True, False]
