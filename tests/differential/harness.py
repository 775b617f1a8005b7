"""The process that runs the real device manager: one operation a line, each with its answer.

It gets a mount namespace of its own, in which the constant folder of the kubelet leads to the folder of a story.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kubelet_sim.errors import KubeletSimError, TransportError

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_VERSION = "1.36.2"
_LONGEST_LINE = 16 * 2**20
_PATIENCE_S = 12.0
"""Longer than a dial to nobody takes."""
_IN_ITS_NAMESPACE = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /var/lib && exec "$0"')


class Crashed(KubeletSimError):
    """The real manager ended its process."""


def program(version: str = DEFAULT_VERSION) -> Path:
    """Where `make reference` puts it."""
    return ROOT / "tests" / "reference" / "build" / f"reference-{version}"


class Harness:
    """One process, for one story after the other; a fresh one after a crash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process: asyncio.subprocess.Process | None = None
        self._calls: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._is_over = False

    async def __aenter__(self) -> Self:
        """The process starts with the first operation."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End it."""
        await self.end()
        self._errors.close()

    async def end(self) -> None:
        """End the process, if it runs."""
        process, self._process, self._is_over = self._process, None, False
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
            self._reader = None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            transport = getattr(process, "_transport", None)
            if transport is not None:
                transport.close()

    async def ask(self, operation: str, **arguments: Any) -> Any:
        """The answer to one operation.

        Raises:
            Crashed: the manager panicked.
            TransportError: it refused, or did not answer in time.
        """
        reply = await self._exchange({"op": operation, **arguments})
        self._calls += reply.get("calls") or []
        if reply.get("crash"):
            await self.end()
            raise Crashed(reply["crash"])
        if reply.get("error"):
            raise TransportError(f"{operation}: {reply['error']}")
        return reply.get("answer")

    def calls(self) -> list[dict[str, Any]]:
        """The calls to plugins since the last look, in order."""
        calls, self._calls = self._calls, []
        return calls

    async def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._is_over:
            await self.end()
        process = self._process or await self._start()
        assert process.stdin is not None
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(_PATIENCE_S):
                process.stdin.write(json.dumps({**request, "id": number}).encode() + b"\n")
                await process.stdin.drain()
                return await answer
        except (TimeoutError, ConnectionError) as error:
            await self.end()
            raise TransportError(f"{request['op']}: no answer") from error
        finally:
            self._waiting.pop(number, None)

    async def _read(self, lines: asyncio.StreamReader) -> None:
        """Hand out replies, which come in another order where one operation waits for a plugin."""
        while line := await lines.readline():
            reply: dict[str, Any] = json.loads(line)
            if not (waiting := self._waiting.get(reply["id"])) or waiting.done():
                continue
            waiting.set_result(reply)
        self._is_over = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Crashed(self._last_words()))

    async def _start(self) -> asyncio.subprocess.Process:
        if not self._path.exists() or shutil.which("unshare") is None:
            raise TransportError(f"there is no {self._path}: make reference builds it, on Linux with Go and unshare")
        self._errors.seek(0)
        self._errors.truncate()
        self._process = await asyncio.create_subprocess_exec(
            *_IN_ITS_NAMESPACE,
            str(self._path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            limit=_LONGEST_LINE,
        )
        assert self._process.stdout is not None
        self._reader = asyncio.create_task(self._read(self._process.stdout))
        return self._process

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        return next((line for line in lines if line.startswith(("panic", "fatal"))), "\n".join(lines[-3:]) or "silence")
