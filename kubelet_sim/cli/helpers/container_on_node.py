"""The container of a pod on a running node, built as its kubelet would, for commands that show or start it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.group import NegativeResult
from kubelet_sim.cli.helpers.options import F, connected
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.container import ContainerConfig, Registry
    from kubelet_sim.model.response import ContainerSpec
    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.profiles import Profile
    from kubelet_sim.wire.control_client import ControlClient

Build = Callable[[str | None], "ContainerConfig"]
"""Takes the root of the kubelet, if it is to be another one than the node's."""


def cdi_option(command: F) -> F:
    """Adds the option `--cdi-dir` to a command."""
    return click.option(
        "--cdi-dir",
        "cdi_directories",
        multiple=True,
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="A directory of CDI spec files, later ones over earlier ones. Else /etc/cdi and /var/run/cdi.",
    )(command)


@contextmanager
def refusals() -> Iterator[None]:
    """Makes a container that a runtime would refuse the negative result of a command."""
    from kubelet_sim.errors import ContainerRefused

    try:
        yield
    except ContainerRefused as error:
        raise NegativeResult(f"a runtime would refuse this container: {error}") from error


def own_variables(manifest: Mapping[str, Any], container: str | None) -> set[str]:
    """The names of the variables that a pod sets in this container, which is the first one if none is named.

    None for a pod that came without a manifest, from a program. What is no variable is passed over: the forms of the whole
    container say what is wrong with it.
    """
    spec = manifest.get("spec") or {}
    listed = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    found: Mapping[str, Any] = next((each for each in listed if container in {None, each["name"]}), {})
    env = found.get("env")
    entries = env if isinstance(env, list) else []
    names = [each.get("name") for each in entries if isinstance(each, Mapping)]
    return {name for name in names if isinstance(name, str)}


def config_for(pod: str, container: str | None, namespace: str, root: Path | None) -> Build:
    """What builds the container of a running node, the only one if none is named, for a kubelet root that may be given."""
    namespace, name = split_pod_name(pod, namespace)
    with connected(root) as node:
        share = node.container_spec(name, container, namespace)
        return builder(node, node.pod(name, namespace), container, share)


def builder(node: ControlClient, manifest: Mapping[str, Any], container: str | None, share: ContainerSpec) -> Build:
    """What builds it, from the pod's manifest and what plugins add.

    Raises `UsageError` for a pod that came without a manifest, from a program.
    """
    from kubelet_sim.container import KubeletContext, container_config
    from kubelet_sim.errors import UsageError
    from kubelet_sim.manifests import pod_from_mapping

    if not manifest.get("spec"):
        raise UsageError("the pod came from a program, without a manifest: there is only what plugins add to it")
    pod = pod_from_mapping(manifest, source="the pod on the node", api_checks=False)
    name = container or pod.containers[0].name
    snapshot = node.status()
    profile, attempt = profile_on(snapshot), _restarts(manifest, name)

    def build(kubelet_root: str | None) -> ContainerConfig:
        around = KubeletContext(profile, kubelet_root or snapshot.root, attempt)
        return container_config(pod, name, share, around)

    return build


def _restarts(manifest: Mapping[str, Any], container: str) -> int:
    status = manifest.get("status") or {}
    for kind in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(kind) or ():
            if each.get("name") == container:
                return int(each.get("restartCount") or 0)
    return 0


def profile_on(snapshot: NodeSnapshot) -> Profile:
    """The profile of the node's release, as far as containers show it: gates may have been turned."""
    from attrs import evolve

    from kubelet_sim.profiles import RELEASES, V1_36, Cdi

    release = next((each for each in RELEASES.values() if each.stands_for == snapshot.kubelet_version), V1_36)
    return evolve(release, cdi=Cdi(snapshot.cdi)) if snapshot.cdi else release


def registry_of(directories: Sequence[str]) -> Registry:
    """The CDI devices that spec files in these directories define, or in those that runtimes read."""
    from kubelet_sim.container import DEFAULT_DIRECTORIES, read_registry
    from kubelet_sim.node.oci.host_files import LocalFiles

    return read_registry(LocalFiles(), directories or DEFAULT_DIRECTORIES)
