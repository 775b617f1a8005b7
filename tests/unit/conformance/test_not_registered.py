"""What is said of a plugin that was not registered in time."""

from __future__ import annotations

import socket
from pathlib import Path

from kubelet_sim.conformance.checks.registration import not_registered
from kubelet_sim.conformance.plugin_log import RegisterCall
from kubelet_sim.model.ids import ResourceName
from kubelet_sim.model.plugin import API_VERSION, Registration


def tried(path: Path) -> RegisterCall:
    """A Register call with the socket of that path."""
    return RegisterCall(1.0, Registration(API_VERSION, path.name, ResourceName("example.com/gpu")), None, str(path), 1)


def test_nobody_tried() -> None:
    """That is one kind of plugin."""
    assert not_registered("at first", []) == "at first, the plugin runs on and did not call Register within 60 s"


def test_all_tries_failed(short_root: Path) -> None:
    """That is another, and whether its socket is there tells why."""
    there, gone = short_root / "there.sock", short_root / "gone.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(there))
        text = not_registered("at first", [tried(gone), tried(there)])
    assert text == "at first, the plugin runs on and called Register 2 times within 60 s, in vain"
    text = not_registered("at first", [tried(gone)])
    assert "called Register 1 time within 60 s, in vain: its socket 'gone.sock' is not there" in text
