"""The example with device nodes: which paths are devices, and what becomes of one that is pulled out."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.plugin import Refused
from plugins_examples.device_nodes.__main__ import mount
from plugins_examples.device_nodes.plugin import DeviceNodes, Mounted


def _plugin(*patterns: Path, permissions: str = "rw") -> DeviceNodes:
    return DeviceNodes("example.com/serial", [str(each) for each in patterns], permissions, [])


def test_follows_what_is_plugged_in(tmp_path: Path) -> None:
    """What turns up joins the list at its end; what is pulled out stays, unhealthy, and is mended when it is back."""
    first, second = tmp_path / "tty1", tmp_path / "tty0"
    plugin = _plugin(tmp_path / "tty*")
    assert plugin.devices() == ()
    first.symlink_to("/dev/null")
    assert plugin.devices() == (Device(str(first)),)
    second.symlink_to("/dev/zero")
    first.unlink()
    assert plugin.devices() == (Device(str(first), healthy=False), Device(str(second)))
    first.symlink_to("/dev/null")
    assert plugin.devices() == (Device(str(first)), Device(str(second)))


def test_takes_devices_only(tmp_path: Path) -> None:
    """A pattern passes over directories, files, broken links and names that are no text."""
    (tmp_path / "tty-directory").mkdir()
    (tmp_path / "tty-file").touch()
    (tmp_path / "tty-broken").symlink_to(tmp_path / "nothing")
    (tmp_path / "tty-\udcff").symlink_to("/dev/null")
    (tmp_path / "tty0").symlink_to("/dev/null")
    assert _plugin(tmp_path / "tty*").devices() == (Device(str(tmp_path / "tty0")),)


def test_a_path_in_full_is_listed_while_it_is_away(tmp_path: Path) -> None:
    """A device named in full belongs to the list from the start; one with brackets in its name is no pattern."""
    odd = tmp_path / "tty[0]"
    odd.symlink_to("/dev/null")
    plugin = _plugin(tmp_path / "away", odd)
    assert plugin.devices() == (Device(str(tmp_path / "away"), healthy=False), Device(str(odd)))


def test_grants_where_a_link_leads(tmp_path: Path) -> None:
    """The host's path is that of the node itself, the container's is the name; permissions are as told."""
    link = tmp_path / "by-id"
    link.symlink_to("/dev/null")
    answer = _plugin(link, permissions="r").allocate([str(link)])
    (node,) = answer.devices
    assert (node.container_path, node.host_path, node.permissions) == (str(link), "/dev/null", "r")


def test_what_is_gone_is_not_granted(tmp_path: Path) -> None:
    """A device that was pulled out since the last list is refused."""
    with pytest.raises(Refused, match=r"tty0' is gone") as caught:
        _plugin(tmp_path / "tty*").allocate([str(tmp_path / "tty0")])
    assert caught.value.code is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize(
    "text, mounted",
    [
        ("/etc", Mounted("/etc", "/etc", read_only=False)),
        ("/etc:/x", Mounted("/etc", "/x", read_only=False)),
        ("/etc:/x:ro", Mounted("/etc", "/x", read_only=True)),
    ],
)
def test_a_mount_has_the_hosts_path_unless_it_is_named(text: str, mounted: Mounted) -> None:
    """The container's path is the host's unless it is named; read-only is the third part."""
    assert mount(text) == mounted
