from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.cli.plugin import check_names, devices, socket_name, with_options
from kubelet_sim.errors import UsageError
from kubelet_sim.scenario.plugins.script import read_script

RESOURCE = "example.com/dev"


@pytest.mark.parametrize(
    "count, numa, expected",
    [
        (None, None, ["dev-0", "dev-1", "dev-2", "dev-3"]),
        (2, None, ["dev-0", "dev-1"]),
        (3, "0,1", [("dev-0", 0), ("dev-1", 1), ("dev-2", 0)]),
        (None, "0:1,3:2", [("dev-0", 0), ("dev-1", 3), ("dev-2", 3)]),
        (3, "0:1,3:2", [("dev-0", 0), ("dev-1", 3), ("dev-2", 3)]),
        (0, "1", []),
    ],
)
def test_devices(count: int | None, numa: str | None, expected: list[Any]) -> None:
    """Dealt out in turn, or so many to each node; without nodes they have no topology."""
    assert [(each["id"], *each["numa"]) if "numa" in each else each["id"] for each in devices(count, numa)] == expected


@pytest.mark.parametrize("count, numa", [(4, "0:1"), (None, "x"), (None, "0:"), (None, "0:1,2"), (None, "0:999999")])
def test_places_that_make_no_sense(count: int | None, numa: str) -> None:
    """Misuse, with what was said."""
    with pytest.raises(UsageError, match=numa):
        devices(count, numa)


def test_options_make_a_script() -> None:
    """A resource is enough: four devices, a socket and a variable named after it."""
    script = read_script(with_options({}, resource=RESOURCE))
    assert (script.resource, script.socket) == (RESOURCE, "example.com-dev.sock")
    assert len(script.devices or ()) == 4
    assert script.allocate.envs == {"EXAMPLE_COM_DEV": "{ids}"}


def test_options_go_before_the_script() -> None:
    """What they do not say stays."""
    source = {"resource": "a.com/b", "devices": [{"id": "x"}], "allocate": {"envs": {"A": "1"}, "cdi": ["c=1"]}}
    assert with_options(source)["devices"] == [{"id": "x"}]
    changed = with_options(source, resource=RESOURCE, count=1, envs={"B": "{ids}"}, socket="s.sock")
    assert changed == {
        "resource": RESOURCE,
        "socket": "s.sock",
        "devices": [{"id": "dev-0"}],
        "allocate": {"envs": {"A": "1", "B": "{ids}"}, "cdi": ["c=1"]},
    }
    assert source["resource"] == "a.com/b"


def test_a_plugin_needs_a_resource() -> None:
    """It may stand in the script, and is misuse if it stands nowhere."""
    with pytest.raises(UsageError, match="--resource"):
        with_options({})


@pytest.mark.parametrize("resource, name", [("example.com/dev", "example.com-dev.sock"), ("../\x1b/", "plugin.sock")])
def test_names_of_sockets(resource: str, name: str) -> None:
    """No foreign character gets into a file name."""
    assert socket_name(resource) == name


def test_a_long_resource_has_a_short_socket() -> None:
    """The path of a socket ends at 107 bytes."""
    assert len(socket_name("x" * 300)) == 45


DIRECTORY = Path("/var/lib/kubelet/device-plugins")


@pytest.mark.parametrize("socket", ["", ".", "..", "a/b", "/x", "kubelet.sock", "x" * 200, "a\0b"])
def test_a_socket_that_is_none_of_ours(socket: str) -> None:
    """Misuse: neither the kubelet's own one, nor one that is elsewhere, nor one that cannot be."""
    with pytest.raises(UsageError, match="socket"):
        check_names(RESOURCE, socket, DIRECTORY, is_forced=True)


def test_a_resource_that_no_plugin_may_have() -> None:
    """It is refused as the kubelet would refuse it, unless somebody wants to see that (DM-24)."""
    check_names(RESOURCE, "p.sock", DIRECTORY, is_forced=False)
    with pytest.raises(UsageError, match="--force"):
        check_names("cpu", "p.sock", DIRECTORY, is_forced=False)
    check_names("cpu", "p.sock", DIRECTORY, is_forced=True)
