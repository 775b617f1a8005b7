"""Faults of the plugin's files, and of its start in surroundings that are not as usual."""

from __future__ import annotations

import os
from pathlib import Path

import grpc

from plugins_examples.chassis.sockets import socket_stem
from plugins_examples.faulty.conduct import Conduct, Context
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

PADDING = 50


@fault(
    "long-socket-name",
    "sock-path-length",
    also="reg-happens reg-serve-before-register reg-listening-when-registered reg-retry-backoff reg-error-surfaced",
)
def long_socket_name(conduct: Conduct) -> None:
    """It binds a name of its directory from within, which works with a name that is too long to be dialled."""
    good = conduct.socket_path

    def socket_path(folder: Path, resource: str) -> Path:
        os.chdir(folder)
        return Path("x" * PADDING + good(folder, resource).name)

    conduct.socket_path = socket_path


@fault("refuses-stale-socket", "sock-stale-file-replaced", also="takeover-unique-socket takeover-surge")
def refuses_stale_socket(conduct: Conduct) -> None:
    """Its socket has one name, and must not be there yet."""

    def socket_path(folder: Path, resource: str) -> Path:
        path = folder / f"{socket_stem('faulty', resource)}.sock"
        if path.exists():
            raise FileExistsError(f"{path}: address already in use")
        return path

    conduct.socket_path = socket_path


@fault("leaves-refused-sockets", "sock-no-leak-on-failed-register")
def leaves_refused_sockets(conduct: Conduct) -> None:
    """Each registration that fails leaves a socket."""
    conduct.removes_refused_socket = False


@fault("sweeps-directory", "sock-leaves-others-alone")
def sweeps_directory(conduct: Conduct) -> None:
    """It removes the sockets of all others before it makes its own."""
    good = conduct.socket_path

    def socket_path(folder: Path, resource: str) -> Path:
        for path in folder.glob("*.sock"):
            if path.name != "kubelet.sock" and not path.name.startswith("faulty-"):
                path.unlink(missing_ok=True)
        return good(folder, resource)

    conduct.socket_path = socket_path


@fault("ends-well-without-directory", "sock-missing-dir-error")
def ends_well_without_directory(conduct: Conduct) -> None:
    """Without the directory it ends with 0, and says nothing."""
    conduct.waits_for_directory = False


@fault("localhost-only", "grpc-authority-tolerant")
def localhost_only(conduct: Conduct) -> None:
    """It answers those alone who call it localhost, as strict HTTP/2 servers do."""

    def options(context: Context) -> api_pb2.DevicePluginOptions:
        # There is no public way to the authority of a call.
        called = context._rpc_event.call_details.host  # type: ignore[attr-defined]  # noqa: SLF001
        if called != b"localhost":
            context.abort(grpc.StatusCode.INTERNAL, "protocol error: malformed authority")
        return api_pb2.DevicePluginOptions()

    conduct.options = options


def _has_hardware(conduct: Conduct) -> bool:
    return conduct.hardware is None or any(conduct.hardware.iterdir())


def _end_without_hardware(conduct: Conduct, code: int) -> None:
    def at_start() -> None:
        if not _has_hardware(conduct):
            conduct.exit_code = code
            raise SystemExit

    conduct.at_start = at_start


@fault("ends-without-hardware", "life-no-hardware-stays-up", also="life-no-hardware-visible law-empty-list-explicit")
def ends_without_hardware(conduct: Conduct) -> None:
    """Without hardware it ends with 0, as if its work were done."""
    _end_without_hardware(conduct, 0)


@fault("fails-without-hardware", "life-no-hardware-stays-up", also="life-no-hardware-visible law-empty-list-explicit")
def fails_without_hardware(conduct: Conduct) -> None:
    """Without hardware it ends with 1."""
    _end_without_hardware(conduct, 1)


@fault("silent-without-hardware", "life-no-hardware-visible", also="law-empty-list-explicit")
def silent_without_hardware(conduct: Conduct) -> None:
    """Without hardware it stays, and gives no sign of itself."""

    def at_start() -> None:
        conduct.registers = _has_hardware(conduct)

    conduct.at_start = at_start
