"""Fixtures for tests of a device plugin: a kubelet in the same process, with time that a test moves.

    def test_my_plugin(kubelet, plugin_process):
        plugin_process("./my-plugin", "--socket-dir", "{dir}")
        kubelet.wait_for(lambda node: any(r.healthy == 4 for r in node.resources))

Each layer can be overridden alone: `kubelet_sim_config` holds the choices, `make_kubelet` starts nodes and stops them,
`kubelet` is a fresh one. Nothing of kubelet-sim is imported before a fixture is used.

The report of a test that fails shows the last records of its nodes, and what its plugins said. With
`--kubelet-sim-transcripts=DIR`, or that ini value `kubelet_sim_transcripts`, whole transcripts are kept there.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kubelet_sim.node.clock import ManualClock
    from kubelet_sim.node.node import Node
    from kubelet_sim.node.sync import SyncNode
    from kubelet_sim.testing.fake_plugin import FakePlugin
    from kubelet_sim.testing.plugin_process import SyncPluginProcess
    from kubelet_sim.transcript import Record

    MakeKubelet = Callable[..., SyncNode]
    MakeNode = Callable[..., Node]
    MakeFakePlugin = Callable[..., FakePlugin]
    MakePluginProcess = Callable[..., SyncPluginProcess]

_SHOWN = pytest.StashKey[list[Callable[[], tuple[str, str]]]]()
"""What a failure of the test is to show: heads and texts, made when it fails."""
_FAILED: pytest.StashKey[bool] = pytest.StashKey()
_NODES: pytest.StashKey[int] = pytest.StashKey()
"""How many nodes the test has had so far."""
_LAST_RECORDS = 30


# ------------------------------------------------------------------------------------------------------ options, reports


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and their ini values."""
    group = parser.getgroup("kubelet-sim")
    group.addoption(
        "--kubelet-version",
        action="append",
        default=[],
        metavar="VERSION",
        help="the kubelet release that is emulated where a test names none; given twice, tests run on each",
    )
    group.addoption(
        "--kubelet-sim-strict",
        action="store_true",
        default=False,
        help="warnings of conformance checks fail their tests",
    )
    what = "keep the transcripts of kubelet-sim's nodes there, of tests that fail"
    group.addoption("--kubelet-sim-transcripts", metavar="DIR", help=what)
    parser.addini("kubelet_sim_transcripts", f"DIR: {what}", default="")
    parser.addini("kubelet_sim_version", type="args", default=[], help="as --kubelet-version, which goes before it")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker of the plugin's fixtures."""
    config.addinivalue_line(
        "markers", "kubelet_version(*versions): the kubelet releases on which the test runs, such as '1.24'"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each kubelet version, if there are several; of a conformance suite one for each check."""
    versions = _versions(metafunc)
    suite = getattr(metafunc.function, "kubelet_sim_suite", None)
    if suite is not None:
        cases = suite.cases(versions)
        several = len({version for version, _ in cases}) > 1
        # The first test waits for all checks, each of which has a time limit of its own.
        marks = [pytest.mark.timeout(0)] if metafunc.config.pluginmanager.hasplugin("timeout") else []
        names = [f"{version}-{id_}" if several else id_ for version, id_ in cases]
        parameters = [pytest.param(case, id=name, marks=marks) for case, name in zip(cases, names, strict=True)]
        metafunc.parametrize("kubelet_sim_case", parameters)
    elif len(versions) > 1 and "kubelet_sim_version" in metafunc.fixturenames:
        metafunc.parametrize("kubelet_sim_version", versions, indirect=True)


def _versions(metafunc: pytest.Metafunc) -> Sequence[str]:
    """By the closest marker, by the command line, by the ini file; none if nobody says."""
    marker = metafunc.definition.get_closest_marker("kubelet_version")
    config = metafunc.config
    named = marker.args if marker is not None else None
    return named or config.getoption("kubelet_version") or config.getini("kubelet_sim_version")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show in the report of a test that failed what its nodes and plugins have to say."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    if report.failed and report.when == "call":
        shown = (show() for show in item.stash.get(_SHOWN, []))
        report.sections.extend((head, text) for head, text in shown if text)
    return report


def _show(item: pytest.Item, what: Callable[[], tuple[str, str]]) -> None:
    item.stash.setdefault(_SHOWN, []).append(what)


def _last_records(number: int, records: Sequence[Record]) -> tuple[str, str]:
    from kubelet_sim.manifests.errors import one_line

    lines = (
        f"{each.at_s:10.3f}  {each.kind:<8}  {one_line(each.subject)}: {one_line(each.text, 300)}"
        + (f"  [{', '.join(each.rules)}]" if each.rules else "")
        for each in records[-_LAST_RECORDS:]
    )
    return f"transcript of kubelet-sim node {number}, the last records", "\n".join(lines)


# -------------------------------------------------------------------------------------------------------------- fixtures


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
def kubelet_sim_version(request: pytest.FixtureRequest) -> str | None:
    """The kubelet release for nodes whose choices name none: by the marker, by the command line, or by the ini file."""
    if (given := getattr(request, "param", None)) is not None:
        return str(given)
    marker = request.node.get_closest_marker("kubelet_version")
    named = marker.args if marker is not None else None
    versions = named or request.config.getoption("kubelet_version") or request.config.getini("kubelet_sim_version")
    return versions[0] if versions else None


@pytest.fixture
def make_kubelet(
    request: pytest.FixtureRequest, kubelet_sim_config: dict[str, Any], kubelet_sim_version: str | None
) -> Iterator[MakeKubelet]:
    """Start nodes: `make_kubelet(clock=…, root=…, **choices)`; each is stopped when the test ends.

    Without a root, a node gets a folder of its own with a path short enough for sockets; it is removed at the end.
    """
    from kubelet_sim.node.sync import SyncNode

    item: pytest.Item = request.node
    with ExitStack() as stack:

        def make(
            *, clock: Any = None, calls: Any = None, order: Any = None, store: Any = None, **choices: Any
        ) -> SyncNode:
            chosen = _node_choices({**kubelet_sim_config, **choices}, kubelet_sim_version, stack)
            number, path = _next_node(item, stack)
            ports = {"clock": clock, "calls": calls, "order": order, "store": store}
            node = SyncNode(chosen, **ports, transcript=path)
            _show(item, lambda: _last_records(number, node.records() if node.is_started else ()))
            return stack.enter_context(node)

        yield make


@pytest.fixture
def make_node(
    request: pytest.FixtureRequest, kubelet_sim_config: dict[str, Any], kubelet_sim_version: str | None
) -> Iterator[MakeNode]:
    """Nodes for tests with an event loop: `async with make_node(clock=…, **choices) as node:`, as `make_kubelet` makes them."""
    from kubelet_sim.node.node import Node

    item: pytest.Item = request.node
    with ExitStack() as stack:

        def make(*, clock: Any = None, calls: Any = None, order: Any = None, store: Any = None, **choices: Any) -> Node:
            chosen = _node_choices({**kubelet_sim_config, **choices}, kubelet_sim_version, stack)
            number, _ = _next_node(item, stack)
            node = Node(chosen, clock=clock, calls=calls, order=order, store=store)
            _show(item, lambda: _last_records(number, tuple(node.transcript)))
            return node

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


@pytest.fixture
def plugin_process(request: pytest.FixtureRequest, kubelet: SyncNode) -> Iterator[MakePluginProcess]:
    """Start a plugin's command beside `kubelet`: `plugin_process("./my-plugin", "--socket-dir", "{dir}")`.

    Further arguments: `env`, `cwd`, `isolated`, and `node` for another one than `kubelet`. It ends, with all it has
    started, when the test ends; a test that fails shows what it said.
    """
    from kubelet_sim.foreign import escape_lines
    from kubelet_sim.testing.plugin_process import SyncPluginProcess

    with ExitStack() as stack:

        def make(*command: str, node: SyncNode = kubelet, **choices: Any) -> SyncPluginProcess:
            process = SyncPluginProcess(Path(node.device_plugin_directory), command, **choices)
            stack.callback(process.close)
            node.beside.append(process.gone)
            _show(request.node, lambda: (f"output of {command[0]}", escape_lines(process.output())))
            return process

        yield make


def _next_node(item: pytest.Item, stack: ExitStack) -> tuple[int, Path | None]:
    """The number of the test's next node, and where its transcript goes, if anywhere; a test that passes keeps none."""
    number = item.stash[_NODES] = item.stash.get(_NODES, 0) + 1
    given = item.config.getoption("--kubelet-sim-transcripts") or item.config.getini("kubelet_sim_transcripts")
    if not given:
        return number, None
    folder = item.config.rootpath / str(given)
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", item.nodeid)[-150:].strip("-.")
    path = folder / f"{name}.{number}.jsonl"
    stack.callback(_drop_unless_failed, item, path)
    return number, path


def _drop_unless_failed(item: pytest.Item, path: Path) -> None:
    if not item.stash.get(_FAILED, False):
        path.unlink(missing_ok=True)


def _node_choices(chosen: dict[str, Any], default_version: str | None, stack: ExitStack) -> Any:
    """A `NodeConfig` of choices by name; a folder is made for a node without a root. Fails the test for unknown names."""
    from attrs import fields

    from kubelet_sim.node.config import NodeConfig
    from kubelet_sim.profiles import V1_36, profile_of, with_gates

    given = chosen.get("profile")
    version = chosen.pop("kubelet_version", None if given else default_version)
    gates = chosen.pop("feature_gates", {})
    if version is not None or gates:
        chosen["profile"] = with_gates(profile_of(version) if version else given or V1_36, gates)
    known = [*(each.name for each in fields(NodeConfig)), "kubelet_version", "feature_gates"]
    if unknown := sorted(chosen.keys() - known):
        pytest.fail(f"{', '.join(unknown)}: no choice for a node; there are: {', '.join(known)}", pytrace=False)
    if "root" not in chosen:
        chosen["root"] = _short_folder(stack)
    return NodeConfig(**chosen)


def _short_folder(stack: ExitStack) -> Path:
    """A Unix socket path ends at 107 bytes; pytest's own temporary folders are longer."""
    from kubelet_sim.wire.unix_socket import short_folder

    path = tempfile.mkdtemp(prefix="ks-", dir=short_folder())
    stack.callback(shutil.rmtree, path, ignore_errors=True)
    return Path(path)
