"""A node and plugins as processes, as a user has them, and commands that are run against them.

A command is run in this process (`ks`, by click's runner): its own process would be nine tenths imports. Where the process is
the subject (signals, pipes, terminals, exit codes of the interpreter) it is a real one (`ks_process`), and
`test_processes.py` has one for every command.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner

from kubelet_sim.cli.main import PROGRAM as NAME
from kubelet_sim.cli.main import cli
from kubelet_sim.node.plugin.isolation import namespaces_available
from tests.patience import PATIENCE_S

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "kubelet_sim")
PLUGIN = (sys.executable, "-m", "plugins_examples.env_gpu")
RESOURCE = "example.com/gpu"
WHY_NO_NAMESPACES = namespaces_available()


def environment(**more: str) -> dict[str, str]:
    """Ours, with the project importable from anywhere and no root of the caller's."""
    kept = {name: value for name, value in os.environ.items() if name != "KUBELET_SIM_ROOT"}
    return kept | {"PYTHONPATH": str(PROJECT)} | more


def until(holds: Callable[[], bool]) -> None:
    """Wait for what nobody announces; fail the test if it does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ks(
    *arguments: object,
    root: Path | None = None,
    text: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """The outcome of a command that is run in this process to its end, in that directory and with these variables more."""
    words = list(map(str, arguments))
    variables = {"KUBELET_SIM_ROOT": None if root is None else str(root), **(env or {})}
    with contextlib.chdir(cwd or "."):
        done = CliRunner().invoke(cli, words, input=text, env=variables, prog_name=NAME)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def ks_process(
    *arguments: object,
    root: Path | None = None,
    text: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """The outcome of a command that is run as a process of its own to its end, as `ks` does it here."""
    command = [*PROGRAM, *map(str, arguments)]
    more = ({} if root is None else {"KUBELET_SIM_ROOT": str(root)}) | dict(env or {})
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment(**more),
        cwd=cwd,
    )


def ok(*arguments: object, root: Path, text: str | None = None) -> str:
    """Run a command that has to work; its output."""
    done = ks(*arguments, root=root, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def data(*arguments: object, root: Path) -> Any:
    """What a command says in JSON."""
    return json.loads(ok(*arguments, "-o", "json", root=root))


@contextmanager
def started(*command: str, output: int | IO[str] = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own, gone at the end whatever happens."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def node(root: Path, *options: str, output: int | IO[str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A node that listens. Its output goes to the file `log` beside the root, unless it is to go elsewhere."""
    ready_file = root.parent / "ready"
    with (root.parent / "log").open("w", encoding="utf-8") as log:
        where = log if output is None else output
        command = (*PROGRAM, "run", "--root", str(root), "--ready-file", str(ready_file), *options)
        with started(*command, output=where) as process:
            until(lambda: ready_file.exists() or process.poll() is not None)
            yield process


@contextmanager
def plugin(root: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The example plugin, registered with its four devices."""
    sockets = str(root / "device-plugins")
    with started(*PLUGIN, "--socket-dir", sockets, *options, output=subprocess.DEVNULL) as process:
        ok("wait", "--for", f"resource/{RESOURCE}=4", root=root)
        yield process


def stop(process: subprocess.Popen[str], number: signal.Signals) -> int:
    """Send the signal and wait for the end; the exit code."""
    process.send_signal(number)
    return process.wait(PATIENCE_S)


def pod(name: str, count: int = 1, namespace: str = "default") -> str:
    """The manifest of a pod that asks for so many devices."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "containers": [{"name": "main", "image": "x", "resources": {"limits": {RESOURCE: count}}}],
            },
        }
    )
