"""The command: `python -m plugins_examples.two_resources`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from plugins_examples.chassis.options import add_registry, count, make_parser, resource, settings
from plugins_examples.chassis.process import run_until_signal
from plugins_examples.two_resources.plugin import Units, variable_of

CARD = (("example.com/encoder", 2), ("example.com/decoder", 4))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 a resource failed, 2 misuse."""
    parser = make_parser("two_resources", "A device plugin that serves two resources, or more, in one process.")
    parser.add_argument(
        "--resource",
        type=resource_and_count,
        action="append",
        metavar="NAME=COUNT",
        help=f"a resource; give one for each ({' '.join(f'{name}={number}' for name, number in CARD)})",
    )
    add_registry(parser)
    options = parser.parse_args(arguments)
    plugins = [Units(name, number) for name, number in options.resource or CARD]
    names = [plugin.resource for plugin in plugins]
    if len({variable_of(name.partition("/")[2]) for name in names}) < len(names):
        parser.error("--resource: two resources have the same name, or names that are told apart by signs alone")
    return run_until_signal(settings(parser, options, "two-resources", names), plugins)


def resource_and_count(text: str) -> tuple[str, int]:
    """`NAME=COUNT`. Raises `ArgumentTypeError`."""
    name, _, number = text.partition("=")
    return resource(name), count(number)


if __name__ == "__main__":
    sys.exit(main())
