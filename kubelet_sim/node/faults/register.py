"""Faults of Register: refused, held up, answered late, accepted without a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType

from kubelet_sim.errors import RegistrationRefused
from kubelet_sim.model.device import Device
from kubelet_sim.model.plugin import Registration
from kubelet_sim.node.faults.active import ActiveFault
from kubelet_sim.node.faults.arguments import choice, seconds, text
from kubelet_sim.node.faults.kinds import PLUGIN
from kubelet_sim.node.faults.through import FaultHook, Through, lasting

_OPTIONS = "failed to get device plugin options: rpc error: code = "
REASONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "version": (
            'requested API version "{version}" is not supported by kubelet. Supported version is ["v1beta1"]',
            "DM-22",
        ),
        "name": ('the ResourceName "{resource}" is invalid', "DM-23"),
        "dial": ("failed to dial device plugin: context deadline exceeded", "DM-40"),
        "dial-canceled": ("failed to dial device plugin: context canceled", "DM-40"),
        "options-unimplemented": (
            f"{_OPTIONS}Unimplemented desc = unknown service v1beta1.DevicePlugin",
            "DM-29",
        ),
        "options-unavailable": (
            f"{_OPTIONS}Unavailable desc = error reading from server: EOF",
            "DM-29",
        ),
        "options-deadline": (f"{_OPTIONS}DeadlineExceeded desc = context deadline exceeded", "DM-29"),
        "options-canceled": (f"{_OPTIONS}Canceled desc = context canceled", "DM-29"),
    }
)
"""Each real refusal: its text, and its rule. Rules: DM-22, DM-23, DM-29, DM-40"""


@lasting(
    "refuse-register",
    "register",
    "Register is refused with one of the kubelet's own texts, though nothing is wrong with the plugin.",
    "Register is refused from now on",
    undo="and registrations count again",
    arguments=(
        choice("reason", tuple(REASONS), "dial", "Which of the kubelet's refusals."),
        text("text", "", "A text of your own instead."),
    ),
    rules=("DM-22", "DM-23", "DM-29", "DM-40"),
    filters=PLUGIN,
    counts=True,
)
class _RefusedRegister(FaultHook):
    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        del deadline_s
        if not is_meant(self.active, registration):
            return
        given = self.active.arguments
        pattern, rule = REASONS[given["reason"]]
        wanted = given["text"] or pattern.replace("{version}", registration.version).replace(
            "{resource}", registration.resource
        )
        if self.active.once(registration.resource, f"Register is refused: {wanted}"):
            raise RegistrationRefused(wanted, rule=rule)


@lasting(
    "stall-register",
    "register",
    "A Register call is held up before the kubelet looks at it, as on a node whose kubelet is starved of processor time.",
    "Register calls are held up from now on",
    undo="and what is held up goes on",
    arguments=(seconds("seconds", None, "How long on the node's clock; without, until it is undone."),),
    rules=("DM-30",),
    filters=PLUGIN,
    counts=True,
)
class _Stalling(FaultHook):
    async def register_called(self, registration: Registration, deadline_s: float | None) -> None:
        del deadline_s
        if not is_meant(self.active, registration):
            return
        await self.active.hold_up(
            registration.resource, "Register is held up before anybody looks at it", self.active.arguments["seconds"]
        )


@lasting(
    "late-register-answer",
    "register",
    "Register has done its work, the stream is open, and only the answer is late: callers with a deadline give up and"
    " register a second time.",
    "answers to Register come {seconds:g} s late from now on",
    undo="and answers that are held back are given",
    arguments=(seconds("seconds", 10.0, "How long on the node's clock."),),
    rules=("DM-27", "DM-30"),
    filters=PLUGIN,
    counts=True,
)
class _AnsweringLate(FaultHook):
    async def register_answering(self, registration: Registration) -> None:
        if not is_meant(self.active, registration):
            return
        text_ = "the plugin is registered, its answer is held back"
        await self.active.hold_up(registration.resource, text_, self.active.arguments["seconds"])


@lasting(
    "never-list",
    "register",
    "Register is answered with success, and then ListAndWatch is not called: a plugin that waits for it sees nothing.",
    "plugins that register from now on get no ListAndWatch call",
    undo="and the streams are opened then",
    arguments=(seconds("seconds", None, "How long on the node's clock; without, until it is undone."),),
    rules=("DM-26", "DM-27"),
    filters=PLUGIN,
    counts=True,
    delays_lists=True,
)
class _Unlisted(Through):
    async def _lists(self) -> AsyncIterator[tuple[Device, ...]]:
        await self.active.hold_up(
            self.subject, "it is registered, and no ListAndWatch stream is opened", self.active.arguments["seconds"]
        )
        async for devices in self.inner.list_and_watch():
            yield devices

    def list_and_watch(self) -> AsyncIterator[tuple[Device, ...]]:
        return self._lists()


def is_meant(active: ActiveFault, registration: Registration) -> bool:
    """Whether the filters let this Register call through."""
    fault = active.fault
    is_resource = not fault.resource or fault.resource == registration.resource
    is_socket = not fault.socket or fault.socket == registration.socket_name
    return is_resource and is_socket
