"""The error families: who is at fault, and what a caller can do about it.

Facts are fields, the text is made from them. A pod that is not admitted is no error: it is the answer
`Rejected` (see `kubelet_sim.model.admission`).
"""

from __future__ import annotations

from collections.abc import Sequence

_MOST_NAMES = 10


def there_are(names: Sequence[str]) -> str:
    """`there are: a, b`, for errors about a name that there is not; of many names the first ones, and how many more."""
    shown = ", ".join(names[:_MOST_NAMES]) or "none"
    more = len(names) - _MOST_NAMES
    return f"there are: {shown}, … and {more} more" if more > 0 else f"there are: {shown}"


class KubeletSimError(Exception):
    """The root of everything that kubelet-sim raises on purpose."""


class UsageError(KubeletSimError):
    """Our caller asked for something that cannot be: bad arguments, a bad manifest, a wrong root directory."""


class PluginFault(KubeletSimError):
    """The peer, a device plugin, did something that the kubelet answers with an error."""


class RegistrationRefused(PluginFault):
    """A Register call that the kubelet refuses. The plugin gets `text` with the gRPC code Unknown.

    Rules: DM-29
    """

    def __init__(self, text: str, *, rule: str) -> None:
        super().__init__(text)
        self.text = text
        self.rule = rule


class PluginNotValid(RegistrationRefused):
    """A plugin that the watcher found and that nobody can register as it describes itself. Rules: DM-149, DM-151"""


class DialFailed(PluginFault):
    """No connection to the plugin's socket. `cause` is the text of Go's context: the library never says more.

    Rules: DM-40
    """

    def __init__(self, cause: str = "context deadline exceeded") -> None:
        super().__init__(cause)
        self.cause = cause


class RpcFailed(PluginFault):
    """A call to the plugin ended with a status. The text is written as the kubelet's gRPC library writes it.

    Rules: DM-29, DM-78
    """

    def __init__(self, code: str, description: str) -> None:
        super().__init__(f"rpc error: code = {code} desc = {description}")
        self.code = code
        """Go's name of the status code: `Unavailable`, `InvalidArgument`, …"""
        self.description = description


class AllocationFailed(PluginFault):
    """Devices could not be allocated to a container; the text is one of the list of DM-79.

    Rules: DM-79
    """

    def __init__(self, text: str, *, rule: str) -> None:
        super().__init__(text)
        self.text = text
        self.rule = rule


class TopologyRefused(PluginFault):
    """The resources of a container or pod cannot be aligned. Rules: DM-122, TM-42"""

    reason = "TopologyAffinityError"

    def __init__(self, text: str = "Resources cannot be allocated with Topology locality") -> None:
        super().__init__(text)
        self.text = text


class PreparationFailed(PluginFault):
    """A container cannot be created for now; the kubelet tries again at the next sync of the pod.

    Rules: DM-103, DM-104
    """

    def __init__(self, text: str, *, rule: str, shown: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.rule = rule
        self.shown = text if shown is None else shown
        """What the container's status and the event show."""


class ContainerRefused(KubeletSimError):
    """A container runtime would refuse to create this container: a device that is not there, a CDI name nobody defines."""


class TransportError(KubeletSimError):
    """A socket or a deadline of ours: the registration socket cannot be opened, a running node does not answer."""


class CheckpointError(KubeletSimError):
    """A checkpoint file that cannot be written, read or believed."""


class CheckpointMissing(CheckpointError):
    """There is no checkpoint file. Rules: CP-14"""

    def __init__(self) -> None:
        super().__init__("checkpoint is not found")


class CheckpointUnreadable(CheckpointError):
    """The bytes are not a checkpoint document: `cause` says what and where. Rules: CP-12"""

    def __init__(
        self, cause: str, *, path: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.path = path
        """Which value of the file, if it is JSON: `Data.PodDeviceEntries[0].DeviceIDs`."""
        self.line, self.column = line, column
        """Where the file stops to be JSON, counted from 1."""


class CheckpointCorrupt(CheckpointError):
    """A document whose stored checksum is not that of its data. Rules: CP-13"""

    def __init__(self, *, stored: int, computed: int) -> None:
        super().__init__("checkpoint is corrupted")
        self.stored = stored
        self.computed = computed


class CheckpointTooLarge(UsageError):
    """A file that nothing of ours reads: it would take memory without bound. A kubelet has no such limit."""

    def __init__(self, name: str, what: str, most: str) -> None:
        super().__init__(
            f"{name}: {what}, and kubelet-sim reads checkpoints of at most {most} (a kubelet has no limit); "
            "move the file away or make it smaller"
        )


class CheckpointNotWritten(CheckpointError):
    """Writing failed; `cause` is the file system's word. Rules: CP-3, DM-100"""

    def __init__(self, cause: str, *, advice: str = "") -> None:
        super().__init__(f'failed to write checkpoint file "kubelet_internal_checkpoint": {cause}')
        self.cause = cause
        self.advice = advice
        """What somebody can do about it, in our words; the kubelet has none, so it is no part of the text."""


class InvariantError(KubeletSimError):
    """A bug of ours: something that must hold at every moment did not."""
