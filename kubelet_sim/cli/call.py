"""The command `call`: one call by hand, to a plugin or to a kubelet."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.options import debug, duration_option
from kubelet_sim.model.durations import duration_text

if TYPE_CHECKING:
    from kubelet_sim.wire.calls_by_hand import CallableMethod

_OF = {
    "ids": ("Allocate", "PreStartContainer"),
    "available": ("GetPreferredAllocation",),
    "must_include": ("GetPreferredAllocation",),
    "size": ("GetPreferredAllocation",),
    "resource": ("Register",),
    "endpoint": ("Register",),
    "version": ("Register",),
    "pod": ("Get",),
}
"""Which methods have a use for which option."""


@click.command()
@click.argument("socket", type=click.Path(path_type=Path), metavar="SOCKET")
@click.argument("method", required=False, metavar="[METHOD]")
@click.option("--ids", metavar="ID,…", help="The devices, for Allocate and PreStartContainer.")
@click.option("--available", metavar="ID,…", help="For GetPreferredAllocation: what there is to choose from.")
@click.option("--must-include", metavar="ID,…", help="For GetPreferredAllocation: what has to be among the choice.")
@click.option("--size", type=click.IntRange(0, 2**31 - 1), metavar="N", help="For GetPreferredAllocation: how many.")
@click.option("--resource", metavar="NAME", help="For Register: the resource.")
@click.option("--endpoint", metavar="SOCKET", help="For Register: the name of the plugin's socket.")
@click.option("--version", metavar="VERSION", help="For Register: the API version; v1beta1 if not given.")
@click.option("--pod", metavar="[NAMESPACE/]NAME", help="For Get: the pod.")
@click.option("--json", "text", metavar="REQUEST", help="The whole request as JSON, or @FILE, or - for standard input.")
@click.option(
    "--watch",
    is_flag=True,
    help="For ListAndWatch: go on after the first list, one line each, until it ends or the time is over.",
)
@duration_option(
    "--timeout",
    text="How long the call may take; 0: for ever.  [default: 15s for Register, 30s for PreStartContainer, else 5s]",
)
@click.option("--dry-run", is_flag=True, help="Show the request and call nobody.")
@debug
def call(
    *,
    socket: Path,
    method: str | None,
    text: str | None,
    watch: bool,
    timeout: float | None,
    dry_run: bool,
    **given: Any,
) -> None:
    """Call a method of a plugin or of a kubelet by hand, and show the answer as JSON.

    \b
    SOCKET                  METHOD
    of a plugin             GetDevicePluginOptions, ListAndWatch, GetPreferredAllocation, Allocate, PreStartContainer
    in plugins_registry     GetInfo, NotifyRegistrationStatus
    kubelet.sock            Register
    pod-resources           List, Get, GetAllocatableResources; v1alpha1.PodResourcesLister/List

    Without METHOD it says what the socket answers. Fields have the names of the protos. An answer that is an error is one
    line with its code on stderr, and exit code 1. A kubelet answers Register when it has called the plugin back, for which it
    takes 10 s where nobody serves.

    \b
    Examples: kubelet-sim call device-plugins/my.sock Allocate --ids a,b
              kubelet-sim call device-plugins/my.sock ListAndWatch --watch --timeout 0
    """  # noqa: D301
    from kubelet_sim.node.interruptible import run_interruptible
    from kubelet_sim.wire import calls_by_hand as calling

    if method is None:
        if text is not None or watch or dry_run or any(value is not None for value in given.values()):
            raise click.UsageError("which method is meant? Without one, only what the socket answers is shown")
        run_interruptible(_probe(socket, calling.PATIENCE_S if timeout is None else timeout or None))
        return
    called = calling.method_named(method)
    request = request_of(called, text, given)
    if watch and not called.is_stream:
        raise click.UsageError(f"--watch is for ListAndWatch; {called.name} has one answer")
    data = calling.to_request(called, request)
    if dry_run:
        click.echo(json.dumps(calling.to_json(called.request, data), indent=2))
        return
    limit_s = called.patience_s if timeout is None else timeout or None
    is_over = run_interruptible(_call(socket, called, data, limit_s, watches=watch))
    if is_over and timeout is None:
        click.echo(f"note: the {duration_text(called.patience_s)} of a call are over: see --timeout", err=True)


def request_of(method: CallableMethod, text: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The request that options and `--json` say. Raises `click.UsageError`, `UsageError`."""
    said = {name: value for name, value in given.items() if value is not None}
    for name in said:
        option = f"--{name.replace('_', '-')}"
        if method.name not in _OF[name]:
            raise click.UsageError(f"{option} is for {' and '.join(_OF[name])}, not for {method.name}")
        if text is not None:
            raise click.UsageError(f"{option} and --json both say what is asked")
    if text is not None:
        return _read(text)
    return _REQUESTS[method.name](said) if method.name in _REQUESTS else {}


def _ids(text: str | None) -> list[str]:
    return text.split(",") if text else []


def _pod(text: str) -> dict[str, Any]:
    namespace, slash, name = text.rpartition("/")
    return {"pod_name": name, "pod_namespace": namespace if slash else "default"}


_REQUESTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "Allocate": lambda said: {"container_requests": [{"devices_ids": _ids(said.get("ids"))}]},
    "PreStartContainer": lambda said: {"devices_ids": _ids(said.get("ids"))},
    "GetPreferredAllocation": lambda said: {
        "container_requests": [
            {
                "available_deviceIDs": _ids(said.get("available")),
                "must_include_deviceIDs": _ids(said.get("must_include")),
                "allocation_size": said.get("size", 0),
            }
        ]
    },
    "Register": lambda said: {
        "version": said.get("version", "v1beta1"),
        "endpoint": said.get("endpoint", ""),
        "resource_name": said.get("resource", ""),
    },
    "Get": lambda said: _pod(said.get("pod", "")),
}
"""Requests made of what options say."""


def _read(text: str) -> dict[str, Any]:
    from kubelet_sim.cli.helpers.given_files import read_given
    from kubelet_sim.errors import UsageError

    where = "--json" if not text.startswith("@") and text != "-" else text.removeprefix("@")
    source = text if where == "--json" else read_given(where)
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{where}: a request is one JSON object")
    return value


async def _call(
    socket: Path, method: CallableMethod, request: bytes, timeout_s: float | None, *, watches: bool
) -> bool:
    """Show what comes. Whether it was watched until its time was over, which is an end as good as another."""
    import contextlib

    from kubelet_sim.cli.helpers.group import NegativeResult
    from kubelet_sim.errors import RpcFailed
    from kubelet_sim.wire.calls_by_hand import HandCalls

    async with HandCalls(socket, timeout_s) as calls, contextlib.aclosing(calls.call(method, request)) as answers:
        has_come = False
        try:
            async for answer in answers:
                has_come = True
                click.echo(json.dumps(answer, indent=None if watches else 2))
                if not watches:
                    return False
        except RpcFailed as failure:
            if watches and has_come and failure.code == "DeadlineExceeded":
                return True
            raise NegativeResult(f"{method.name}: {failure}") from failure
    if not watches:
        raise NegativeResult(f"{method.name}: the stream ended before the first message")
    return False


async def _probe(socket: Path, timeout_s: float | None) -> None:
    from kubelet_sim.cli.helpers.group import NegativeResult
    from kubelet_sim.errors import RpcFailed
    from kubelet_sim.wire.calls_by_hand import HandCalls, methods_of

    async with HandCalls(socket, timeout_s) as calls:
        try:
            found = await calls.services()
        except RpcFailed as failure:
            raise NegativeResult(f"nobody speaks gRPC there: {failure}") from failure
    if not found:
        raise NegativeResult("a gRPC server, with none of the services of device plugins or kubelets")
    for service, methods in methods_of(found).items():
        click.echo(f"{service}: {', '.join(methods)}")
