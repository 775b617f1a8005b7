from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import grpc
import pytest
from attrs import frozen

from kubelet_sim.errors import KubeletSimError, PluginFault, TransportError, UsageError
from kubelet_sim.model.applied import AppliedPod
from kubelet_sim.model.faults import Fault, FaultView
from kubelet_sim.model.life import AS_USUAL, GRACEFUL, Comeback, Deletion
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import EventView, NodeSnapshot, PodView
from kubelet_sim.transcript import Transcript
from kubelet_sim.wire.control_address import SERVICE
from kubelet_sim.wire.control_client import ControlClient
from kubelet_sim.wire.control_door import ControlDoor, peer_uid
from kubelet_sim.wire.control_server import ControlServer, message, sendable
from tests.patience import PATIENCE_S
from tests.wire.helpers import run, soon, until

T = TypeVar("T")


@frozen
class FakeFault:
    """A fault that has applied twice."""

    id: int
    name: str

    def view(self) -> FaultView:
        return FaultView(
            self.id, self.name, {"ids": ["a"], "text": "\x1b"}, "did\u202e", "undo", 1.5, 2, is_active=True
        )


class FakeNode:
    """A node that holds names of pods, and answers what it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.transcript = Transcript(lambda: self.now_s)
        self.pods: list[str] = []
        self.is_up = True
        self.failure: KubeletSimError | None = None
        self.calls: list[tuple[object, ...]] = []
        self.may_finish = asyncio.Event()
        self.may_finish.set()
        self.padding = ""

    def status(self) -> NodeSnapshot:
        pods = tuple(PodView(name, "default", name, "Running", message=self.padding) for name in self.pods)
        return NodeSnapshot("v", "/r", "manual", self.now_s, 1, True, (), (), pods=pods, has_kubelet=self.is_up)

    async def apply_manifests(self, manifests: Sequence[Mapping[str, Any]]) -> tuple[AppliedPod, ...]:
        await self._called("apply", *manifests)
        return tuple(AppliedPod(str(each["name"]), "default", created=True) for each in manifests)

    async def remove(self, name: str, namespace: str = "default", how: Deletion = GRACEFUL) -> None:
        await self._called("remove", name, namespace, *(() if how == GRACEFUL else (how,)))

    def container_spec(self, name: str, container: str | None = None, namespace: str = "default") -> ContainerSpec:
        self.calls.append(("container_spec", name, container, namespace))
        return ContainerSpec(envs=(("A", "\x1b\u202e"),))

    def pod(self, name: str, namespace: str = "default") -> Mapping[str, Any]:
        return {"metadata": {"name": name, "namespace": namespace}, "odd": "\x1b\u202e"}

    def objects(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return {"kind": kind}, {"odd": "\x1b\u202e"}

    def events(self) -> tuple[EventView, ...]:
        return (EventView("Normal", "r", "pod/default/p", "\x1b", 2.0, 1.0, 2),)

    async def restart(self, how: Comeback = AS_USUAL) -> None:
        await self._called("restart", *(() if how == AS_USUAL else (how,)))

    async def reboot(self, how: Comeback = AS_USUAL, *, seed: int | None = None) -> None:
        await self._called("reboot", how, seed)

    async def crash(self) -> None:
        await self._called("crash")

    async def start_kubelet(self, how: Comeback = AS_USUAL) -> None:
        await self._called("start", how)

    def exit_container(
        self, name: str, container: str | None = None, namespace: str = "default", *, code: int = 0
    ) -> str:
        self.calls.append(("exit", name, container, namespace, code))
        return container or "main"

    async def inject(self, fault: Fault) -> FakeFault:
        await self._called("inject", fault)
        return FakeFault(1, fault.name)

    def faults(self) -> tuple[FakeFault, ...]:
        return FakeFault(1, "odd"), FakeFault(2, "even")

    async def undo_fault(self, number: int) -> FakeFault:
        await self._called("undo", number)
        return FakeFault(number, "odd")

    async def advance(self, seconds: float) -> None:
        self.now_s += seconds
        await self._called("advance", seconds)

    def add(self, name: str) -> None:
        """A pod comes, and that is recorded."""
        self.pods.append(name)
        self.transcript.add("node", name, "pod created")

    async def _called(self, *call: object) -> None:
        if self.failure:
            raise self.failure
        await self.may_finish.wait()
        self.calls.append(call)


Body = Callable[[FakeNode, ControlServer, ControlClient], Coroutine[Any, Any, None]]


def controlled(body: Body) -> None:
    """Run a test's body with a node whose control API is served, and a client that is not connected yet."""

    async def serve(directory: Path) -> None:
        node = FakeNode()
        server = ControlServer(node, directory / "control.sock")
        await server.start()
        try:
            await body(node, server, ControlClient(directory / "control.sock", directory))
        finally:
            await server.stop()
        assert list(directory.iterdir()) == []
        # The library's own tasks end a turn or more after its server: all that counts is that they do.
        if left := asyncio.all_tasks() - {asyncio.current_task(), *before}:
            _, pending = await asyncio.wait(left, timeout=PATIENCE_S)
            assert pending == set()

    before: set[asyncio.Task[Any]] = set()

    async def with_tasks(directory: Path) -> None:
        before.update(asyncio.all_tasks())
        await serve(directory)

    run(with_tasks)


async def aside(work: Callable[[ControlClient], T], client: ControlClient) -> T:
    """Do something with the connected client, in a thread, for it blocks."""

    def connected() -> T:
        with client:
            return work(client)

    return await soon(asyncio.to_thread(connected))


def test_every_method_reaches_the_node() -> None:
    """Arguments and answers arrive as they were."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        node.add("p")
        how = Comeback(1.5, keeps_checkpoint=False, keeps_directory=False, same_inode=True, runtime_after_s=2.5)

        def use(client: ControlClient) -> None:
            assert [pod.name for pod in client.status().pods] == ["p"]
            assert client.apply([{"name": "a", "x": [1, None]}]) == (AppliedPod("a", "default", created=True),)
            client.delete("p", "n")
            assert client.container_spec("p", None, "n").envs == (("A", "\x1b\u202e"),)
            assert client.container_spec("p", "", "n") == client.container_spec("p", "c", "n")
            client.delete("p", "n", Deletion(2.5, is_forced=True, waits=False))
            client.restart()
            client.restart(how)
            client.reboot(how)
            client.reboot(seed=0)
            client.crash()
            client.start_kubelet()
            assert client.exit_container("p", None, "n", code=3) == "main"
            assert client.exit_container("p", "c", "n", code=0) == "c"
            assert client.advance(2.5) == 2.5
            assert [record.subject for record in client.trace()] == ["p"]
            assert [record.subject for record in client.trace(about="p")] == ["p"]
            assert list(client.trace(about="q")) == []
            assert client.pod("p", "n") == {"metadata": {"name": "p", "namespace": "n"}, "odd": "\x1b\u202e"}
            assert client.objects("nodes") == node.objects("nodes")
            assert client.events() == node.events()

        await aside(use, client)
        assert node.calls == [
            ("apply", {"name": "a", "x": [1, None]}),
            ("remove", "p", "n"),
            ("container_spec", "p", None, "n"),
            ("container_spec", "p", "", "n"),
            ("container_spec", "p", "c", "n"),
            ("remove", "p", "n", Deletion(2.5, is_forced=True, waits=False)),
            ("restart",),
            ("restart", how),
            ("reboot", how, None),
            ("reboot", AS_USUAL, 0),
            ("crash",),
            ("start", AS_USUAL),
            ("exit", "p", None, "n", 3),
            ("exit", "p", "c", "n", 0),
            ("advance", 2.5),
        ]

    controlled(body)


@pytest.mark.parametrize(
    "raised, expected",
    [
        (UsageError("no such pod"), UsageError),
        (TransportError("listen unix: in use"), TransportError),
        (PluginFault("gone"), TransportError),
        (UsageError("a\nb \udcff ü"), UsageError),
    ],
)
def test_errors_come_back(raised: KubeletSimError, expected: type[Exception]) -> None:
    """With their text, and apart from each other: who is at fault is known to the caller as well."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        node.failure = raised
        with pytest.raises(expected) as caught:
            await aside(lambda c: c.restart(), client)
        assert str(caught.value) == str(raised).replace("\udcff", "\\udcff")

    controlled(body)


def test_faults_pass_as_they_are() -> None:
    """Arguments of any kind, filters, counts; what was done comes back, and without ids all are undone."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        fault = Fault("f", {"ids": ["a", "\x1b"], "seconds": 1.5, "n": None}, 3, "r", "s", "p")

        def use(client: ControlClient) -> None:
            view = client.inject(fault)
            assert view == FakeFault(1, "f").view()
            assert client.inject(Fault("g")).name == "g"
            assert [each.name for each in client.faults()] == ["odd", "even"]
            assert [each.id for each in client.undo_faults(2)] == [2]
            assert [each.id for each in client.undo_faults()] == [1, 2]

        await aside(use, client)
        assert node.calls == [("inject", fault), ("inject", Fault("g")), ("undo", 2), ("undo", 1), ("undo", 2)]

    controlled(body)


def test_a_very_long_error_is_cut() -> None:
    """It travels as a header, which has a bound."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        node.failure = UsageError("世" * 100_000)
        with pytest.raises(UsageError, match=r"世{4000}…$"):
            await aside(lambda c: c.restart(), client)

    controlled(body)


def test_a_manifest_that_is_no_mapping_is_refused() -> None:
    """Another client than ours may send anything."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        with pytest.raises(UsageError, match="mapping"):
            await aside(lambda c: c.apply([[]]), client)  # type: ignore[list-item]
        assert node.calls == []

    controlled(body)


@pytest.mark.parametrize(
    "method, arguments",
    [
        ("/kubelet_sim.control.v1.Control/Status", b""),
        (f"/{SERVICE}/dance", b"{}"),
        (f"/{SERVICE}/restart", b'{"how": {"colour": "red"}}'),
        (f"/{SERVICE}/restart", b"{}"),
        (f"/{SERVICE}/restart", b"[1"),
        (f"/{SERVICE}/restart", b"[1]"),
        (f"/{SERVICE}/restart", b'{"how": {}, "colour": "red"}'),
        (f"/{SERVICE}/trace", b"{}"),
    ],
)
def test_a_call_of_another_version_is_not_implemented(method: str, arguments: bytes) -> None:
    """A service, a method or an argument that this version does not have: nothing is done, and clients know what it means."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        def use(client: ControlClient) -> object:
            call: grpc.UnaryStreamMultiCallable[bytes, bytes] = client._opened().unary_stream(method)
            with client._translated():
                return list(call(arguments, timeout=PATIENCE_S))

        with pytest.raises(TransportError, match="another version of kubelet-sim: restart it"):
            await aside(use, client)
        assert node.calls == []

    controlled(body)


def test_an_answer_of_another_version_is_said_to_be_so() -> None:
    """A view with a field that this client does not know is no view; the line says what to do."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        node.events = lambda: ({"type": "Normal", "colour": "red"},)  # type: ignore[method-assign, return-value, assignment]
        with pytest.raises(TransportError, match="another version of kubelet-sim: restart it"):
            await aside(lambda c: c.events(), client)

    controlled(body)


def test_a_path_of_odd_bytes_can_be_sent() -> None:
    """Halves of characters are written out in answers and errors; everything else stays."""
    assert sendable("/tmp/\udcff/ü\x1b") == "/tmp/\\udcff/ü\x1b"
    assert json.loads(message({"path": "/tmp/\udcff/ü\x1b"})) == {"path": "/tmp/\\udcff/ü\x1b"}


def test_watching_shows_the_start_and_every_change() -> None:
    """Time alone is no change; while no kubelet runs there is nothing to see."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        loop = asyncio.get_running_loop()

        def change() -> None:
            node.is_up = False
            node.transcript.add("node", "kubelet", "ended")
            node.is_up = True
            node.now_s = 5.0
            node.transcript.add("node", "kubelet", "nothing that shows")
            loop.call_later(0.1, node.add, "b")

        def watch(client: ControlClient) -> list[tuple[float, int]]:
            seen = []
            for snapshot in client.watch():
                seen.append((snapshot.now_s, len(snapshot.pods)))
                if len(seen) == 2:
                    break
                loop.call_soon_threadsafe(change)
            return seen

        assert await aside(watch, client) == [(0.0, 0), (5.0, 1)]

    controlled(body)


def test_watching_has_a_deadline() -> None:
    """In real time; it is no error of the node's."""

    async def body(_node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        with pytest.raises(TimeoutError):
            await aside(lambda c: list(c.watch(0.05)), client)

    controlled(body)


def test_streams_end_with_the_node() -> None:
    """A reader gets what there was, and then a normal end."""

    async def body(node: FakeNode, server: ControlServer, client: ControlClient) -> None:
        loop = asyncio.get_running_loop()
        node.add("a")

        def follow(client: ControlClient) -> list[str]:
            records = []
            for record in client.trace(follow=True):
                records.append(record.subject)
                if len(records) == 1:
                    loop.call_soon_threadsafe(node.add, "b")
                else:
                    loop.call_soon_threadsafe(stop.set)
            return records

        stop = asyncio.Event()
        following = asyncio.create_task(aside(follow, client))
        await soon(stop.wait())
        await soon(server.stop())
        assert await following == ["a", "b"]

    controlled(body)


def test_a_slow_watcher_gets_fewer_snapshots_and_holds_nobody_up() -> None:
    """Nothing piles up for it: what it reads at last is the state of that moment."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        node.padding = "x" * 100_000
        flooded = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def flood() -> None:
            for number in range(2000):
                node.pods = [str(number)]
                node.transcript.add("node", "p", "changed")
                await asyncio.sleep(0)
            node.pods = ["last"]
            node.transcript.add("node", "p", "changed")
            flooded.set()

        def watch(client: ControlClient) -> int:
            for count, snapshot in enumerate(client.watch(), start=1):
                if count == 1:
                    asyncio.run_coroutine_threadsafe(flood(), loop).result(PATIENCE_S)
                if [pod.name for pod in snapshot.pods] == ["last"]:
                    return count
            return -1

        assert 2 <= await aside(watch, client) < 1000
        assert flooded.is_set()

    controlled(body)


def test_a_long_trace_arrives_whole() -> None:
    """In order, however many messages it takes."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        for number in range(1234):
            node.transcript.add("fact", "s", str(number))
        assert [record.text for record in await aside(lambda c: list(c.trace()), client)] == [*map(str, range(1234))]

    controlled(body)


def abandon(client: ControlClient, method: str, arguments: bytes) -> None:
    """Call, and hang up when the call is on its way."""
    call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = client._opened().unary_unary(f"/{SERVICE}/{method}")
    assert call.future(arguments, timeout=2.0).exception() is not None


def abandon_restart(client: ControlClient) -> None:
    """Have the kubelet restarted, and do not wait for it."""
    abandon(client, "restart", b'{"how": {}}')


def abandon_advance(client: ControlClient) -> None:
    """Move the clock, and do not wait for it."""
    abandon(client, "advance", b'{"seconds": 1}')


def test_what_was_begun_is_finished() -> None:
    """A caller that leaves does not leave a restart half done."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        node.may_finish.clear()

        await aside(abandon_restart, client)
        node.may_finish.set()
        await until(lambda: ("restart",) in node.calls)

    controlled(body)


def test_time_stops_when_nobody_waits_for_it() -> None:
    """A caller that leaves a long advance does not leave the node busy with it for hours."""

    async def body(node: FakeNode, _server: ControlServer, client: ControlClient) -> None:
        stopped = asyncio.Event()

        async def for_ever(seconds: float) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                stopped.set()

        node.advance = for_ever  # type: ignore[method-assign]
        await aside(abandon_advance, client)
        await soon(stopped.wait())

    controlled(body)


def test_nobody_is_there() -> None:
    """One line that says what to do: for no root, no socket, and the socket of a node that is dead."""

    async def body(directory: Path) -> None:
        for path in (directory / "none" / "control.sock", directory / "control.sock"):
            with pytest.raises(TransportError, match="kubelet-sim run"), ControlClient(path, directory):
                pass
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(directory / "control.sock"))
        with (
            pytest.raises(TransportError, match="kubelet-sim run"),
            ControlClient(directory / "control.sock", directory),
        ):
            pass

    run(body)


@pytest.mark.parametrize("is_alive", [False, True])
def test_a_node_that_does_not_let_us_in(is_alive: bool) -> None:
    """A door that is shut at once, and a process that has been stopped, are told apart."""

    async def body(directory: Path) -> None:
        async def shut(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        def connect() -> None:
            connect_s = PATIENCE_S if is_alive else 0.1
            with ControlClient(directory / "control.sock", directory, connect_s=connect_s):
                pass

        with socket.socket(socket.AF_UNIX) as stopped:
            if is_alive:
                server = await asyncio.start_unix_server(shut, directory / "control.sock")
            else:
                stopped.bind(str(directory / "control.sock"))
                stopped.listen()
                server = None
            with pytest.raises(TransportError, match="the user who started it" if is_alive else "has not answered"):
                await soon(asyncio.to_thread(connect))
            if server is not None:
                server.close()

    run(body)


# --- the door


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What stands behind the door in these tests: sends back what it gets, and the end."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


class Behind:
    """A door with an echo behind it."""

    def __init__(self, directory: Path, **arguments: Any) -> None:
        self.path, self.inner = directory / "control.sock", directory / ".inner"
        self.door = ControlDoor(self.path, self.inner, **arguments)
        self.server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_unix_server(echo, self.inner)
        await self.door.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.door.close()
        await self.door.cut()
        if self.server is not None:
            self.server.close()
        assert self.door.connection_count == 0
        assert not self.path.exists()

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection through the door."""
        return await asyncio.open_unix_connection(self.path)


def descriptors() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_door_is_for_our_user_alone() -> None:
    """Its file has mode 0600, and a stale one of a node that was killed is replaced."""

    async def body(directory: Path) -> None:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(directory / "control.sock"))
        async with Behind(directory) as behind:
            found = behind.path.stat()
            assert stat.S_ISSOCK(found.st_mode)
            assert stat.S_IMODE(found.st_mode) == 0o600
            reader, writer = await behind.dial()
            writer.write(b"hello")
            assert await soon(reader.readexactly(5)) == b"hello"
            writer.close()
            assert sorted(path.name for path in directory.iterdir()) == [".inner", "control.sock"]

    run(body)


@pytest.mark.parametrize("uid, is_let_in", [(0, True), (os.geteuid(), True), (54321, False)])
def test_the_door_asks_who_is_there(uid: int, is_let_in: bool) -> None:
    """Our own user and root come in; anybody else is shown out before a byte is passed on."""

    async def body(directory: Path) -> None:
        async with Behind(directory, read_uid=lambda _: uid) as behind:
            reader, writer = await behind.dial()
            writer.write(b"x")
            if is_let_in:
                assert await soon(reader.readexactly(1)) == b"x"
            else:
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await soon(reader.readexactly(1))
            writer.close()
            await until(lambda: behind.door.connection_count == 0)

    run(body)


def test_the_kernel_says_who_is_there() -> None:
    """The uid is that of the process at the other end."""
    left, right = socket.socketpair()
    with left, right:
        assert peer_uid(left) == os.geteuid()


def test_an_end_is_passed_on() -> None:
    """A caller that has said everything still gets the rest of its answer."""

    async def body(directory: Path) -> None:
        async with Behind(directory) as behind:
            reader, writer = await behind.dial()
            writer.write(b"x" * 1_000_000)
            writer.write_eof()
            assert len(await soon(reader.read())) == 1_000_000
            writer.close()
            await until(lambda: behind.door.connection_count == 0)

    run(body)


Dialled = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


async def close_callers(_behind: Behind, dialled: Dialled) -> None:
    """The callers hang up."""
    for _, writer in dialled:
        writer.close()


async def abort_callers(_behind: Behind, dialled: Dialled) -> None:
    """The callers are gone, with data under way."""
    for _, writer in dialled:
        writer.transport.abort()


async def cut_all(behind: Behind, _dialled: Dialled) -> None:
    """The node stops."""
    await soon(behind.door.cut())


async def end_inner(_behind: Behind, _dialled: Dialled) -> None:
    """The server ends the connections; their callers do not notice."""
    for task in asyncio.all_tasks():
        if "echo" in repr(task.get_coro()):
            task.cancel()


@pytest.mark.parametrize("end", [close_callers, abort_callers, cut_all, end_inner])
def test_no_end_leaves_anything_behind(end: Callable[[Behind, Dialled], Coroutine[Any, Any, None]]) -> None:
    """Whichever side ends a connection and however: no task, no descriptor."""

    async def body(directory: Path) -> None:
        async with Behind(directory) as behind:
            before = descriptors()
            dialled = [await behind.dial() for _ in range(20)]
            for reader, writer in dialled:
                writer.write(b"x" * 300_000)
                await soon(reader.readexactly(1))
            await end(behind, dialled)
            await until(lambda: behind.door.connection_count == 0)
            await close_callers(behind, dialled)
            await until(
                lambda: descriptors() <= before
            )  # fewer, where an earlier test's library closes its own only now

    run(body)


def test_a_reader_that_does_not_read_is_waited_for() -> None:
    """No more is taken from one side than the other has room for: the flood stops at its source."""

    async def body(directory: Path) -> None:
        async with Behind(directory) as behind:
            sending = socket.socket(socket.AF_UNIX)
            sending.setblocking(False)
            with sending:
                loop = asyncio.get_running_loop()
                await loop.sock_connect(sending, str(behind.path))
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(loop.sock_sendall(sending, b"x" * 20_000_000), 0.5)

    run(body)


def test_the_door_survives_a_house_that_is_gone() -> None:
    """Nobody behind it: the caller is sent away, the next one is asked in all the same."""

    async def body(directory: Path) -> None:
        async with Behind(directory) as behind:
            behind.inner.unlink()
            for _ in range(3):
                reader, writer = await behind.dial()
                assert await soon(reader.read()) == b""
                writer.close()

    run(body)


def test_a_door_that_cannot_be_opened_leaves_nothing() -> None:
    """The error is ours, and says where."""

    async def body(directory: Path) -> None:
        door = ControlDoor(directory / "missing" / "control.sock", directory / "x")
        before = descriptors()
        with pytest.raises(TransportError, match="missing"):
            await door.open()
        await door.close()
        assert descriptors() <= before

    run(body)
