"""Names for the shell's completion, asked of the running node.

A shell that waits is worse than one that knows nothing: every failure, and a node that does not answer at once, is no name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kubelet_sim.cli.helpers.options import ROOT_VARIABLE, root_path
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from kubelet_sim.model.views import NodeSnapshot
    from kubelet_sim.wire.control_client import ControlClient

T = TypeVar("T")

_PATIENCE_S = 0.5
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""What every shell takes as one word: names of pods and of resources are so, unless somebody is up to something."""
_PODS = frozenset({"po", "pod", "pods", "allocation", "allocations", "ev", "event", "events"})


def object_names(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names for the argument after a KIND."""
    snapshot = _snapshot(ctx)
    if snapshot is None:
        return []
    kind = ctx.params.get("kind")
    kind = kind[0] if isinstance(kind, tuple) else kind
    names = _pod_names(ctx, snapshot) if kind in _PODS else [view.name for view in snapshot.resources]
    return _fitting(names, incomplete)


def pod_names(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Completes the names of pods on the node."""
    snapshot = _snapshot(ctx)
    return [] if snapshot is None else _fitting(_pod_names(ctx, snapshot), incomplete)


def container_names(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of the containers of the POD before."""
    snapshot, pod = _snapshot(ctx), ctx.params.get("pod")
    if snapshot is None or not isinstance(pod, str):
        return []
    wanted = split_pod_name(pod, ctx.params.get("namespace") or "default")
    found = (view.containers for view in snapshot.pods if (view.namespace, view.name) == wanted)
    return _fitting([each.name for containers in found for each in containers], incomplete)


def container_or_directory(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the containers of the POD before; a directory where there is none to name any more."""
    from click.shell_completion import CompletionItem

    names = [] if ctx.params.get("container") else container_names(ctx, parameter, incomplete)
    found = [CompletionItem(name) for name in names]
    return found or [CompletionItem(incomplete, type="dir")]


def conditions(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The beginnings of what can be waited for."""
    snapshot = _snapshot(ctx)
    if snapshot is None:
        return []
    names = [f"pod/{name}" for name in _pod_names(ctx, snapshot)]
    names += [f"resource/{view.name}" for view in snapshot.resources]
    return [f"{name}=" for name in _fitting(names, incomplete)]


def fault_names(_ctx: click.Context, _parameter: click.Parameter | None, incomplete: str) -> list[str]:
    """Names of faults; no node is asked."""
    from kubelet_sim.node.faults import KINDS

    return _fitting(list(KINDS), incomplete)


def fault_ids(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Completes the ids of faults that are active on the node."""
    faults = _asked(ctx, lambda node: node.faults(_PATIENCE_S))
    return _fitting([str(view.id) for view in faults or ()], incomplete)


def _pod_names(ctx: click.Context, snapshot: NodeSnapshot) -> list[str]:
    """Those of the namespace by their names, the others by both."""
    here = ctx.params.get("namespace") or "default"
    return [view.name if view.namespace == here else f"{view.namespace}/{view.name}" for view in snapshot.pods]


def _fitting(names: list[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete) and _HARMLESS.fullmatch(name)})


def _snapshot(ctx: click.Context) -> NodeSnapshot | None:
    return _asked(ctx, lambda node: node.status(_PATIENCE_S))


def _asked(ctx: click.Context, ask: Callable[[ControlClient], T]) -> T | None:
    """What the running node answers, if it does so at once."""
    try:
        root = ctx.params.get("root") or os.environ.get(ROOT_VARIABLE)
        path = root_path(Path(root) if root else None)

        from kubelet_sim.node.root_directory.layout import RootLayout
        from kubelet_sim.node.root_directory.root_checks import somebody_listens

        socket = RootLayout(path).control_socket
        if not somebody_listens(socket):  # gRPC is not loaded for nobody
            return None

        from kubelet_sim.wire.control_client import ControlClient

        with ControlClient(socket, path, connect_s=_PATIENCE_S) as node:
            return ask(node)
    except Exception:  # noqa: BLE001 - whatever it is, the shell is no place to tell it
        return None
