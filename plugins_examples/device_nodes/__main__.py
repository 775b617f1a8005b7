"""The command: `python -m plugins_examples.device_nodes`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from plugins_examples.chassis.options import add_registry, add_resource, make_parser, settings
from plugins_examples.chassis.process import run_until_signal
from plugins_examples.device_nodes.plugin import DeviceNodes, Mounted, is_text

SERIAL_PORTS = ("/dev/ttyUSB*", "/dev/ttyACM*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser("device_nodes", "A device plugin for devices with a path, such as serial ports.")
    add_resource(parser, "example.com/serial")
    parser.add_argument(
        "--device",
        type=text,
        nargs="+",
        action="extend",
        metavar="HOSTPATH",
        help=f"path of a device, or a pattern such as '/dev/ttyUSB*' ({' '.join(SERIAL_PORTS)})",
    )
    parser.add_argument(
        "--permissions", type=permissions, default="rw", metavar="rwm", help="read, write, mknod (%(default)s)"
    )
    parser.add_argument(
        "--mount",
        type=mount,
        action="append",
        default=[],
        metavar="HOSTDIR[:CONTAINERDIR[:ro]]",
        help="a directory that every container with a device gets to see; may be repeated",
    )
    add_registry(parser)
    options = parser.parse_args(arguments)
    plugin = DeviceNodes(options.resource, options.device or SERIAL_PORTS, options.permissions, options.mount)
    return run_until_signal(settings(parser, options, "device-nodes", [plugin.resource]), [plugin])


def text(value: str) -> str:
    """A path that can be an id. Raises `ArgumentTypeError`."""
    if not value or not is_text(value):
        raise argparse.ArgumentTypeError(f"{value!a} is no path in UTF-8")
    return value


def permissions(value: str) -> str:
    """Letters of r, w and m, each at most once. Raises `ArgumentTypeError`."""
    if not value or not set(value) <= set("rwm") or len(set(value)) < len(value):
        raise argparse.ArgumentTypeError(f"{value!r} is not made of r, w and m")
    return value


def mount(value: str) -> Mounted:
    """`/host`, `/host:/container` or `/host:/container:ro`. Raises `ArgumentTypeError`."""
    host, *rest = text(value).split(":")
    container, *mode = rest or [host]
    if not host.startswith("/") or not container.startswith("/") or mode not in ([], ["ro"]):
        raise argparse.ArgumentTypeError(f"{value!r} is not of the form /host:/container:ro")
    return Mounted(host, container, read_only=bool(mode))


if __name__ == "__main__":
    sys.exit(main())
