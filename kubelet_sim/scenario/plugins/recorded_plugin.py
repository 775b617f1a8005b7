"""A plugin out of a transcript: registers, lists and answers as one did there, so that its hardware can stay where it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from kubelet_sim.errors import KubeletSimError, RpcFailed, UsageError
from kubelet_sim.model.ids import DeviceID, ResourceName
from kubelet_sim.model.plugin import AllocateAnswer, PluginOptions, PreferredAllocationRequest, Registration
from kubelet_sim.model.response import ContainerResponse
from kubelet_sim.node.recording.codec import decode
from kubelet_sim.node.recording.reader import Line, read_header, read_lines
from kubelet_sim.scenario.plugins.script import Devices, Script
from kubelet_sim.scenario.plugins.scripted_plugin import Say, ScriptedPlugin

_CALLS = ("CallAllocate", "CallGetPreferredAllocation", "CallPreStartContainer")


@frozen
class Answered:
    """A call that was recorded, and what came of it."""

    call: str
    """The name of the effect."""
    ids: frozenset[DeviceID]
    """Those that it was about: of GetPreferredAllocation, the available ones."""
    size: int
    """How many were to be preferred; of other calls, how many there are."""
    answer: Any
    """Or the failure."""


@define
class Recording:
    """What a transcript has of the plugin of one resource."""

    registration: Registration
    options: PluginOptions = field(factory=PluginOptions)
    lists: list[tuple[float, Devices]] = field(factory=list)
    """With the seconds since the first."""
    answers: list[Answered] = field(factory=list)

    def similar(self, call: str, ids: Iterable[DeviceID], size: int) -> tuple[Answered | None, bool]:
        """The answer to a call that is as this one, or most like it, the earlier of two; and whether it is as this one."""
        wanted = frozenset(ids)
        known = [each for each in self.answers if each.call == call]
        best = max(known, key=lambda each: _likeness(each, wanted, size), default=None)
        return best, best is not None and (best.ids, best.size) == (wanted, size)


def _likeness(known: Answered, ids: frozenset[DeviceID], size: int) -> tuple[float, int]:
    return len(known.ids & ids) / max(1, len(known.ids | ids)), -abs(known.size - size)


def recordings(lines: Iterable[str]) -> dict[ResourceName, Recording]:
    """The plugins of a transcript file, by resource, in the order of their registration. Raises `UsageError`."""
    text = iter(lines)
    read_header(text)
    found: dict[ResourceName, Recording] = {}
    asked: dict[tuple[int, int | None], Any] = {}
    begun_at_s: dict[ResourceName, float] = {}
    for line in read_lines(text):
        record = line.record
        match record.kind:
            case "walk":
                _note_registration(found, decode(line.value))
            case "effect" if line.has_value and record.walk is not None and line.value["type"] != "WriteCheckpoint":
                asked[record.incarnation, record.walk] = decode(line.value)
            case "answer" if line.has_value:
                effect = asked.pop((record.incarnation, record.walk), None)
                _note_answer(found.get(ResourceName(record.subject)), effect, line)
            case "fact" if line.has_value and line.value["type"] == "DevicesListed":
                name = ResourceName(record.subject)
                if name in found:
                    since_s = record.at_s - begun_at_s.setdefault(name, record.at_s)
                    found[name].lists.append((since_s, decode(line.value).devices))
    if not found:
        raise UsageError("no plugin registers in this transcript")
    return found


def _note_registration(found: dict[ResourceName, Recording], asked: object) -> None:
    request = getattr(asked, "request", None)
    if isinstance(request, Registration):
        found.setdefault(request.resource, Recording(request))


def _note_answer(recording: Recording | None, effect: Any, line: Line) -> None:
    if recording is None or effect is None:
        return
    name, answer = type(effect).__name__, decode(line.value)
    if isinstance(answer, PluginOptions):
        recording.options = answer
    if name in _CALLS:
        ids = effect.available if name == "CallGetPreferredAllocation" else effect.device_ids
        size = effect.size if name == "CallGetPreferredAllocation" else len(ids)
        recording.answers.append(Answered(name, frozenset(ids), size, answer))


class RecordedPlugin(ScriptedPlugin):
    """A plugin that lists and answers as one did in a transcript.

    Args:
        recording: what it does.
        directory: the device-plugin directory.
        say: takes each line for people.
        warn: takes what was not recorded so.
        at_once: whether lists follow each other without the pauses that were recorded.
    """

    def __init__(self, recording: Recording, directory: Path, say: Say, warn: Say, *, at_once: bool = False) -> None:
        asked = recording.registration
        socket = Path(asked.socket_name).name or "recorded.sock"
        script = Script(asked.resource, socket, None, asked.version, request_options=asked.options)
        super().__init__(script, directory, say=say)
        self._recording = recording
        self._warn = warn
        self._at_once = at_once

    async def options(self) -> PluginOptions:
        """Returns the options that were recorded."""
        self._say("GetDevicePluginOptions")
        return self._recording.options

    async def lists(self) -> AsyncGenerator[Devices, None]:
        """Yields the lists that were recorded, each so long after the first as it was then; the stream stays open."""
        begun_at_s = asyncio.get_running_loop().time()
        for since_s, devices in self._recording.lists:
            wait_s = begun_at_s + since_s - asyncio.get_running_loop().time()
            if wait_s > 0 and not self._at_once:
                await asyncio.sleep(wait_s)
            self._say(f"ListAndWatch: sends {len(devices)} devices")
            yield devices
        await asyncio.Event().wait()

    async def allocate(self, requests: Sequence[tuple[DeviceID, ...]]) -> AllocateAnswer:
        """The recorded response for each container request."""
        responses: list[ContainerResponse] = []
        for ids in requests:
            answer = self._answer("CallAllocate", ids, len(ids), AllocateAnswer((ContainerResponse(),)))
            responses += answer.responses
        return AllocateAnswer(tuple(responses))

    async def preferred(self, requests: Sequence[PreferredAllocationRequest]) -> Sequence[Sequence[DeviceID]]:
        """The recorded preference for each container request."""
        call = "CallGetPreferredAllocation"
        return [self._answer(call, request.available, request.size, ()) for request in requests]

    async def pre_start(self, device_ids: tuple[DeviceID, ...]) -> None:
        """Answers PreStartContainer as it was answered then."""
        self._answer("CallPreStartContainer", device_ids, len(device_ids), None)

    def _answer(self, call: str, ids: Sequence[DeviceID], size: int, nothing: Any) -> Any:
        name, asked = call.removeprefix("Call"), f"{len(ids)} devices"
        self._say(f"{name}: {', '.join(ids[:8])}{'…' if len(ids) > 8 else ''}")  # noqa: PLR2004 - enough for a line
        known, is_same = self._recording.similar(call, ids, size)
        if known is None:
            self._warn(f"{name} was never called in the transcript: the answer for {asked} is empty")
            return nothing
        if not is_same:
            self._warn(
                f"{name} was not recorded for these ids: answered as for {', '.join(sorted(known.ids)) or 'none'}"
            )
        if isinstance(known.answer, RpcFailed):
            raise RpcFailed(known.answer.code, known.answer.description)
        if isinstance(known.answer, KubeletSimError):
            raise RpcFailed("Unknown", str(known.answer))
        return known.answer
