"""The command: `python -m plugins_examples.env_gpu`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from plugins_examples.chassis.options import add_registry, add_resource, count, make_parser, settings, variable
from plugins_examples.chassis.process import run_until_signal
from plugins_examples.env_gpu.plugin import EnvGpu


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser(
        "env_gpu",
        "A device plugin with pretended GPUs. A container is told by an environment variable which are its own.",
    )
    add_resource(parser, "example.com/gpu")
    parser.add_argument("--gpus", type=count, default=4, metavar="N", help="how many GPUs there are (%(default)s)")
    parser.add_argument(
        "--env",
        type=variable,
        default="NVIDIA_VISIBLE_DEVICES",
        metavar="NAME",
        help="variable that grants (%(default)s)",
    )
    add_registry(parser)
    options = parser.parse_args(arguments)
    plugin = EnvGpu(options.resource, options.gpus, options.env)
    return run_until_signal(settings(parser, options, "env-gpu", [plugin.resource]), [plugin])


if __name__ == "__main__":
    sys.exit(main())
