"""The command: `python -m plugins_examples.pre_start`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from plugins_examples.chassis.options import add_devices, add_registry, add_resource, make_parser, settings
from plugins_examples.chassis.process import run_until_signal
from plugins_examples.pre_start.plugin import PreStart


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser("pre_start", "A device plugin that resets a container's devices before each of its starts.")
    add_resource(parser, "example.com/accelerator")
    add_devices(parser, 4)
    parser.add_argument(
        "--reset-dir",
        type=Path,
        required=True,
        metavar="DIR",
        help="a reset of a device is a line in a file of its name in this directory",
    )
    parser.add_argument(
        "--stuck-file",
        type=Path,
        metavar="FILE",
        help="ids in this file, one a line, cannot be reset for as long as they stand there",
    )
    add_registry(parser)
    options = parser.parse_args(arguments)
    plugin = PreStart(options.resource, options.devices, options.reset_dir, options.stuck_file)
    return run_until_signal(settings(parser, options, "pre-start", [plugin.resource]), [plugin])


if __name__ == "__main__":
    sys.exit(main())
