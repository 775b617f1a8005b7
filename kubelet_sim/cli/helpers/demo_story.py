"""The story that `demo` tells: what a node and a plugin say to each other, told while it happens.

Everything in it is real but the GPUs: the node of this package, the example plugin as a process of its own, their
sockets. Time is moved by hand, so that nobody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import click

from kubelet_sim.cli.helpers.serving_node import run_until_stopped
from kubelet_sim.errors import TransportError
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.plugin.launch import Launch
from kubelet_sim.node.plugin.plugin_process import PluginProcess
from kubelet_sim.node.recording.writer import recorded
from kubelet_sim.present.container_text import spec_text
from kubelet_sim.present.tables import table_text
from kubelet_sim.tasks import to_its_end
from kubelet_sim.transcript import Record
from kubelet_sim.wire.unix_socket import short_folder

RESOURCE = "example.com/gpu"
DEVICE_COUNT = 4
PLUGIN = "plugins_examples.env_gpu"
POD_YAML = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: training
spec:
  containers:
  - name: main
    image: example.com/training
    resources:
      limits:
        {RESOURCE}: 2
"""
NEXT = (
    ("run", "a node of your own; leave it running"),
    ("exec -- ./my-plugin", "your plugin on it, from another terminal"),
    ("apply -f pod.yaml", "a pod, such as the one above"),
    ("container-spec training", "what its container gets"),
    ("restart", "does your plugin register again?"),
)
_PROGRAM = "kubelet-sim"
_WAIT_S = 20.0
_STOP_S = 3.0
_WIDTH = 100

Say = Callable[[str], None]


async def tell_story(say: Say, transcript: Path | None = None) -> bool:
    """Tell it to its end and return True, or False if a signal ended it. Nothing is left either way.

    Args:
        say: takes each line.
        transcript: a file for everything that happens on the node.

    Raises:
        TransportError: the plugin could not be run, or did not do what it is known to do.
        UsageError: the transcript cannot be written.
    """
    directory = Path(tempfile.mkdtemp(prefix="ks-demo-", dir=short_folder()))
    try:
        was_told = await run_until_stopped(_Demo(say, directory, transcript).tell())
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if was_told:
        say(f"Cleaned up: the plugin has ended, {directory} is gone.\n\n{next_text(our_command())}")
    return was_told


def next_text(command: str) -> str:
    """What to try next, as command lines that begin with this."""
    lines = [(f"{command} {arguments}", what) for arguments, what in NEXT]
    width = max(len(line) for line, _ in lines)
    return "\n".join(["What to try next", *(f"  {line:<{width}}   {what}" for line, what in lines)])


def our_command() -> str:
    """How a shell finds this program: by its name if that is on the path, else as it was started."""
    if shutil.which(_PROGRAM):
        return _PROGRAM
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m kubelet_sim"
    return shlex.quote(str(started))


class _Demo:
    def __init__(self, say: Say, directory: Path, transcript: Path | None) -> None:
        self._say = say
        self._directory = directory
        self._transcript = transcript
        self._told = 0
        self._steps = 0

    async def tell(self) -> None:
        self._say("A kubelet's device manager at work: no cluster, no container, no GPU.")
        self._say("Indented lines are the node's transcript. In brackets: the rules of the kubelet behind them.")
        config = NodeConfig(root=self._directory)
        self._step("A node starts and listens where plugins look for the kubelet")
        node = Node(config, clock=ManualClock())
        with recorded(node, self._transcript):
            await self._tell_of(node)

    async def _tell_of(self, node: Node) -> None:
        async with node:
            self._show(node)
            async with self._plugin(node):
                await self._node_status(node)
                await self._pod(node)

    @contextlib.asynccontextmanager
    async def _plugin(self, node: Node) -> AsyncIterator[None]:
        command = [sys.executable, "-m", PLUGIN]
        options = ["--resource", RESOURCE, "--gpus", str(DEVICE_COUNT)]
        options += ["--socket-dir", str(node.root.layout.device_plugins)]
        self._step("A device plugin starts, a process of its own, and registers")
        self._say(f"$ python -m {PLUGIN} {shlex.join(options)}")
        self._say(
            "It calls Register, with the name of its own socket. The kubelet calls back there: it asks for options,"
        )
        self._say("then opens ListAndWatch, a stream on which the plugin lists its devices whenever they change.")
        async with _running([*command, *options], node) as process:
            await _reached(node, process, lambda now: any(each.healthy == DEVICE_COUNT for each in now.resources))
            self._show(node)
            yield

    async def _node_status(self, node: Node) -> None:
        self._step("Ten seconds later, the kubelet computes the node's status")
        self._say("Only now does the node object that a scheduler sees list the resource.")
        await node.advance(11)
        self._show(node)
        now = node.status()
        rows = [[name, amount, dict(now.allocatable)[name]] for name, amount in now.capacity if name == RESOURCE]
        self._say(_indented(table_text(["RESOURCE", "CAPACITY", "ALLOCATABLE"], rows)))

    async def _pod(self, node: Node) -> None:
        import yaml

        self._step("A pod asks for two of the devices")
        self._say(_indented(POD_YAML, "  | "))
        self._say(
            "The kubelet chooses the devices, asks the plugin with Allocate what a container needs to use them, and"
        )
        self._say("writes a checkpoint, before it admits the pod.")
        pod = pod_from_mapping(yaml.safe_load(POD_YAML))
        await node.apply([pod])
        now = await node.wait_for(lambda now: all(each.phase != "Pending" for each in now.pods), _WAIT_S)
        self._show(node)
        if now.pods[0].phase != "Running":
            raise TransportError(f"the pod did not start: {now.pods[0].message}")
        self._step("What the kubelet hands to the container runtime")
        self._say("The merged answers of all plugins: this one grants by an environment variable, as NVIDIA's does.")
        self._say(_indented(spec_text(node.container_spec(pod.name))) + "\n")

    def _step(self, title: str) -> None:
        self._steps += 1
        self._say("\n" + click.style(f"{self._steps}. {title}", bold=True))

    def _show(self, node: Node) -> None:
        """What has been recorded since the last time."""
        for record in node.transcript.after(self._told, limit=1000):
            self._told = record.number
            self._say(_record_text(record))


@contextlib.asynccontextmanager
async def _running(command: list[str], node: Node) -> AsyncIterator[PluginProcess]:
    """The plugin, until the block ends; its end is awaited then. A Ctrl-C is ours, and we end it in turn."""
    process = PluginProcess(Launch(tuple(command), node.root.layout, _environment()))
    try:
        await process.start()
        yield process
    finally:
        await to_its_end(process.close(_STOP_S))


def _environment() -> Mapping[str, str]:
    """What lets the plugin be found where we find it. Raises `TransportError` if it is nowhere."""
    package = PLUGIN.partition(".")[0]
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise TransportError(f"the example plugin is missing: there is no package {package} beside kubelet_sim")
    places = [str(Path(found.submodule_search_locations[0]).parent), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, places))}


async def _reached(node: Node, process: PluginProcess, condition: Callable[[NodeSnapshot], bool]) -> NodeSnapshot:
    """The snapshot that fulfils the condition. Raises `TransportError` if the plugin ends before, or it takes too long."""
    waiting = asyncio.create_task(node.wait_for(condition, _WAIT_S))
    ended = asyncio.create_task(process.ended(_WAIT_S))
    try:
        await asyncio.wait((waiting, ended), return_when=asyncio.FIRST_COMPLETED)
        if waiting.done() or not process.has_ended:
            return await waiting
        last = process.output().strip().rpartition("\n")[2]
        raise TransportError(f"the example plugin ended with code {process.exit_code}: {last or 'it said nothing'}")
    finally:
        for task in (waiting, ended):
            task.cancel()
        await asyncio.wait((waiting, ended))


def _record_text(record: Record) -> str:
    rules = f"  [{', '.join(record.rules)}]" if record.rules else ""
    text = f"{escape_terminal(f'{record.subject}: {record.text}')}"
    room = _WIDTH - len(rules) - 4
    if len(text) > room:  # lists of long ids
        text = text[: room - 1] + "…"
    return f"    {click.style(text, dim=True)}{click.style(rules, fg='cyan')}"


def _indented(text: str, prefix: str = "    ") -> str:
    return "\n".join(prefix + line for line in text.rstrip().splitlines())
