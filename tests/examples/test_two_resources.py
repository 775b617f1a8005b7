"""The example with several resources: each lives and fails on its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from kubelet_sim.node.sync import SyncNode
from tests.examples.fleet import ROOT, healthy, start
from tests.patience import PATIENCE_S


def test_one_that_is_refused_does_not_end_the_other(make_kubelet: Callable[..., SyncNode]) -> None:
    """While the kubelet refuses one resource, the other is served, also after a restart; SIGTERM ends both with 0."""
    node = make_kubelet()
    options = ["--resource", "kubernetes.io/decoder=1", "--resource", "example.com/encoder=2"]
    process = start("two_resources", node, *options, stderr=subprocess.PIPE)
    try:
        served = {"encoder-0", "encoder-1"}
        node.wait_for(lambda now: healthy(now, "example.com/encoder") == served, PATIENCE_S)
        refusals = sum("refused" in record.text for record in node.records())
        node.restart()
        node.wait_for(lambda now: healthy(now, "example.com/encoder") == served, PATIENCE_S)
        node.wait_for(lambda _: sum("refused" in record.text for record in node.node.transcript) > refusals, PATIENCE_S)
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        assert b"the kubelet refused kubernetes.io/decoder: UNKNOWN" in told
        assert told.count(b"registered example.com/encoder") >= 2
    finally:
        process.kill()
        process.wait()


def test_one_that_fails_does_not_end_the_other(make_kubelet: Callable[..., SyncNode]) -> None:
    """A resource that cannot even start leaves the other served; the exit code tells of it at the end."""
    node = make_kubelet()
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from plugins_examples.chassis.lifecycle import Settings\n"
        "from plugins_examples.chassis.process import run_until_signal\n"
        "from plugins_examples.two_resources.plugin import Units\n"
        "class Broken(Units):\n"
        "    def start(self):\n"
        "        raise OSError('no such card')\n"
        "plugins = [Broken('example.com/decoder', 1), Units('example.com/encoder', 1)]\n"
        "sys.exit(run_until_signal(Settings('two', Path(sys.argv[1]), None), plugins))\n"
    )
    command = [sys.executable, "-c", program, node.device_plugin_directory]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
    try:
        node.wait_for(lambda now: healthy(now, "example.com/encoder") == {"encoder-0"}, PATIENCE_S)
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
        assert b"example.com/decoder has ended: no such card" in told
        assert process.returncode == 1
    finally:
        process.kill()
        process.wait()
