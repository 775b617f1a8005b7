"""The command: `python -m plugins_examples.aio`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Sequence

from plugins_examples.aio.lifecycle import Lifecycle
from plugins_examples.chassis.devices import Device
from plugins_examples.chassis.options import add_devices, add_resource, make_parser, settings

STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin until SIGTERM or SIGINT. Returns the exit code: 0 asked to stop, 1 the plugin failed, 2 misuse."""
    parser = make_parser("aio", "A device plugin on asyncio, with pretended sensors.")
    add_resource(parser, "example.com/sensor")
    add_devices(parser, 4)
    options = parser.parse_args(arguments)
    devices = tuple(Device(f"sensor-{number}") for number in range(options.devices))
    chosen = settings(parser, options, "aio", [options.resource])
    # Before any thread begins, so that in none a signal interrupts anything; those of gRPC must not take one either.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    asyncio.run(until_signal(Lifecycle(chosen, options.resource, devices)))
    return 0


async def until_signal(lifecycle: Lifecycle) -> None:
    """Run it until SIGTERM or SIGINT cancels it; returns when it has cleaned up."""
    loop = asyncio.get_running_loop()
    life = asyncio.ensure_future(lifecycle.run())

    def wait() -> None:
        # Once: a second signal stays blocked. `loop.add_signal_handler` would let it in again when the loop has closed.
        signal.sigwait(STOPPING)
        loop.call_soon_threadsafe(life.cancel)

    threading.Thread(target=wait, name="signals", daemon=True).start()
    with contextlib.suppress(asyncio.CancelledError):
        await life


if __name__ == "__main__":
    sys.exit(main())
