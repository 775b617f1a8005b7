"""The command: `python -m plugins_examples.faulty`."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults import FAULTS
from plugins_examples.faulty.plugin import run
from plugins_examples.faulty.ways import cdi_annotations, fixed_socket


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m plugins_examples.faulty", description="A plugin with one fault.")
    parser.add_argument(
        "--socket-dir", type=Path, default=Path("/var/lib/kubelet/device-plugins"), metavar="DIR", help="(%(default)s)"
    )
    parser.add_argument("--fault", choices=sorted(FAULTS), metavar="NAME", help="without it the plugin is good")
    parser.add_argument("--hardware", type=Path, metavar="DIR", help="a file in it is a device, healthy if it says ok")
    parser.add_argument("--resource", action="append", metavar="NAME", help="may be repeated (example.com/faulty)")
    parser.add_argument("--fixed-socket", action="store_true", help="the socket has the same name at each start")
    parser.add_argument("--cdi-annotations", action="store_true", help="answers name CDI devices in annotations")
    parser.add_argument("--list-faults", action="store_true", help="show all, and the checks that they are for")
    options = parser.parse_args(arguments)
    if options.list_faults:
        for fault in FAULTS.values():
            print(f"{fault.name}: {', '.join(fault.checks)}: {fault.text}")  # noqa: T201 - that is what was asked for
        return 0
    logging.basicConfig(level=logging.INFO, format="faulty: %(message)s", stream=sys.stderr)
    conduct = Conduct(options.hardware, options.socket_dir.absolute())
    if options.resource:
        conduct.resources = options.resource
    if options.fixed_socket:
        fixed_socket(conduct)
    if options.cdi_annotations:
        cdi_annotations(conduct)
    stopping = threading.Event()
    if options.fault:
        FAULTS[options.fault].apply(conduct)

    def stop(*_: object) -> None:
        conduct.at_stop()
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    worker = threading.Thread(target=run, args=(conduct, conduct.folder, stopping))
    worker.start()
    while worker.is_alive():
        worker.join(0.1)
    return conduct.exit_code


if __name__ == "__main__":
    sys.exit(main())
