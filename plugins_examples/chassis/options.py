"""The part of the command line that all these plugins have in common, and the kinds of value that they take."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from plugins_examples.chassis.lifecycle import Settings
from plugins_examples.chassis.sockets import SOCKET_PATH_BYTES, longest_socket_path, socket_stem

RESOURCE = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# Beyond some 70,000 the list would no longer fit into one message.
MOST_DEVICES = 10_000


def make_parser(name: str, description: str) -> argparse.ArgumentParser:
    """A parser with the options that every plugin has but its resource; `name` is that of the plugin's package."""
    parser = argparse.ArgumentParser(prog=f"python -m plugins_examples.{name}", description=description)
    parser.add_argument(
        "--socket-dir",
        type=Path,
        default=Path("/var/lib/kubelet/device-plugins"),
        metavar="DIR",
        help="where kubelet.sock lies, and our own socket (%(default)s)",
    )
    parser.add_argument(
        "--unhealthy-file",
        type=Path,
        metavar="FILE",
        help="ids in this file, one a line, are unhealthy for as long as they stand there",
    )
    return parser


def add_registry(parser: argparse.ArgumentParser) -> None:
    """`--registry DIR`."""
    parser.add_argument(
        "--registry",
        type=Path,
        metavar="DIR",
        help="serve there and be found by the kubelet's plugin watcher, instead of calling Register: "
        "/var/lib/kubelet/plugins_registry",
    )


def add_resource(parser: argparse.ArgumentParser, default: str) -> None:
    """`--resource NAME`."""
    parser.add_argument(
        "--resource", type=resource, default=default, metavar="NAME", help="resource name (%(default)s)"
    )


def add_devices(parser: argparse.ArgumentParser, default: int) -> None:
    """`--devices N`."""
    parser.add_argument("--devices", type=count, default=default, metavar="N", help="how many there are (%(default)s)")


def settings(
    parser: argparse.ArgumentParser, options: argparse.Namespace, plugin: str, resources: Iterable[str]
) -> Settings:
    """What the common options say; from here on the log speaks in the plugin's name. Ends the process on misuse."""
    socket_dir = options.socket_dir.absolute()
    registry = options.registry.absolute() if getattr(options, "registry", None) else None
    option = "--registry" if registry else "--socket-dir"
    for each in resources:
        if (length := longest_socket_path(registry or socket_dir, socket_stem(plugin, each))) > SOCKET_PATH_BYTES:
            parser.error(f"{option}: socket paths would have {length} bytes, {SOCKET_PATH_BYTES} are possible")
    logging.basicConfig(level=logging.INFO, format=f"{plugin}: %(message)s", stream=sys.stderr)
    return Settings(plugin, socket_dir, options.unhealthy_file, registry)


def resource(text: str) -> str:
    """A resource name. Raises `ArgumentTypeError`."""
    if not RESOURCE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no resource name such as example.com/gpu")
    return text


def variable(text: str) -> str:
    """The name of an environment variable. Raises `ArgumentTypeError`."""
    if not VARIABLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a variable")
    return text


def count(text: str) -> int:
    """A number of devices. Raises `ArgumentTypeError`."""
    if not text.isascii() or not text.isdigit() or len(text) > len(str(MOST_DEVICES)) or int(text) > MOST_DEVICES:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to {MOST_DEVICES}")
    return int(text)
