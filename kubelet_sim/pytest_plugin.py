"""Fixtures for tests of a device plugin: a kubelet in the same process, with time that a test moves.

    def test_my_plugin(kubelet):
        start_my_plugin(kubelet.device_plugin_directory)
        kubelet.wait_for(lambda node: any(r.healthy == 4 for r in node.resources))

Each layer can be overridden alone: `kubelet_sim_config` holds the choices, `make_kubelet` starts nodes and stops them,
`kubelet` is a fresh one. Nothing of kubelet-sim is imported before a fixture is used.

The report of a test that fails shows the last records of its nodes. With `--kubelet-sim-transcripts=DIR`, or that ini value
`kubelet_sim_transcripts`, their whole transcripts are kept there.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kubelet_sim.node.clock import ManualClock
    from kubelet_sim.node.sync import SyncNode
    from kubelet_sim.testing.fake_plugin import FakePlugin

    MakeKubelet = Callable[..., SyncNode]
    MakeFakePlugin = Callable[..., FakePlugin]


_NODES: pytest.StashKey[list[SyncNode]] = pytest.StashKey()
_FAILED: pytest.StashKey[bool] = pytest.StashKey()
_SHOWN = 30


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where transcripts of failing tests go."""
    what = "keep the transcripts of kubelet-sim's nodes there, of tests that fail"
    parser.getgroup("kubelet-sim").addoption("--kubelet-sim-transcripts", metavar="DIR", help=what)
    parser.addini("kubelet_sim_transcripts", f"DIR: {what}", default="")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of each node's transcript in the report of a test that failed."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    if report.failed and report.when == "call":
        nodes: list[SyncNode] = item.stash.setdefault(_NODES, [])
        for number, node in enumerate(nodes, start=1):
            if node.is_started and (text := _last_records(node)):
                report.sections.append((f"transcript of kubelet-sim node {number}, the last records", text))
    return report


def _last_records(node: SyncNode) -> str:
    from kubelet_sim.manifests.errors import one_line

    shown = node.records()[-_SHOWN:]
    lines = (
        f"{each.at_s:10.3f}  {each.kind:<8}  {one_line(each.subject)}: {one_line(each.text, 300)}"
        + (f"  [{', '.join(each.rules)}]" if each.rules else "")
        for each in shown
    )
    return "\n".join(lines)


@pytest.fixture
def manual_clock() -> ManualClock:
    """The clock of `kubelet`: it stands still until `kubelet.advance(seconds)`, and with it every deadline of ours."""
    from kubelet_sim.node.clock import ManualClock

    return ManualClock()


@pytest.fixture
def kubelet_sim_config() -> dict[str, Any]:
    """The choices for nodes that `make_kubelet` starts, by the names of `NodeConfig`; override it to change them.

    Besides: `kubelet_version` (such as `"1.25"`) and `feature_gates` (such as `{"ResourceHealthStatus": True}`).
    """
    return {}


@pytest.fixture
def make_kubelet(kubelet_sim_config: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[MakeKubelet]:
    """Start nodes: `make_kubelet(clock=…, root=…, **choices)`; each is stopped when the test ends.

    Without a root, a node gets a folder of its own with a path short enough for sockets; it is removed at the end.
    """
    from attrs import fields

    from kubelet_sim.node.config import NodeConfig
    from kubelet_sim.node.sync import SyncNode
    from kubelet_sim.profiles import V1_36, profile_of, with_gates

    item: pytest.Item = request.node
    nodes = item.stash.setdefault(_NODES, [])
    with ExitStack() as stack:

        def make(
            *, clock: Any = None, calls: Any = None, order: Any = None, store: Any = None, **choices: Any
        ) -> SyncNode:
            chosen = {**kubelet_sim_config, **choices}
            version, gates = chosen.pop("kubelet_version", None), chosen.pop("feature_gates", {})
            if version is not None or gates:
                given = chosen.get("profile", V1_36)
                chosen["profile"] = with_gates(profile_of(version) if version else given, gates)
            known = [*(each.name for each in fields(NodeConfig)), "kubelet_version", "feature_gates"]
            if unknown := sorted(chosen.keys() - known):
                pytest.fail(f"{', '.join(unknown)}: no choice for a node; there are: {', '.join(known)}", pytrace=False)
            if "root" not in chosen:
                chosen["root"] = _short_folder(stack)
            path = _transcript_path(item, len(nodes) + 1)
            if path is not None:
                stack.callback(_drop_unless_failed, item, path)
            ports = {"clock": clock, "calls": calls, "order": order, "store": store}
            nodes.append(SyncNode(NodeConfig(**chosen), **ports, transcript=path))
            return stack.enter_context(nodes[-1])

        yield make


@pytest.fixture
def kubelet(make_kubelet: MakeKubelet, manual_clock: ManualClock) -> SyncNode:
    """A fresh node on a manual clock; the node status is computed when the clock is moved, or by `status_round()`."""
    return make_kubelet(clock=manual_clock)


@pytest.fixture
def fake_plugin(kubelet: SyncNode) -> Iterator[MakeFakePlugin]:
    """Start plugins that do as they are told: `fake_plugin("example.com/dev", devices=["a", "b"])`.

    Each is registered with `kubelet` and listed when the call returns, and stopped when the test ends.
    """
    from kubelet_sim.testing.fake_plugin import FakePlugin

    with ExitStack() as stack:

        def make(resource: str = "example.com/dev", **choices: Any) -> FakePlugin:
            plugin = stack.enter_context(FakePlugin(kubelet, resource, **choices))
            plugin.register()
            return plugin

        yield make


def _transcript_path(item: pytest.Item, number: int) -> Path | None:
    """Where the transcript of a test's node goes, if anywhere."""
    given = item.config.getoption("--kubelet-sim-transcripts") or item.config.getini("kubelet_sim_transcripts")
    if not given:
        return None
    folder = item.config.rootpath / str(given)
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", item.nodeid)[-150:].strip("-.")
    return folder / f"{name}.{number}.jsonl"


def _drop_unless_failed(item: pytest.Item, path: Path) -> None:
    if not item.stash.get(_FAILED, False):
        path.unlink(missing_ok=True)


def _short_folder(stack: ExitStack) -> Path:
    """A Unix socket path ends at 107 bytes; pytest's own temporary folders are longer."""
    from kubelet_sim.wire.unix_socket import short_folder

    path = tempfile.mkdtemp(prefix="ks-", dir=short_folder())
    stack.callback(shutil.rmtree, path, ignore_errors=True)
    return Path(path)
