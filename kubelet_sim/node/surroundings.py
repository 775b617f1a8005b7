"""What the pods of a node have around them, whichever kubelet process deals with them."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from kubelet_sim.node.api_objects.events import Events
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.kubelet_process.kubelet_process import Kubelet
from kubelet_sim.node.pods.simulated_runtime import SimulatedRuntime
from kubelet_sim.node.pods.status_manager import StatusManager
from kubelet_sim.node.ports import Clock
from kubelet_sim.tasks import Tasks
from kubelet_sim.transcript import Transcript


class Timers:
    """What is to happen on the node's clock, with or without a kubelet: containers that end by themselves."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks = Tasks()

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Call this then, unless all are cancelled before."""

        async def wait() -> None:
            await self._clock.sleep(seconds)
            do()

        self._tasks.run(wait())

    async def cancel(self) -> None:
        """None of it happens any more."""
        await self._tasks.cancel()


@frozen
class Surroundings:
    """What the pods of a node have around them."""

    config: NodeConfig
    clock: Clock
    transcript: Transcript
    events: Events
    runtime: SimulatedRuntime
    kubelet: Callable[[], Kubelet]
    """The process that runs now. Raises `UsageError` if there is none."""
    kubelet_or_none: Callable[[], Kubelet | None]
    now: Callable[[], float]
    """Seconds since the node started."""
    statuses: StatusManager
    """What the API server was told of the devices of pods."""
    timers: Timers = field(eq=False)
