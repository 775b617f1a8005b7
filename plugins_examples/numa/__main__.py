"""The command: `python -m plugins_examples.numa`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from plugins_examples.chassis.options import MOST_DEVICES, add_registry, add_resource, count, make_parser, settings
from plugins_examples.chassis.process import run_until_signal
from plugins_examples.numa.plugin import Numa

# The kubelet's masks have 64 bits: a device on a higher node would never be aligned with anything.
HIGHEST_NODE = 63


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser(
        "numa", "A device plugin whose devices lie on NUMA nodes, and which prefers those of one node."
    )
    add_resource(parser, "example.com/nic")
    parser.add_argument(
        "--numa",
        type=numa,
        default="0:4,1:4",
        metavar="NODE:COUNT,...",
        help="how many devices there are on which node (%(default)s)",
    )
    add_registry(parser)
    options = parser.parse_args(arguments)
    plugin = Numa(options.resource, options.numa)
    return run_until_signal(settings(parser, options, "numa", [plugin.resource]), [plugin])


def numa(text: str) -> Mapping[int, int]:
    """The number of devices by node. Raises `ArgumentTypeError`."""
    counts: dict[int, int] = {}
    for part in text.split(","):
        node, colon, number = part.partition(":")
        if not colon or not node.isascii() or not node.isdigit() or len(node) > len(str(HIGHEST_NODE)):
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form 0:4,1:4")
        if int(node) > HIGHEST_NODE or int(node) in counts:
            raise argparse.ArgumentTypeError(f"{text!r}: a node is named once, by a number from 0 to {HIGHEST_NODE}")
        counts[int(node)] = count(number)
    if sum(counts.values()) > MOST_DEVICES:
        raise argparse.ArgumentTypeError(f"{text!r} are more than {MOST_DEVICES} devices")
    return counts


if __name__ == "__main__":
    sys.exit(main())
