"""Checkpoint stores for tests: in memory, with a disk that can be made to fail."""

from __future__ import annotations

from kubelet_sim.core.checkpoint_file.decoder import decode
from kubelet_sim.core.checkpoint_file.encoder import Encoder
from kubelet_sim.errors import CheckpointMissing, CheckpointNotWritten
from kubelet_sim.model.checkpoint import CheckpointDocument


class MemoryCheckpointStore:
    """A `CheckpointStore` that keeps the file's bytes: `data` may be set to anything a start shall find, or None."""

    def __init__(self, data: bytes | None = None, *, reads_before_1_20: bool = False) -> None:
        self.data = data
        self._encoder = Encoder()
        self._reads_before_1_20 = reads_before_1_20
        self.write_count = 0
        """Writes that were stored."""
        self._failures: list[str] = []

    def fail_next_write(self, cause: str = "no space left on device") -> None:
        """The next write stores nothing and raises `CheckpointNotWritten(cause)`. Called twice: the next two."""
        self._failures.append(cause)

    async def write(self, document: CheckpointDocument) -> None:
        """Stored when it returns. Raises `CheckpointNotWritten` if it was asked to."""
        if self._failures:
            raise CheckpointNotWritten(self._failures.pop(0))
        self.data = self._encoder.encode(document)
        self.write_count += 1

    async def read(self) -> CheckpointDocument:
        """Raises what a file of these bytes would: `CheckpointMissing`, `…Unreadable` or `…Corrupt`."""
        if self.data is None:
            raise CheckpointMissing
        return decode(self.data, reads_before_1_20=self._reads_before_1_20)
