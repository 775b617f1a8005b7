"""A process that serves one or more resources until it is told to stop, and leaves nothing behind then."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Sequence

from plugins_examples.chassis.lifecycle import Lifecycle, Settings
from plugins_examples.chassis.plugin import Plugin
from plugins_examples.chassis.registry import FoundLifecycle

LOG = logging.getLogger(__name__)


def run_until_signal(settings: Settings, plugins: Sequence[Plugin]) -> int:
    """Serve each in a thread of its own, until SIGTERM or SIGINT, or until all of them have failed.

    Returns the exit code: 0, or 1 if any of them has failed. One that fails does not end the others.
    """
    # Blocked before any thread begins: no handler runs in the middle of anything, `sigwait` alone takes them.
    awaited = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    kind = FoundLifecycle if settings.registry else Lifecycle
    lifecycles = [kind(settings, plugin) for plugin in plugins]
    failed: list[str] = []

    def live(lifecycle: Lifecycle) -> None:
        try:
            lifecycle.run()
        except Exception as error:
            failed.append(lifecycle.resource)
            # Only a mistake of ours deserves a traceback.
            LOG.log(
                logging.ERROR, "%s has ended: %s", lifecycle.resource, error, exc_info=not isinstance(error, OSError)
            )

    def wait_for_all() -> None:
        for thread in threads:
            thread.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threads = [threading.Thread(target=live, args=[each], name=each.resource) for each in lifecycles]
    for thread in threads:
        thread.start()
    threading.Thread(target=wait_for_all, name="waiter", daemon=True).start()
    signal.sigwait(awaited)
    for lifecycle in lifecycles:
        lifecycle.stop()
    for thread in threads:
        thread.join()
    return 1 if failed else 0
