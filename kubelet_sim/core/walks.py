"""What a walk is begun with, as values: `Kubelet.begin` makes the walk of it. Each says what the walk ends with."""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import frozen

from kubelet_sim.model.admission import Admission
from kubelet_sim.model.ids import ClientID, ContainerName
from kubelet_sim.model.plugin import DIRECTORY, PluginInfo, Registration
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec

R = TypeVar("R")


class Asked(Generic[R]):
    """Something that takes a walk to answer, with an `R`."""

    __slots__ = ()


@frozen
class RegisterAsked(Asked[ClientID]):
    """A plugin called Register. Rules: DM-21"""

    request: Registration


@frozen
class WatchedAsked(Asked[ClientID]):
    """The plugin watcher has asked a plugin what it is. Rules: DM-148"""

    info: PluginInfo
    registration_socket: str
    directory: str = DIRECTORY
    """The device-plugin directory, as the paths in the two others have it."""


@frozen
class AdmissionAsked(Asked[Admission]):
    """A source delivered a pod. Rules: DM-72"""

    pod: Pod


@frozen
class ResizeAsked(Asked[Admission]):
    """Somebody wants an admitted pod to have other amounts of cpu and memory. Rules: DM-114"""

    pod: Pod
    """As it is to be."""


@frozen
class PreparationAsked(Asked[ContainerSpec | None]):
    """A container of the pod is about to be created. Rules: DM-103"""

    pod: Pod
    container: ContainerName
