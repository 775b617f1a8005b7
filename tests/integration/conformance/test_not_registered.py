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


def test_a_plugin_that_never_called_register_is_told_so() -> None:
    """A plugin that never called Register is told apart from one that was refused."""
    assert not_registered("at first", []) == "at first, the plugin runs on and did not call Register within 60 s"


def test_refused_registrations_are_told_with_their_cause(short_root: Path) -> None:
    """Where each Register call failed, whether the plugin's socket is there tells why."""
    there, gone = short_root / "there.sock", short_root / "gone.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(there))
        text = not_registered("at first", [tried(gone), tried(there)])
    assert text == "at first, the plugin runs on and called Register 2 times within 60 s, in vain"
    text = not_registered("at first", [tried(gone)])
    assert "called Register 1 time within 60 s, in vain: its socket 'gone.sock' is not there" in text
