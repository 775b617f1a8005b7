"""What the pods of a node have around them, whichever kubelet process deals with them."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field, frozen

from kubelet_sim.errors import UsageError
from kubelet_sim.node.api_objects.api_server import ApiServer
from kubelet_sim.node.api_objects.events import EventRecorder
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.kubelet_process.kubelet_process import KubeletProcess
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
        """Cancel all that was to happen."""
        await self._tasks.cancel()


NO_KUBELET = "no kubelet runs on this node; start or restart it"
IS_STARTING = "the kubelet of this node is starting: its socket is not there yet"


@define
class KubeletInCharge:
    """The kubelet process of a node, of which there may be none; whoever deals with pods looks here at each step."""

    process: KubeletProcess | None = None
    """The process that listens."""
    is_starting: bool = False
    """Whether there is one that does not listen yet."""

    def required(self) -> KubeletProcess:
        """Returns the process that listens. Raises `UsageError` if there is none."""
        if self.process is None:
            raise UsageError(IS_STARTING if self.is_starting else NO_KUBELET)
        return self.process


@frozen
class Surroundings:
    """What the pods of a node have around them."""

    config: NodeConfig
    clock: Clock
    transcript: Transcript
    events: EventRecorder
    runtime: SimulatedRuntime
    started_at_s: float
    """When the node started, on its clock."""
    api: ApiServer
    statuses: StatusManager
    """Tells the API server of the pods."""
    timers: Timers = field(eq=False)
    kubelet: KubeletInCharge = field(factory=KubeletInCharge, eq=False)

    def now(self) -> float:
        """The node's time, in seconds since it started."""
        return self.clock.now() - self.started_at_s
