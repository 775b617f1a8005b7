from __future__ import annotations

from kubelet_sim.container.observed_container import (
    Comparison,
    ObservedContainer,
    ObservedMount,
    ObservedNode,
    comparisons,
)

MOUNTS = rb"""22 1 0:20 / / rw,relatime - ext4 /dev/root rw
23 22 0:21 /sub\040dir /m ro,nosuid shared:1 - ext4 /dev/root rw
24 22 0:22 / /m rw - tmpfs tmpfs rw
nonsense
"""
NODES = b"""character special file|1|3|666|0|0|/dev/null
block special file|7|f|660|0|6|/dev/odd|name
directory|0|0|755|0|0|/dev/x
fifo|0|0|644|1|2|/run/p
nonsense
"""


def test_reports_are_read() -> None:
    """Of two variables of one name the last one counts; numbers of devices are hexadecimal, modes octal."""
    seen = ObservedContainer.of(b"A=1\0B=x=y\0A=2\0\0", NODES + NODES, MOUNTS)
    assert seen.env == {"A": "2", "B": "x=y"}
    assert seen.nodes == (
        ObservedNode("/dev/null", "c", 1, 3, 0o666, 0, 0),
        ObservedNode("/dev/odd|name", "b", 7, 15, 0o660, 0, 6),
        ObservedNode("/run/p", "p", 0, 0, 0o644, 1, 2),
    )
    assert seen.mounts == (
        ObservedMount("/", "ext4", "/", read_only=False),
        ObservedMount("/m", "ext4", "/sub dir", read_only=True),
        ObservedMount("/m", "tmpfs", "/", read_only=False),
    )
    assert str(seen.nodes[1]) == "b 7:15 0660 0:6"


def test_odd_bytes_are_written_out() -> None:
    """A container may hold any."""
    assert ObservedContainer.of(b"A=\xff", b"", b"").env == {"A": "\\xff"}


SPEC = {
    "process": {"env": ["A=1", "A=2", "GONE=1"]},
    "mounts": [
        {"destination": "/proc", "type": "proc"},
        {"destination": "/m", "type": "bind", "options": ["rbind", "ro"]},
        {"destination": "/n", "type": "bind", "options": ["rbind", "rw"]},
    ],
    "linux": {"devices": [{"path": "/dev/null", "type": "c", "major": 1, "minor": 3}, {"path": "/run/p", "type": "p"}]},
}


def test_what_was_wanted_beside_what_was_seen() -> None:
    """By name and path; the mount on top counts, and defaults are not asked for."""
    found = comparisons(SPEC, ObservedContainer.of(b"A=2", NODES, MOUNTS))
    assert found == (
        Comparison("env", "A", "2", "2"),
        Comparison("env", "GONE", "1", ""),
        Comparison("device", "/dev/null", "c 1:3", "c 1:3"),
        Comparison("device", "/run/p", "p 0:0", "p 0:0"),
        Comparison("mount", "/m", "ro", "rw"),
        Comparison("mount", "/n", "rw", ""),
    )
    assert [each.is_as_wanted for each in found] == [True, False, True, True, False, False]


def test_mounts_of_cdi_files_are_asked_for() -> None:
    """They have no type, or one of their own; what every container has is not asked for, privileged or not."""
    mounts = [
        {"destination": "/sys", "type": "sysfs", "options": ["rw"]},
        {"destination": "/m", "options": ["rbind", "rw"]},
        {"destination": "/t", "type": "tmpfs"},
    ]
    found = comparisons({**SPEC, "mounts": mounts}, ObservedContainer.of(b"", NODES, MOUNTS))
    assert [each for each in found if each.part == "mount"] == [
        Comparison("mount", "/m", "rw", "rw"),
        Comparison("mount", "/t", "rw", ""),
    ]


def test_paths_that_are_not_clean_are_looked_for_where_they_lead() -> None:
    """A path with dots or doubled slashes is compared at the place where it leads to."""
    mounts = [{"destination": path, "type": "bind", "options": ["rw"]} for path in ("/m/", "//m", "m", "/x/../m")]
    devices = [{"path": "//dev/null", "type": "c", "major": 1, "minor": 3}]
    found = comparisons(
        {**SPEC, "mounts": mounts, "linux": {"devices": devices}}, ObservedContainer.of(b"", NODES, MOUNTS)
    )
    assert [each.is_as_wanted for each in found if each.part != "env"] == [True] * 5


def test_what_a_runtime_makes_itself_is_not_compared() -> None:
    """A privileged container asks for all devices of the host; its terminals are its own all the same."""
    devices = [{"path": path, "type": "c", "major": 5, "minor": 2} for path in ("/dev/ptmx", "/dev/console")]
    found = comparisons({**SPEC, "linux": {"devices": devices}}, ObservedContainer.of(b"", NODES, MOUNTS))
    assert [each for each in found if each.part == "device"] == []
