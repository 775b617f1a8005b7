"""The command: `python -m plugins_examples.env_gpu`."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from plugins_examples.env_gpu.inventory import Inventory, gpu_ids
from plugins_examples.env_gpu.lifecycle import Lifecycle, Settings
from plugins_examples.env_gpu.service import SOCKET_PATH_BYTES, longest_socket_path

RESOURCE = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    settings = Settings(
        resource=options.resource,
        socket_dir=options.socket_dir.absolute(),
        variable=options.env,
        unhealthy_file=options.unhealthy_file,
    )
    if (length := longest_socket_path(settings.socket_dir, settings.socket_stem)) > SOCKET_PATH_BYTES:
        parser.error(f"--socket-dir: socket paths would have {length} bytes, {SOCKET_PATH_BYTES} are possible")
    logging.basicConfig(level=logging.INFO, format="env-gpu: %(message)s", stream=sys.stderr)
    ids = gpu_ids(settings.resource, options.gpus)
    return run_until_signal(Lifecycle(settings, Inventory(ids)))


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m plugins_examples.env_gpu",
        description="A device plugin with pretended GPUs. A container is told by an environment variable which are its own.",
    )
    parser.add_argument("--resource", type=resource, default="example.com/gpu", help="resource name (%(default)s)")
    parser.add_argument("--gpus", type=count, default=4, metavar="N", help="how many GPUs there are (%(default)s)")
    parser.add_argument(
        "--socket-dir",
        type=Path,
        default=Path("/var/lib/kubelet/device-plugins"),
        metavar="DIR",
        help="where kubelet.sock lies, and our own socket (%(default)s)",
    )
    parser.add_argument(
        "--env",
        type=variable,
        default="NVIDIA_VISIBLE_DEVICES",
        metavar="NAME",
        help="variable that grants (%(default)s)",
    )
    parser.add_argument(
        "--unhealthy-file",
        type=Path,
        metavar="FILE",
        help="ids in this file, one a line, are unhealthy for as long as they stand there",
    )
    return parser


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
    # Beyond some 70,000 the list would no longer fit into one message.
    if not text.isascii() or not text.isdigit() or int(text) > 10_000:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 10000")
    return int(text)


def run_until_signal(lifecycle: Lifecycle) -> int:
    """Run it in a thread, stop it at SIGTERM or SIGINT. Returns the exit code."""
    # Blocked before any thread begins: no handler runs in the middle of anything, `sigwait` alone takes them.
    awaited = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    outcome = [1]

    def live() -> None:
        try:
            lifecycle.run()
            outcome[0] = 0
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=live, name="lifecycle")
    thread.start()
    signal.sigwait(awaited)
    lifecycle.stop()
    thread.join()
    return outcome[0]


if __name__ == "__main__":
    sys.exit(main())
