"""Writes the transcript of a node to a file, one JSON object a line, as things happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from kubelet_sim.errors import UsageError
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.kubelet_process.driver import Came
from kubelet_sim.node.recording.codec import encode
from kubelet_sim.node.recording.header import header_of, header_to_json
from kubelet_sim.transcript import Json, Record, RecordLevel, Rpc, Transcript

_TO_LINE = json.JSONEncoder(separators=(",", ":")).encode


def line(value: Json) -> bytes:
    """One line of the file. Pure ASCII: a terminal or a pager cannot be fooled by what plugins sent."""
    return f"{_TO_LINE(value)}\n".encode("ascii")


def record_to_json(record: Record, payload: object) -> Json:
    """A record as it stands in the file; members that say nothing are left out."""
    whole = {
        "n": record.number,
        "at_s": record.at_s,
        "kind": record.kind,
        "subject": record.subject,
        "text": record.text,
        "rules": list(record.rules),
        "level": "" if record.level is RecordLevel.INFO else record.level.value,
        "walk": record.walk,
        "process": record.incarnation,
        "details": dict(record.details),
    }
    told = {name: value for name, value in whole.items() if value or name == "at_s"}
    match payload:
        case None:
            pass
        case Came(_, answer, took_s):
            told |= {"value": encode(answer), "took_s": took_s}
            if payload.status:
                told["status"] = payload.status
        case Rpc(method, request, answer, status, took_s):
            value = {"type": "Rpc", "method": method, "request": request, "answer": answer}
            told |= {"value": value, "took_s": took_s, "status": status}
        case _:
            told["value"] = encode(payload)
    return told


class RecordedNode(Protocol):
    """What is recorded; `kubelet_sim.node.node.Node` fits by shape."""

    config: NodeConfig
    transcript: Transcript


@contextmanager
def recorded(node: RecordedNode, path: Path | None) -> Iterator[None]:
    """Have everything that happens on a node written to a file as long as the block lasts; nothing without a file.

    Begin before the node starts, or the file cannot be replayed. Each record is in the file when its listeners hear of
    it, so that the end of the process loses none. If the disk refuses, that is said in the transcript once, and the node
    goes on without the file.

    Raises:
        UsageError: the file cannot be opened.
    """
    if path is None:
        yield
        return
    with ExitStack() as at_the_end:
        try:
            file = at_the_end.enter_context(path.open("wb", buffering=0))
            file.write(line(header_to_json(header_of(node.config))))
        except OSError as error:
            raise UsageError(f"the transcript {path} cannot be written: {error.strerror}") from error
        writer = Writer(file.write, node.transcript, str(path))
        at_the_end.callback(node.transcript.record_with(writer))
        yield


class Writer:
    """A recorder that gives up for good when the disk refuses."""

    def __init__(self, write: Callable[[bytes], object], transcript: Transcript, name: str) -> None:
        self._write: Callable[[bytes], object] | None = write
        self._transcript = transcript
        self._name = name

    def __call__(self, record: Record, payload: object) -> None:
        """Fits `Recorder`."""
        if self._write is None:
            return
        try:
            self._write(line(record_to_json(record, payload)))
        except OSError as error:
            self._write = None
            text = f"the transcript file ends here: {error.strerror}"
            self._transcript.add("node", self._name, text, level=RecordLevel.WARNING)
