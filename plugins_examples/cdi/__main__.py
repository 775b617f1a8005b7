"""The command: `python -m plugins_examples.cdi`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from plugins_examples.cdi.plugin import Cdi
from plugins_examples.chassis.options import add_devices, add_registry, add_resource, make_parser, settings
from plugins_examples.chassis.process import run_until_signal

KIND = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser("cdi", "A device plugin with pretended FPGAs that are described by a CDI file.")
    add_resource(parser, "example.com/fpga")
    add_devices(parser, 4)
    parser.add_argument(
        "--kind", type=kind, default="example.com/fpga", metavar="VENDOR/CLASS", help="CDI kind (%(default)s)"
    )
    parser.add_argument(
        "--cdi-dir", type=Path, default=Path("/var/run/cdi"), metavar="DIR", help="where the file goes (%(default)s)"
    )
    parser.add_argument(
        "--host-node", default="/dev/null", metavar="PATH", help="the host's node behind each device (%(default)s)"
    )
    add_registry(parser)
    options = parser.parse_args(arguments)
    directory = options.cdi_dir.absolute()
    plugin = Cdi(options.resource, options.kind, options.devices, directory, options.host_node)
    return run_until_signal(settings(parser, options, "cdi", [plugin.resource]), [plugin])


def kind(text: str) -> str:
    """A CDI kind. Raises `ArgumentTypeError`."""
    if not KIND.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no CDI kind such as example.com/fpga")
    return text


if __name__ == "__main__":
    sys.exit(main())
