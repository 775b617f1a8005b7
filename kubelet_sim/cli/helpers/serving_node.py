"""A node that runs for the command line: its life between start and signal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kubelet_sim import __version__
from kubelet_sim.errors import UsageError
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.ports import Clock
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.static_pods import static_pods
from kubelet_sim.present.live_view import LiveView
from kubelet_sim.present.record_lines import record_line
from kubelet_sim.transcript import Record


@frozen
class Extras:
    """What may be there besides a node."""

    ready_file: Path | None = None
    """Is there while the node listens."""
    pods: Path | None = None
    """The directory of static pods."""
    view: LiveView | None = None
    """Is shown the node as long as it runs."""
    notes: tuple[str, ...] = ()
    """Lines to say after the greeting."""
    tells_all: bool = False
    """Whether what is only routine has a line, too."""
    transcript: Path | None = None
    """The file that everything is written to."""


async def serve(config: NodeConfig, clock: Clock | None, line: Callable[[str], None], extras: Extras) -> None:
    """Run a node until a signal asks for its end; nothing but its checkpoint is left then.

    Args:
        config: how it is to be.
        clock: its time; the machine's if not given.
        line: takes each line for people.
        extras: what is there besides.

    Raises:
        UsageError: the root, the ready file or the transcript cannot be used.
        TransportError: the node could not start.
    """
    check_ready_file(extras.ready_file)
    stopping = stop_signals()
    node = Node(config, clock=clock)
    with recorded(node, extras.transcript):
        await _serve(node, line, extras, stopping)
    line("stopped; nothing runs any more, the checkpoint is kept")


async def _serve(node: Node, line: Callable[[str], None], extras: Extras, stopping: asyncio.Event) -> None:
    await node.start()
    try:
        layout = node.root.layout
        for text in (*greeting(node.config, layout, node.http_url), *map(escape_terminal, extras.notes)):
            line(text)

        def tell(record: Record) -> None:
            if extras.tells_all or not is_routine(record):
                line(record_line(record))

        for record in node.transcript:
            tell(record)
        node.transcript.listen(tell)
        following = extras.view.of(node) if extras.view else contextlib.nullcontext()
        async with following, static_pods(node, extras.pods):
            with ready(extras.ready_file, layout):
                await stopping.wait()
                line("stopping")
    finally:
        await node.stop()


def is_routine(record: Record) -> bool:
    """Whether it only says what happens again and again: a status round is due, an agent asked for pod resources.

    What comes of it, if anything does, has its own record.
    """
    return (record.kind, record.rules) in {("fact", ("DM-65",)), ("rpc", ("PR-4",))}


def stop_signals() -> asyncio.Event:
    """An event that SIGINT, SIGTERM and the end of the terminal set, as long as the loop runs."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Under nohup, the end of the terminal is to be survived.
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stopping.set)
    return stopping


async def run_until_stopped(*work: Coroutine[Any, Any, None]) -> bool:
    """Runs pieces of work side by side until one is over, which makes it true, or a signal asks for the end of all.

    Raises what one of them raised.
    """
    stopping = stop_signals()
    tasks = [asyncio.create_task(each) for each in work]
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait((*tasks, stop), return_when=asyncio.FIRST_COMPLETED)
    is_over = any(task.done() for task in tasks)
    for task in (*tasks, stop):
        task.cancel()
    await asyncio.wait((*tasks, stop))
    for task in tasks:
        if not task.cancelled():
            task.result()
    return is_over


def greeting(config: NodeConfig, layout: RootLayout, http_url: str | None = None) -> list[str]:
    """What a user has to know first."""
    root = shlex.quote(str(layout.path))
    http = () if http_url is None else (f"metrics, health:      {http_url}/metrics {http_url}/healthz",)
    return [
        escape_terminal(text)
        for text in (
            f"kubelet-sim {__version__}, a node with the device manager of kubelet {config.profile.stands_for}",
            f"root:                 {layout.path}",
            f"registration socket:  {layout.registration_socket}",
            *http,
            f"run a plugin:         kubelet-sim exec --root {root} -- CMD",
            f"look at the node:     kubelet-sim get pods --root {root}",
            "stop:                 Ctrl-C",
        )
    ]


def check_ready_file(path: Path | None) -> None:
    """Raises `UsageError` if a ready file cannot be made there: better before a node has been started than after."""
    if path is None:
        return
    try:
        with tempfile.TemporaryFile(dir=path.absolute().parent):
            pass
    except OSError as error:
        raise _no_ready_file(path.absolute(), error) from error


def _no_ready_file(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write the ready file {path}: {error.strerror or error}")


@contextlib.contextmanager
def ready(path: Path | None, layout: RootLayout) -> Iterator[None]:
    """Have the ready file there, whole from its first moment. Raises `UsageError` if it cannot be written."""
    if path is None:
        yield
        return
    facts = {
        "root": str(layout.path),
        "registration_socket": str(layout.registration_socket),
        "pid": os.getpid(),
    }
    path = path.absolute()
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(facts) + "\n", encoding="ascii")
        ours = temporary.stat()
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise _no_ready_file(path, error) from error
    try:
        yield
    finally:
        # Another node may have been told to use the same file.
        with contextlib.suppress(OSError):
            if os.path.samestat(path.lstat(), ours):
                path.unlink()
