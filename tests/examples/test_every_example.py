"""What every example plugin does, whatever it grants: all of them as processes beside one node."""

from __future__ import annotations

import contextlib
import io
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import grpc
import pytest

from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.node.sync import SyncNode
from plugins_examples.pb import api_pb2
from tests.examples.fleet import EXAMPLES, ROOT, Example, Fleet, healthy, pod, resource_view, start
from tests.leftovers import no_thread_is_left
from tests.patience import PATIENCE_S

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)


@contextlib.contextmanager
def _running_fleet() -> Iterator[Fleet]:
    """All examples, started at once and listed."""
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
        stack.callback(shutil.rmtree, folder)
        fleet = Fleet(stack.enter_context(SyncNode(NodeConfig(root=folder / "node"))), folder)
        stack.callback(fleet.kill)
        for example in EXAMPLES:
            fleet.start(example)
        fleet.wait_until_listed()
        yield fleet


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """As for every test, but for all of them together: the node that they share may start a thread in any of them."""
    with no_thread_is_left():
        yield


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    """The examples, shared by these tests: each leaves them as it found them, registered and healthy."""
    with _running_fleet() as running:
        yield running


@every_example
def test_lists_its_devices(fleet: Fleet, example: Example) -> None:
    """Each resource is served from a socket of its own, and the list holds its devices and no others."""
    snapshot = fleet.wait_until_listed(example)
    for resource, ids in fleet.devices(example).items():
        view = resource_view(snapshot, resource)
        assert view is not None
        assert [device.id for device in view.devices] == sorted(ids)
        assert fleet.live(snapshot)[resource].socket_name in fleet.sockets()


@every_example
def test_a_pod_gets_what_it_promises(fleet: Fleet, example: Example) -> None:
    """A pod with two devices of each resource is admitted, and its container gets what the example is about."""
    fleet.wait_until_listed(example)
    name = example.name.replace("_", "-")
    assert fleet.node.admit(pod(name, dict.fromkeys(example.devices, 2))) == Admitted()
    try:
        fleet.node.wait_for(
            lambda now: any(each.name == name and each.phase == "Running" for each in now.pods), PATIENCE_S
        )
        granted = {
            each.resource: sorted(device for _, ids in each.devices for device in ids)
            for each in fleet.node.status().allocations
            if each.pod == f"default/{name}"
        }
        assert {resource: len(ids) for resource, ids in granted.items()} == dict.fromkeys(example.devices, 2)
        listed = {
            resource: [each for each in fleet.devices(example)[resource] if each in ids]
            for resource, ids in granted.items()
        }
        assert fleet.node.container_spec(name) == example.grants(listed)
    finally:
        fleet.node.remove(name)


@every_example
def test_a_broken_device_is_mended(fleet: Fleet, example: Example) -> None:
    """A device named in the file turns unhealthy and stays in the list; it is healthy again when the file is gone."""
    fleet.wait_until_listed(example)
    file = fleet.unhealthy_file(example)
    resource, (broken, *others) = next(iter(fleet.devices(example).items()))
    file.write_text(f"{broken}  # out of order\n")
    try:
        snapshot = fleet.node.wait_for(lambda now: healthy(now, resource) == set(others), PATIENCE_S)
        view = resource_view(snapshot, resource)
        assert view is not None
        assert [device.id for device in view.devices if not device.is_healthy] == [broken]
    finally:
        file.unlink()
    fleet.wait_until_listed(example)


@every_example
def test_refuses_unknown_ids(fleet: Fleet, example: Example) -> None:
    """An id that was never listed is refused, and named with its control characters escaped."""
    fleet.wait_until_listed(example)
    asked = api_pb2.AllocateRequest(container_requests=[api_pb2.ContainerAllocateRequest(devices_ids=["\x1b[31m"])])
    for resource in example.devices:
        with fleet.call(resource) as plugin, pytest.raises(grpc.RpcError) as caught:
            plugin.Allocate(asked, timeout=PATIENCE_S)
        assert isinstance(caught.value, grpc.Call)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert caught.value.details() == r"unknown devices: '\x1b[31m'"


@every_example
def test_does_what_its_options_say(fleet: Fleet, example: Example) -> None:
    """Only numa wants GetPreferredAllocation, only pre_start PreStartContainer; elsewhere they are not implemented."""
    plugins = fleet.live(fleet.wait_until_listed(example))
    for resource in example.devices:
        view = plugins[resource]
        assert view.get_preferred_allocation_available == (example.name == "numa")
        assert view.pre_start_required == (example.name == "pre_start")
        with fleet.call(resource) as plugin:
            calls: list[Callable[[], object]] = []
            if not view.get_preferred_allocation_available:
                request = api_pb2.PreferredAllocationRequest(
                    container_requests=[api_pb2.ContainerPreferredAllocationRequest()]
                )
                calls.append(partial(plugin.GetPreferredAllocation, request, timeout=PATIENCE_S))
            if not view.pre_start_required:
                calls.append(partial(plugin.PreStartContainer, api_pb2.PreStartContainerRequest(), timeout=PATIENCE_S))
            for call in calls:
                with pytest.raises(grpc.RpcError) as caught:
                    call()
                assert isinstance(caught.value, grpc.Call)
                assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def _restart(fleet: Fleet) -> None:
    fleet.node.restart()


def _replace_in_place(fleet: Fleet) -> None:
    path = Path(fleet.node.registration_socket)
    inode = path.stat().st_ino
    path.rename(path.with_name("aside")).rename(path)
    assert path.stat().st_ino == inode


def _recreate_the_directory(fleet: Fleet) -> None:
    node = fleet.node

    async def kill(which: Node) -> None:
        await which.kill()

    node.run(kill(node.node))
    # In one step: the dead kubelet may just be writing its checkpoint.
    aside = Path(node.device_plugin_directory).rename(node.config.root / "aside")
    node.restart()
    shutil.rmtree(aside, ignore_errors=True)


def _sweep_their_sockets(fleet: Fleet) -> None:
    for name in fleet.sockets():
        (Path(fleet.node.device_plugin_directory) / name).unlink()


def _cut_the_streams(fleet: Fleet) -> None:
    async def cut(node: Node) -> None:
        for link in tuple(node.kubelet.driver.links.values()):
            await link.connection.close()

    fleet.node.run(cut(fleet.node.node))


@pytest.mark.parametrize(
    "how",
    [_restart, _replace_in_place, _recreate_the_directory, _sweep_their_sockets, _cut_the_streams],
    ids=lambda how: how.__name__.strip("_"),
)
def test_registers_again(fleet: Fleet, how: Callable[[Fleet], None]) -> None:
    """However a kubelet restarts, every example registers anew, lists the same, and has one socket for each resource."""
    before = fleet.wait_until_listed()
    how(fleet)

    def anew(now: NodeSnapshot) -> bool:
        plugins, earlier = fleet.live(now), fleet.live(before)
        return fleet.sockets() == {each.socket_name for each in plugins.values()} and all(
            each.socket_name != earlier[resource].socket_name for resource, each in plugins.items()
        )

    fleet.wait_until_listed(also=anew)
    assert {name: process.poll() for name, process in fleet.processes.items()} == dict.fromkeys(fleet.processes)


def test_sigterm_leaves_nothing() -> None:
    """Every example ends at SIGTERM with 0, and no socket and no CDI file is left; only the resets' log is."""
    with _running_fleet() as fleet:
        assert fleet.terminate() == {example.name: 0 for example in EXAMPLES}
        assert fleet.sockets() == set()
        for example in EXAMPLES:
            left = {str(path.relative_to(fleet.place(example))) for path in fleet.place(example).rglob("*")}
            assert left <= {"tty0", "tty1", "cdi", "resets"}
        resources = {resource for example in EXAMPLES for resource in example.devices}
        fleet.node.wait_for(
            lambda now: all(view.healthy == 0 for view in now.resources if view.name in resources), PATIENCE_S
        )


@pytest.mark.parametrize("name", ["aio", "env_gpu"])
def test_stops_while_it_waits(name: str, short_root: Path) -> None:
    """SIGTERM is obeyed beside a kubelet that accepts and says nothing, by the two ways of living that there are."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(short_root / "kubelet.sock"))
        silent.listen()
        silent.settimeout(PATIENCE_S)
        command = [sys.executable, "-m", f"plugins_examples.{name}", "--socket-dir", str(short_root)]
        process = subprocess.Popen(command, cwd=ROOT)
        try:
            connection, _ = silent.accept()
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
            connection.close()
        finally:
            process.kill()
            process.wait()
    assert [path.name for path in short_root.iterdir()] == ["kubelet.sock"]


@pytest.mark.parametrize("name", ["aio", "env_gpu"])
def test_further_signals_change_nothing(name: str, run_example: Callable[[str], tuple[Fleet, Example]]) -> None:
    """Whoever sends SIGTERM again and again does not disturb the cleaning up, nor the exit code."""
    fleet, _ = run_example(name)
    process = fleet.processes[name]
    while process.poll() is None:
        process.terminate()
    assert process.returncode == 0
    assert fleet.sockets() == set()


@pytest.mark.parametrize("name", ["aio", "env_gpu"])
def test_says_why_it_was_refused(name: str, make_kubelet: Callable[..., SyncNode]) -> None:
    """The kubelet's words about a name that it does not take are in the log, once for several tries."""
    node = make_kubelet()
    process = start(name, node, "--resource", "kubernetes.io/thing", stderr=subprocess.PIPE)
    try:
        node.wait_for(lambda _: sum("refused" in record.text for record in node.node.transcript) > 1, PATIENCE_S)
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        (line,) = told.splitlines()
        assert b'refused kubernetes.io/thing: UNKNOWN: the ResourceName "kubernetes.io/thing" is invalid' in line
    finally:
        process.kill()
        process.wait()


def test_none_needs_kubelet_sim() -> None:
    """Every example runs where kubelet_sim cannot be imported at all."""
    names = [example.name for example in EXAMPLES]
    program = (
        "import contextlib, sys; sys.modules['kubelet_sim'] = None\n"
        "from importlib import import_module\n"
        f"for name in {names}:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        import_module(f'plugins_examples.{name}.__main__').main(['--help'])\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert [f"python -m plugins_examples.{name} " in done.stdout for name in names] == [True] * len(names)


@pytest.mark.parametrize(
    "name, options",
    [
        ("aio", ["--devices", "-1"]),
        ("aio", ["--socket-dir", "/" + "d" * 100]),
        ("cdi", ["--kind", "fpga"]),
        ("cdi", ["--kind", "example.com/.fpga"]),
        ("device_nodes", ["--device", ""]),
        ("device_nodes", ["--device", "/dev/tty\udcff"]),
        ("device_nodes", ["--permissions", "rx"]),
        ("device_nodes", ["--permissions", "rr"]),
        ("device_nodes", ["--mount", "etc"]),
        ("device_nodes", ["--mount", "/etc:/etc:rw"]),
        ("numa", ["--numa", "0"]),
        ("numa", ["--numa", "0:1,0:1"]),
        ("numa", ["--numa", "64:1"]),
        ("numa", ["--numa", "0:10000,1:1"]),
        ("pre_start", ["--resource", "accelerator"]),
        ("two_resources", ["--resource", "example.com/encoder"]),
        ("two_resources", ["--resource", "example.com/a-b=1", "--resource", "example.com/a.b=1"]),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_option(name: str, options: list[str]) -> None:
    """A value that cannot be is refused with exit code 2 and the name of the option."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told), pytest.raises(SystemExit) as caught:
        import_module(f"plugins_examples.{name}.__main__").main(options)
    assert caught.value.code == 2
    assert options[0] in told.getvalue()
