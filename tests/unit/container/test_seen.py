from __future__ import annotations

from kubelet_sim.container.seen import Compared, Seen, SeenMount, SeenNode, compared

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
    seen = Seen.of(b"A=1\0B=x=y\0A=2\0\0", NODES + NODES, MOUNTS)
    assert seen.env == {"A": "2", "B": "x=y"}
    assert seen.nodes == (
        SeenNode("/dev/null", "c", 1, 3, 0o666, 0, 0),
        SeenNode("/dev/odd|name", "b", 7, 15, 0o660, 0, 6),
        SeenNode("/run/p", "p", 0, 0, 0o644, 1, 2),
    )
    assert seen.mounts == (
        SeenMount("/", "ext4", "/", read_only=False),
        SeenMount("/m", "ext4", "/sub dir", read_only=True),
        SeenMount("/m", "tmpfs", "/", read_only=False),
    )
    assert str(seen.nodes[1]) == "b 7:15 0660 0:6"


def test_odd_bytes_are_written_out() -> None:
    """A container may hold any."""
    assert Seen.of(b"A=\xff", b"", b"").env == {"A": "\\xff"}


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
    found = compared(SPEC, Seen.of(b"A=2", NODES, MOUNTS))
    assert found == (
        Compared("env", "A", "2", "2"),
        Compared("env", "GONE", "1", ""),
        Compared("device", "/dev/null", "c 1:3", "c 1:3"),
        Compared("device", "/run/p", "p 0:0", "p 0:0"),
        Compared("mount", "/m", "ro", "rw"),
        Compared("mount", "/n", "rw", ""),
    )
    assert [each.is_as_wanted for each in found] == [True, False, True, True, False, False]


def test_mounts_of_cdi_files_are_asked_for() -> None:
    """They have no type, or one of their own; what every container has is not asked for, privileged or not."""
    mounts = [
        {"destination": "/sys", "type": "sysfs", "options": ["rw"]},
        {"destination": "/m", "options": ["rbind", "rw"]},
        {"destination": "/t", "type": "tmpfs"},
    ]
    found = compared({**SPEC, "mounts": mounts}, Seen.of(b"", NODES, MOUNTS))
    assert [each for each in found if each.part == "mount"] == [
        Compared("mount", "/m", "rw", "rw"),
        Compared("mount", "/t", "rw", ""),
    ]


def test_paths_that_are_not_clean() -> None:
    """They are looked for where they lead to."""
    mounts = [{"destination": path, "type": "bind", "options": ["rw"]} for path in ("/m/", "//m", "m", "/x/../m")]
    devices = [{"path": "//dev/null", "type": "c", "major": 1, "minor": 3}]
    found = compared({**SPEC, "mounts": mounts, "linux": {"devices": devices}}, Seen.of(b"", NODES, MOUNTS))
    assert [each.is_as_wanted for each in found if each.part != "env"] == [True] * 5


def test_what_a_runtime_makes_itself() -> None:
    """A privileged container asks for all devices of the host; its terminals are its own all the same."""
    devices = [{"path": path, "type": "c", "major": 5, "minor": 2} for path in ("/dev/ptmx", "/dev/console")]
    found = compared({**SPEC, "linux": {"devices": devices}}, Seen.of(b"", NODES, MOUNTS))
    assert [each for each in found if each.part == "device"] == []
