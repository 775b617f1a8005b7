"""The example plugin as a process of its own, before a scripted kubelet on real sockets."""

from __future__ import annotations

import contextlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from kubelet_sim.node.plugin.isolation import isolated_command, namespaces_available
from plugins_examples.env_gpu.__main__ import main
from plugins_examples.env_gpu.inventory import gpu_ids
from plugins_examples.pb import api_pb2, api_pb2_grpc
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]


class Kubelet(api_pb2_grpc.RegistrationServicer):
    """One kubelet process: a registration socket, and the calls to whoever registered."""

    def __init__(self, directory: Path, *, refuse: str = "", sweep: bool = True) -> None:
        self.directory = directory
        self.registrations: queue.Queue[api_pb2.RegisterRequest] = queue.Queue()
        self.events: list[str] = []
        self.refuse = refuse
        self._channels: list[grpc.Channel] = []
        for path in directory.iterdir():
            if path.is_socket() and (sweep or path.name == "kubelet.sock"):
                path.unlink()
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        api_pb2_grpc.add_RegistrationServicer_to_server(self, self._server)
        self._server.add_insecure_port(f"unix:{directory}/kubelet.sock")
        self._server.start()

    def Register(self, request: api_pb2.RegisterRequest, context: grpc.ServicerContext) -> api_pb2.Empty:  # noqa: N802
        self.events.append("registered")
        self.registrations.put(request)
        if self.refuse:
            context.abort(grpc.StatusCode.UNKNOWN, self.refuse)
        # As the kubelet does: the plugin has to answer while its own call is under way.
        self.plugin(request).GetDevicePluginOptions(api_pb2.Empty(), timeout=PATIENCE_S)
        return api_pb2.Empty()

    def plugin(self, registration: api_pb2.RegisterRequest) -> api_pb2_grpc.DevicePluginStub:
        channel = grpc.insecure_channel(
            f"unix:{self.directory}/{registration.endpoint}",
            options=[("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1)],
        )
        self._channels.append(channel)
        return api_pb2_grpc.DevicePluginStub(channel)

    def connect(self) -> tuple[api_pb2_grpc.DevicePluginStub, Stream]:
        """Wait for a registration, open its stream."""
        plugin = self.plugin(self.registrations.get(timeout=PATIENCE_S))
        return plugin, Stream(plugin, self.events)

    def stop(self) -> None:
        for channel in self._channels:
            channel.close()
        self._server.stop(None).wait()


class Stream:
    """A ListAndWatch stream, read by a thread."""

    def __init__(self, plugin: api_pb2_grpc.DevicePluginStub, events: list[str]) -> None:
        self._messages: queue.Queue[dict[str, str] | grpc.StatusCode] = queue.Queue()
        self.call = plugin.ListAndWatch(api_pb2.Empty())
        self._events = events
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            for message in self.call:
                self._messages.put({device.ID: device.health for device in message.devices})
        self._events.append("ended")
        self._messages.put(self.call.code())

    def next(self) -> dict[str, str] | grpc.StatusCode:
        return self._messages.get(timeout=PATIENCE_S)

    def join(self) -> None:
        self.call.cancel()
        self._reader.join(PATIENCE_S)


class Bench:
    """A directory with a kubelet and a plugin process, all of it gone afterwards."""

    def __init__(self, directory: Path, stack: contextlib.ExitStack) -> None:
        self.directory = directory
        self._stack = stack

    def kubelet(self, *, refuse: str = "", sweep: bool = True) -> Kubelet:
        kubelet = Kubelet(self.directory, refuse=refuse, sweep=sweep)
        self._stack.callback(kubelet.stop)
        return kubelet

    def start(self, *options: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "plugins_examples.env_gpu", "--socket-dir", str(self.directory), *options],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(self._end, process)
        return process

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        process.kill()
        process.communicate()

    def sockets(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if path.name != "kubelet.sock")


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A fresh directory; the kubelets and plugins in it end with the test."""
    directory = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        yield Bench(directory, stack)


def wait_until(holds: Callable[[], bool]) -> None:
    """Look until it holds; fail when that takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_registers_and_lists(bench: Bench) -> None:
    """It registers a socket in the kubelet's directory and lists every GPU, healthy."""
    kubelet = bench.kubelet()
    bench.start("--resource", "example.com/gpu", "--gpus", "3")
    registration = kubelet.registrations.get(timeout=PATIENCE_S)
    assert (registration.version, registration.resource_name) == ("v1beta1", "example.com/gpu")
    assert bench.sockets() == [registration.endpoint]
    stream = Stream(kubelet.plugin(registration), [])
    assert stream.next() == dict.fromkeys(gpu_ids("example.com/gpu", 3), "Healthy")
    stream.join()


def test_grants_by_variable(bench: Bench) -> None:
    """Each container is granted its ids in one variable, in the order of the list whatever the request's order."""
    kubelet = bench.kubelet()
    bench.start("--env", "MY_GPUS")
    plugin, stream = kubelet.connect()
    first, second, third, _ = gpu_ids("example.com/gpu", 4)
    answer = plugin.Allocate(
        api_pb2.AllocateRequest(
            container_requests=[
                api_pb2.ContainerAllocateRequest(devices_ids=[third, first]),
                api_pb2.ContainerAllocateRequest(devices_ids=[second]),
            ]
        ),
        timeout=PATIENCE_S,
    )
    expected = [
        api_pb2.ContainerAllocateResponse(envs={"MY_GPUS": f"{first},{third}"}),
        api_pb2.ContainerAllocateResponse(envs={"MY_GPUS": second}),
    ]
    assert list(answer.container_responses) == expected
    stream.join()


def test_refuses_unknown_ids(bench: Bench) -> None:
    """An id that was never listed is refused, and named with its control characters escaped."""
    kubelet = bench.kubelet()
    bench.start()
    plugin, stream = kubelet.connect()
    request = api_pb2.AllocateRequest(
        container_requests=[api_pb2.ContainerAllocateRequest(devices_ids=["GPU-\x1b[31m"])]
    )
    with pytest.raises(grpc.RpcError) as caught:
        plugin.Allocate(request, timeout=PATIENCE_S)
    assert isinstance(caught.value, grpc.Call)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == r"unknown devices: 'GPU-\x1b[31m'"
    stream.join()


def test_health_follows_the_file(bench: Bench) -> None:
    """A GPU is unhealthy from the start if the file names it, and mended when the file is gone; it never leaves the list."""
    broken, good = gpu_ids("example.com/gpu", 2)
    file = bench.directory / "unhealthy"
    file.write_text(f"# out of order\n{broken}  # since Monday\n")
    kubelet = bench.kubelet()
    bench.start("--gpus", "2", "--unhealthy-file", str(file))
    _, stream = kubelet.connect()
    assert stream.next() == {broken: "Unhealthy", good: "Healthy"}
    file.unlink()
    assert stream.next() == {broken: "Healthy", good: "Healthy"}
    stream.join()


def test_registers_again_after_a_restart(bench: Bench) -> None:
    """A kubelet that restarts, with all sockets swept, is registered with anew, and gets the same ids."""
    kubelet = bench.kubelet()
    bench.start()
    _, stream = kubelet.connect()
    listed = stream.next()
    kubelet.stop()
    stream.join()
    again = bench.kubelet()
    _, stream = again.connect()
    assert stream.next() == listed
    assert len(bench.sockets()) == 1
    stream.join()


def test_registers_again_when_only_the_kubelet_socket_is_new(bench: Bench) -> None:
    """A replaced kubelet.sock is enough, even while the plugin's socket and its stream live on; the old stream ends first."""
    kubelet = bench.kubelet()
    bench.start()
    _, stream = kubelet.connect()
    stream.next()
    kubelet.events.clear()
    again = bench.kubelet(sweep=False)
    again.events = kubelet.events
    _, new_stream = again.connect()
    assert again.events[:2] == ["ended", "registered"]
    assert stream.next() is grpc.StatusCode.OK
    new_stream.join()
    stream.join()


def test_registers_again_when_its_own_socket_was_swept(bench: Bench) -> None:
    """A missing socket of its own is made again and registered, though kubelet.sock is the same."""
    kubelet = bench.kubelet()
    bench.start()
    _, stream = kubelet.connect()
    stream.next()
    kubelet.events.clear()
    (bench.directory / bench.sockets()[0]).unlink()
    _, new_stream = kubelet.connect()
    assert kubelet.events[:2] == ["ended", "registered"]
    new_stream.next()
    stream.join()
    new_stream.join()


def test_registers_again_after_a_lost_stream(bench: Bench) -> None:
    """When the kubelet drops the stream and nothing else happens, the plugin registers again."""
    kubelet = bench.kubelet()
    bench.start()
    _, stream = kubelet.connect()
    stream.next()
    stream.join()
    _, stream = kubelet.connect()
    stream.next()
    stream.join()


def test_waits_for_a_kubelet(bench: Bench) -> None:
    """Started before the kubelet, it says so, leaves no socket meanwhile, and registers when the kubelet comes."""
    process = bench.start()
    assert process.stderr is not None
    assert "no kubelet at" in process.stderr.readline()
    assert bench.sockets() == []
    bench.kubelet().registrations.get(timeout=PATIENCE_S)


def test_tries_again_when_refused(bench: Bench) -> None:
    """A refusal is reported with the kubelet's text, and tried again until it works, with one socket at a time."""
    kubelet = bench.kubelet(refuse="no such resource here")
    process = bench.start()
    kubelet.registrations.get(timeout=PATIENCE_S)
    assert process.stderr is not None
    assert "UNKNOWN: no such resource here" in process.stderr.readline()
    kubelet.registrations.get(timeout=PATIENCE_S)
    kubelet.refuse = ""
    _, stream = kubelet.connect()
    stream.next()
    assert len(bench.sockets()) == 1
    stream.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_cleans_up_at_a_signal(bench: Bench, number: signal.Signals) -> None:
    """SIGTERM and SIGINT end the stream with OK, remove the socket and nothing else, and give exit code 0."""
    kubelet = bench.kubelet()
    process = bench.start()
    _, stream = kubelet.connect()
    stream.next()
    (bench.directory / "foreign").touch()
    process.send_signal(number)
    assert stream.next() is grpc.StatusCode.OK
    assert process.wait(PATIENCE_S) == 0
    assert bench.sockets() == ["foreign"]
    assert (bench.directory / "kubelet.sock").is_socket()
    stream.join()


def test_stops_while_the_kubelet_does_not_answer(bench: Bench) -> None:
    """SIGTERM is obeyed inside a Register call that hangs."""
    kubelet = bench.kubelet()
    released = threading.Event()
    kubelet.plugin = lambda _: released.wait(PATIENCE_S)  # type: ignore[assignment,method-assign,return-value]
    process = bench.start()
    kubelet.registrations.get(timeout=PATIENCE_S)
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    released.set()
    assert bench.sockets() == []


def test_a_directory_with_odd_characters(bench: Bench) -> None:
    """Blanks and percent signs in the socket directory are taken as they are."""
    odd = bench.directory / "a b%20c"
    odd.mkdir()
    inner = Bench(odd, bench._stack)
    process = inner.start()
    assert process.stderr is not None
    process.stderr.readline()
    (bench.directory / "link").symlink_to(odd)
    kubelet = Kubelet(bench.directory / "link")
    try:
        kubelet.registrations.get(timeout=PATIENCE_S)
        wait_until(lambda: len(inner.sockets()) == 1)
    finally:
        kubelet.stop()


def test_with_the_compiled_in_path(bench: Bench) -> None:
    """In a mount namespace, without any option, it finds the kubelet at the path that real plugins have compiled in."""
    if reason := namespaces_available():
        pytest.skip(f"no namespaces: {reason}")
    kubelet = bench.kubelet()
    process = subprocess.Popen(
        isolated_command(bench.directory, [sys.executable, "-m", "plugins_examples.env_gpu"]),
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    try:
        _, stream = kubelet.connect()
        stream.next()
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        assert bench.sockets() == []
        stream.join()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "options",
    [
        ["--resource", "gpu"],
        ["--gpus", "-1"],
        ["--gpus", "many"],
        ["--env", "A=B"],
        ["--socket-dir", "/" + "d" * 100],
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_option(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A value that cannot be is refused with exit code 2 and the name of the option."""
    with pytest.raises(SystemExit) as caught:
        main(options)
    assert caught.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_needs_no_kubelet_sim() -> None:
    """The plugin runs where kubelet_sim cannot be imported at all."""
    program = (
        "import sys; sys.modules['kubelet_sim'] = None\n"
        "from plugins_examples.env_gpu.__main__ import main\n"
        "main(['--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0
    assert "--socket-dir" in done.stdout
