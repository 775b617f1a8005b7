"""Faults of what a container is granted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

Granted = api_pb2.ContainerAllocateResponse
TOO_LARGE = 128 * 1024


def _bend(conduct: Conduct, bend: Callable[[Granted, Sequence[str]], object]) -> None:
    """Change every answer that grants something."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> Granted:
        answer = good(ids)
        if ids:
            bend(answer, ids)
        return answer

    conduct.allocate_one = allocate_one


def _set(conduct: Conduct, name: str, value: str) -> None:
    def bend(answer: Granted, _: Sequence[str]) -> None:
        answer.envs[name] = value

    _bend(conduct, bend)


def _mount(conduct: Conduct, host_path: str, container_path: str) -> None:
    _bend(conduct, lambda answer, _: answer.mounts.add(host_path=host_path, container_path=container_path))


def _device(conduct: Conduct, host_path: str, container_path: str, permissions: str = "rw") -> None:
    _bend(
        conduct,
        lambda answer, _: answer.devices.add(
            host_path=host_path, container_path=container_path, permissions=permissions
        ),
    )


def _two_resources(conduct: Conduct) -> None:
    """Every other device belongs to a second resource."""
    conduct.resources = ["example.com/even", "example.com/odd"]
    good = conduct.devices

    def devices(resource: str) -> list[api_pb2.Device]:
        is_odd = resource == conduct.resources[1]
        return [each for each in good(resource) if (each.ID[-1:] in set("13579")) == is_odd]

    conduct.devices = devices


@fault("grants-nothing", "spec-nonempty", "spec-device-nodes-or-cdi")
def grants_nothing(conduct: Conduct) -> None:
    """Its answers are empty."""
    conduct.allocate_one = lambda _: Granted()


@fault("equals-in-variable", "spec-env-name")
def equals_in_variable(conduct: Conduct) -> None:
    """A variable has an equals sign in its name."""
    _set(conduct, "A=B", "c")


@fault("dot-in-variable", "spec-env-name")
def dot_in_variable(conduct: Conduct) -> None:
    """A variable has a dot in its name."""
    _set(conduct, "a.b", "c")


@fault("huge-variable", "spec-env-size")
def huge_variable(conduct: Conduct) -> None:
    """A variable is larger than any process can be given."""
    _set(conduct, "HUGE", "x" * TOO_LARGE)


@fault("repeats-in-variable", "spec-env-no-duplicates")
def repeats_in_variable(conduct: Conduct) -> None:
    """A list in a variable has an item twice."""
    _set(conduct, "CARDS", "card-0,card-0")


@fault("unclean-path", "spec-paths-absolute")
def unclean_path(conduct: Conduct) -> None:
    """The container path of a mount makes a detour."""
    _mount(conduct, "/etc", "/data/../data")


@fault("no-permissions", "spec-device-permissions")
def no_permissions(conduct: Conduct) -> None:
    """A device may be used for nothing."""
    _device(conduct, "/dev/zero", "/dev/useless", "")


@fault("same-container-path", "spec-container-path-unique")
def same_container_path(conduct: Conduct) -> None:
    """Two devices have the same path in the container."""
    _device(conduct, "/dev/zero", "/dev/same")
    _device(conduct, "/dev/full", "/dev/same")


@fault("missing-host-path", "spec-host-path-exists")
def missing_host_path(conduct: Conduct) -> None:
    """A mount is of a directory that is not there."""
    _mount(conduct, "/no/such/directory", "/data")


@fault("file-as-device", "spec-device-is-device")
def file_as_device(conduct: Conduct) -> None:
    """A file is granted as a device."""
    _device(conduct, "/etc/passwd", "/dev/passwd")


@fault("link-as-host-path", "spec-symlink-host-path")
def link_as_host_path(conduct: Conduct) -> None:
    """A link is mounted."""
    _mount(conduct, "/proc/mounts", "/data")


@fault("mounts-over-dev", "spec-mount-target-sane")
def mounts_over_dev(conduct: Conduct) -> None:
    """It mounts a directory over /dev."""
    _mount(conduct, "/etc", "/dev")


@fault("same-variable", "spec-cross-resource-conflicts")
def same_variable(conduct: Conduct) -> None:
    """Two resources set the same variable."""
    _two_resources(conduct)


@fault("odd-annotation", "spec-annotation-valid")
def odd_annotation(conduct: Conduct) -> None:
    """The key of an annotation has a blank."""

    def bend(answer: Granted, _: Sequence[str]) -> None:
        answer.annotations["two words"] = "x"

    _bend(conduct, bend)


@fault("variable-alone", "spec-device-nodes-or-cdi")
def variable_alone(conduct: Conduct) -> None:
    """It grants by a variable and nothing else."""
    _bend(conduct, lambda answer, _: answer.ClearField("devices"))


def _name(conduct: Conduct, prefix: str) -> None:
    def bend(answer: Granted, ids: Sequence[str]) -> None:
        for each in ids:
            answer.cdi_devices.add(name=f"{prefix}{each}")

    _bend(conduct, bend)


@fault("no-cdi-name", "cdi-name-grammar", "cdi-name-resolvable")
def no_cdi_name(conduct: Conduct) -> None:
    """Its CDI names are ids alone."""
    _name(conduct, "")


@fault("digit-in-cdi-name", "cdi-name-resolvable")
def digit_in_cdi_name(conduct: Conduct) -> None:
    """Its CDI names have devices that begin with a digit."""
    _name(conduct, "faulty.example.com/card=0-")


@fault("undefined-cdi-name", "cdi-name-resolvable")
def undefined_cdi_name(conduct: Conduct) -> None:
    """Its CDI names are in no file."""
    _name(conduct, "faulty.example.com/card=")


@fault("cdi-twice", "cdi-not-both-channels", "cdi-name-resolvable")
def cdi_twice(conduct: Conduct) -> None:
    """It names a CDI device in the field and in an annotation."""
    _name(conduct, "faulty.example.com/card=")

    def bend(answer: Granted, _: Sequence[str]) -> None:
        answer.annotations["cdi.k8s.io/faulty"] = ",".join(each.name for each in answer.cdi_devices)

    _bend(conduct, bend)


@fault("same-cdi-key", "cdi-annotation-key-unique", "spec-cross-resource-conflicts", "cdi-name-resolvable")
def same_cdi_key(conduct: Conduct) -> None:
    """Two resources use the same key for their CDI annotations."""
    _two_resources(conduct)

    def bend(answer: Granted, ids: Sequence[str]) -> None:
        answer.annotations["cdi.k8s.io/faulty"] = ",".join(f"faulty.example.com/card={each}" for each in ids)

    _bend(conduct, bend)
