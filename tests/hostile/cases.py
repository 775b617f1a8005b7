"""The attacks: each is done once, upon a node, and is over when it returns: nothing of its peers is left.

An attack owns the resource name that it is given, and the sockets named after it, so that all can go on at once. What the
node should make of it stands beside it: the one warning that it is worth.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

import grpc
from attrs import frozen

from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.plugin import AllocateAnswer
from kubelet_sim.model.response import ContainerResponse, DeviceNode, Mount
from kubelet_sim.transcript import Record
from kubelet_sim.wire import messages
from tests.hostile import peers
from tests.hostile.peers import Ground, Serve, pod
from tests.wire import helpers
from tests.wire.helpers import Context, ScriptedPlugin

Attack = Callable[[Ground, str], Awaitable[None]]

MIB = 1 << 20
LIMIT = 4 * MIB
NASTY = (
    "\x1b[31m\x1b]0;title\x07 [link=http://x]m[/link] [/] \u202egnp.exe\u2066 \x00 \x9b31m\u2028 a\r\nb '\"\\ {0} %s"
)
"""Controls, escapes of a terminal, markup of rich, bidirectional marks, line ends, quotes, formats."""
BAD_UTF8 = b"\x0a\x03\x0a\x01\xff"
"""A first field with a message whose first field is a text that is not UTF-8: a device's id, an answer's variable."""
BAD_PROTO = b"\xff\xff\xff"
_CALL_ENDS = peers.headers([(b"grpc-status", b"0")], peers.FIRST_STREAM, ends=True)


def socket_of(resource: str) -> str:
    """The name of an attack's socket."""
    return f"{resource.rpartition('/')[2]}.sock"


# --- at the socket


def at_the_socket(serve: Serve, *, hangs_in: str = " dials ") -> Attack:
    """Register a socket where somebody does that; hang up when all is said and the node is at that point.

    Args:
        hangs_in: part of the record of what does not come to an end; empty for a Register that is refused by itself.
    """

    async def attack(ground: Ground, resource: str) -> None:
        async with peers.raw_server(ground.path(socket_of(resource)), serve) as spoken:
            if not hangs_in:
                await _is_refused(ground, resource)
                return
            # Both: what the node left over from an earlier attack may dial us, too.
            said = asyncio.gather(ground.wait_for_text(resource, hangs_in), spoken.wait())
            await ground.registers_and_gives_up(resource, socket_of(resource), when=said)

    return attack


async def _is_refused(ground: Ground, resource: str) -> None:
    assert await ground.register(resource, socket_of(resource), timeout_s=ground.patience_s) is not None


def in_a_call(answer: bytes, *, closes: bool = False, hangs: bool = False) -> Attack:
    """Answer GetDevicePluginOptions with these frames."""
    serve = peers.answers_first_call(answer, closes=closes)
    return at_the_socket(serve, hangs_in="GetDevicePluginOptions to client" if hangs else "")


def call_answer(data: bytes, *more: tuple[bytes, bytes]) -> bytes:
    """The frames of an answer to the first call: its message may be longer than a frame."""
    first = [(b":status", b"200"), (b"content-type", b"application/grpc"), *more]
    cut = 16_000
    frames = [peers.frame(0, data[at : at + cut], stream=peers.FIRST_STREAM) for at in range(0, len(data), cut)]
    return peers.headers(first, peers.FIRST_STREAM, ends=False) + b"".join(frames)


def names_the_socket(name: Callable[[Ground], str]) -> Attack:
    """Register a socket name where no plugin of ours listens."""

    async def attack(ground: Ground, resource: str) -> None:
        dials = ground.wait_for_text(resource, " dials ")
        await ground.registers_and_gives_up(resource, name(ground), when=dials)

    return attack


async def names_the_kubelet(ground: Ground, resource: str) -> None:
    """Register the kubelet's own socket: it is called, and has no such service."""
    assert await ground.register(resource, ground.kubelet_socket.name, timeout_s=ground.patience_s) is not None


# --- in the calls of the API


def with_options(options: helpers.Unary) -> Attack:
    """Register a plugin that answers so, which is no answer."""

    async def attack(ground: Ground, resource: str) -> None:
        async with helpers.serving(ScriptedPlugin(options=options), ground.path(socket_of(resource))):
            await _is_refused(ground, resource)

    return attack


async def hangs_in_options(ground: Ground, resource: str) -> None:
    """Register, do not answer, lose patience."""
    plugin, asked = ScriptedPlugin(options=never), ground.wait_for_text(resource, "GetDevicePluginOptions to client")
    async with helpers.serving(plugin, ground.path(socket_of(resource))):
        await ground.registers_and_gives_up(resource, socket_of(resource), when=asked)


def with_lists(lists: helpers.Stream, *, dies_after: str = "") -> Attack:
    """Register a plugin with that stream, until the stream has ended; or until that was recorded, then it dies."""

    async def attack(ground: Ground, resource: str) -> None:
        ended = ground.wait_for_text(resource, "the stream of client")
        async with helpers.serving(ScriptedPlugin(lists=lists), ground.path(socket_of(resource))) as server:
            seen = ground.wait_for_text(resource, dies_after)
            await ground.registers(resource, socket_of(resource))
            await seen
            if dies_after:
                await server.stop(None)
            await ended

    return attack


def with_allocate(allocate: helpers.Unary, *, dies: bool = False) -> Attack:
    """Register a good list, have a pod ask for a device, answer like that."""

    async def attack(ground: Ground, resource: str) -> None:
        name = resource.rpartition("/")[2]
        asked = asyncio.Event()

        async def answer(request: bytes, context: Context) -> bytes:
            asked.set()
            return await allocate(request, context)

        plugin = ScriptedPlugin(allocate=answer, lists=one_list(Device(DeviceID(f"{name}-0"))))
        ended = ground.wait_for_text(resource, "the stream of client")
        async with helpers.serving(plugin, ground.path(socket_of(resource))) as server:
            listed = ground.wait_for_text(resource, "listed 1 devices")
            await ground.registers(resource, socket_of(resource))
            await listed
            await ground.node.status_round()
            admission = asyncio.create_task(ground.node.admit(pod(resource, name)))
            try:
                if dies:
                    await asyncio.wait_for(asked.wait(), ground.patience_s)
                    await server.stop(None)
                await admission
            finally:
                await ground.node.remove(name)
            await server.stop(None)
            await ended

    return attack


async def never(_request: bytes, _context: Context) -> bytes:
    """Hang."""
    await asyncio.Event().wait()
    return b""


def answers(data: bytes) -> helpers.Unary:
    """Answer with these bytes."""

    async def answer(_request: bytes, _context: Context) -> bytes:
        return data

    return answer


def fails(code: grpc.StatusCode, text: str) -> helpers.Unary:
    """Answer with that status."""

    async def answer(_request: bytes, context: Context) -> bytes:
        await context.abort(code, text)

    return answer


def sends(*data: bytes, then: Callable[[Context], Awaitable[Any]] | None = None) -> helpers.Stream:
    """Send these messages and end, after one thing more."""

    async def stream(context: Context) -> AsyncIterator[bytes]:
        for each in data:
            yield each
        if then is not None:
            await then(context)

    return stream


def one_list(*devices: Device) -> helpers.Stream:
    """Send one list and stay."""

    async def stream(_context: Context) -> AsyncIterator[bytes]:
        yield messages.encode_devices(devices)
        await asyncio.Event().wait()

    return stream


def many(count: int, width: int) -> bytes:
    """A list of so many devices with ids of that width."""
    return messages.encode_devices([Device(DeviceID(f"{number:0{width}d}")) for number in range(count)])


def flood(count: int, devices: Iterable[str] = ("a", "b", "c")) -> helpers.Stream:
    """As many lists as fast as they are taken, no two the same, each with an id twice; then the end."""
    ids = tuple(devices)

    async def stream(_context: Context) -> AsyncIterator[bytes]:
        for number in range(count):
            listed = [*ids, *ids[:1], f"number {number}"]
            yield messages.encode_devices([Device(DeviceID(each)) for each in listed])

    return stream


async def silence(_context: Context) -> AsyncIterator[bytes]:
    """Open the stream and say nothing."""
    await asyncio.Event().wait()
    yield b""


def nasty_answer() -> bytes:
    """An Allocate answer with odd texts everywhere, and a variable of 1 MiB."""
    response = ContainerResponse(
        envs={NASTY: NASTY, "LARGE": "x" * MIB, "": ""},
        mounts=(Mount(NASTY, NASTY, read_only=True), Mount("", "", read_only=False)),
        devices=(DeviceNode(NASTY, NASTY, NASTY),),
        annotations={NASTY: NASTY},
        cdi_devices=(NASTY, "", NASTY),
    )
    return messages.encode_allocate_answer(AllocateAnswer((response,)))


def nasty_list() -> bytes:
    """A list with odd ids and health texts."""
    ids = [NASTY, "", "x" * 100_000, "\n", "[/]", "../../etc/passwd", "/", "\x00"]
    return messages.encode_devices(
        [Device(DeviceID(each), health) for each in ids for health in ("Healthy",)] + [Device(DeviceID("sick"), NASTY)]
    )


# --- at the kubelet's own socket


def sends_to_the_kubelet(data: bytes) -> Attack:
    """Connect to the kubelet's socket, say that, read what comes, go: no Register, so nothing to tell."""

    async def attack(ground: Ground, _resource: str) -> None:
        reader, writer = await asyncio.open_unix_connection(ground.kubelet_socket)
        with suppress(ConnectionError):
            writer.write(data)
            await writer.drain()
            # The server speaks first, with its settings; whether it then waits or hangs up is its business.
            await asyncio.wait_for(reader.read(9), ground.patience_s)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    return attack


def calls_register_with(data: bytes) -> Attack:
    """Call Register with these bytes."""

    async def attack(ground: Ground, _resource: str) -> None:
        with suppress(grpc.aio.AioRpcError):
            await helpers.register(ground.kubelet_socket, data, max_send_message_length=-1)

    return attack


def registers_name(name: str, version: str = "v1beta1") -> Attack:
    """Register under that very name."""

    async def attack(ground: Ground, _resource: str) -> None:
        assert await ground.register(name, "x.sock", version=version, timeout_s=ground.patience_s) is not None

    return attack


async def dies_in_register(ground: Ground, resource: str) -> None:
    """The plugin dies when its options are asked for, and so does its call."""
    asked = asyncio.Event()

    async def options(_request: bytes, _context: Context) -> bytes:
        asked.set()
        await asyncio.Event().wait()
        return b""

    async with helpers.serving(ScriptedPlugin(options=options), ground.path(socket_of(resource))) as server:

        async def dies() -> None:
            await asyncio.wait_for(asked.wait(), ground.patience_s)
            await server.stop(None)

        await ground.registers_and_gives_up(resource, socket_of(resource), when=dies())


async def storm(ground: Ground, resource: str) -> None:
    """Many Register calls at once, to a socket that is not there, and all give up at once."""
    count = 100
    refused = ground.wait_until(_nth(resource, "Register refused", count))
    dials = ground.wait_until(_nth(resource, " dials ", count))
    calls = [asyncio.create_task(ground.register(resource, "nobody.sock")) for _ in range(count)]
    await dials
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await refused


def _nth(resource: str, text: str, count: int) -> Callable[[Record], bool]:
    seen = itertools.count(1)
    return lambda record: record.subject == resource and text in record.text and next(seen) == count


async def registers_for_ever(ground: Ground, resource: str) -> None:
    """A good plugin that registers again and again on the same socket, while it serves."""
    plugin = ScriptedPlugin(lists=one_list(Device(DeviceID(f"{socket_of(resource)}"))))
    async with helpers.serving(plugin, ground.path(socket_of(resource))) as server:
        for _ in range(10):
            listed = ground.wait_for_text(resource, "listed 1 devices")
            await ground.registers(resource, socket_of(resource))
            await listed
        ended = [ground.wait_until(_ends_of(resource, client)) for client in _open_streams(ground, resource)]
        await server.stop(None)
        await asyncio.gather(*ended)


def _open_streams(ground: Ground, resource: str) -> list[int]:
    links = ground.node.kubelet.driver.links.values()
    return [link.client for link in links if link.resource == resource and link.has_stream]


def _ends_of(resource: str, client: int) -> Callable[[Record], bool]:
    return lambda record: record.subject == resource and record.text.startswith(f"the stream of client {client} ended")


async def twice_at_once(ground: Ground, resource: str) -> None:
    """Two Register calls for one name in one moment, from two plugins: the last message wins, whoever that is."""
    plugin = ScriptedPlugin(lists=one_list(Device(DeviceID("shared"))))
    names = [f"{number}-{socket_of(resource)}" for number in range(2)]
    async with (
        helpers.serving(plugin, ground.path(names[0])) as one,
        helpers.serving(plugin, ground.path(names[1])) as two,
    ):
        assert await asyncio.gather(*(ground.register(resource, name) for name in names)) == [None, None]
        clients = _open_streams(ground, resource)
        assert len(clients) == 2
        ended = [ground.wait_until(_ends_of(resource, client)) for client in clients]
        await one.stop(None)
        await two.stop(None)
        await asyncio.gather(*ended)


@frozen
class Case:
    """An attack, and a part of each warning that it is worth, in any order."""

    attack: Attack
    warnings: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    """Those that depend on who of several was first."""

    def surprises(self, told: Iterable[str]) -> list[str]:
        """What was warned of too much, and what should have been and was not."""
        left = list(told)
        missing = []
        for part in (*self.warnings, *self.perhaps):
            found = next((text for text in left if part in text), None)
            if found is not None:
                left.remove(found)
            elif part in self.warnings:
                missing.append(f"missing: {part}")
        return left + missing


_DIALS = ("Register refused: failed to dial device plugin: context canceled",)
_OPTIONS = "Register refused: failed to get device plugin options: rpc error: code = "
_GONE = "the stream of client 1 ended: rpc error: code = "
_REJECTED = "rejected: UnexpectedAdmissionError: Allocate failed due to rpc error: code = "

CASES: dict[str, Case] = {
    # What is at the socket does not speak HTTP/2.
    "garbage": Case(at_the_socket(peers.says(peers.GARBAGE)), _DIALS),
    "garbage-and-closes": Case(at_the_socket(peers.says_and_closes(peers.GARBAGE)), _DIALS),
    "never-speaks": Case(at_the_socket(peers.says(b"")), _DIALS),
    "http-1": Case(at_the_socket(peers.says(peers.HTTP_1)), _DIALS),
    "closes-at-once": Case(at_the_socket(peers.says_and_closes(b"")), _DIALS),
    "half-a-frame": Case(at_the_socket(peers.says(peers.SETTINGS[:5])), _DIALS),
    # The name of the socket is odd.
    "name-nul": Case(names_the_socket(lambda _: "a\0b.sock"), _DIALS),
    "name-newline": Case(names_the_socket(lambda _: "a\nb\x1b[31m.sock"), _DIALS),
    "name-long": Case(names_the_socket(lambda _: "x" * 100_000), _DIALS),
    "name-empty": Case(names_the_socket(lambda _: ""), _DIALS),
    "name-up": Case(names_the_socket(lambda _: "../" * 50), _DIALS),
    "name-absolute": Case(names_the_socket(lambda _: "/etc/passwd"), _DIALS),
    "name-kubelet": Case(names_the_kubelet, (_OPTIONS + "Unimplemented",)),
    # HTTP/2 goes wrong in the middle of a call.
    "closes-after-settings": Case(
        at_the_socket(peers.says_and_closes(peers.SETTINGS)), ("Register refused: failed to ",)
    ),
    "options-closed": Case(in_a_call(b"", closes=True), (_OPTIONS + "Unavailable",)),
    "options-garbage": Case(in_a_call(peers.GARBAGE), (_OPTIONS,)),
    "options-half-a-frame": Case(in_a_call(call_answer(b"")[:20], hangs=True), (_OPTIONS + "Canceled",)),
    "options-goaway": Case(in_a_call(peers.frame(7, bytes(7) + b"\x0b\x1b[31m\x00\xff")), (_OPTIONS + "Unavailable",)),
    "options-reset": Case(in_a_call(peers.frame(3, b"\0\0\0\x0b", stream=1)), (_OPTIONS + "ResourceExhausted",)),
    "options-pings": Case(in_a_call(peers.frame(6, b"12345678") * 5000, hangs=True), (_OPTIONS + "Canceled",)),
    "options-no-message": Case(in_a_call(peers.trailers_only((b"grpc-status", b"0"))), (_OPTIONS + "Internal",)),
    "options-no-status": Case(in_a_call(peers.trailers_only()), (_OPTIONS + "Unknown",)),
    "options-odd-status": Case(in_a_call(peers.trailers_only((b"grpc-status", b"abc"))), (_OPTIONS,)),
    "options-unknown-status": Case(in_a_call(peers.trailers_only((b"grpc-status", b"999"))), (_OPTIONS + "Unknown",)),
    "options-html": Case(
        in_a_call(peers.trailers_only(status=b"404", kind=b"text/html")), (_OPTIONS + "Unimplemented",)
    ),
    "options-odd-text": Case(
        in_a_call(peers.trailers_only((b"grpc-status", b"2"), (b"grpc-message", b"%FF%FE%00%0A%1B[31m[/]\xff"))),
        (_OPTIONS + "Unknown",),
    ),
    "options-huge-text": Case(
        in_a_call(peers.trailers_only((b"grpc-status", b"2"), (b"grpc-message", b"x" * 100_000))), (_OPTIONS,)
    ),
    "options-claims-4-gib": Case(
        in_a_call(call_answer(peers.message(b"\xff", claimed=0xFFFFFFFF))), (_OPTIONS + "ResourceExhausted",)
    ),
    "options-bomb": Case(
        in_a_call(
            call_answer(peers.message(gzip.compress(bytes(64 * MIB), 9), flag=1), (b"grpc-encoding", b"gzip"))
            + _CALL_ENDS
        ),
        (_OPTIONS + "ResourceExhausted",),
    ),
    # The answers of a proper server.
    "options-hang": Case(hangs_in_options, (_OPTIONS + "Canceled",)),
    "options-bad-protobuf": Case(with_options(answers(BAD_PROTO)), (_OPTIONS + "Internal",)),
    "options-odd-error": Case(with_options(fails(grpc.StatusCode.DATA_LOSS, NASTY)), (_OPTIONS + "DataLoss",)),
    "dies-in-register": Case(dies_in_register, (_OPTIONS,)),
    "list-silent-and-dies": Case(with_lists(silence, dies_after="ListAndWatch to client"), (_GONE + "Unavailable",)),
    "list-and-dies": Case(with_lists(one_list(Device(DeviceID("a"))), dies_after="listed 1"), (_GONE + "Unavailable",)),
    "list-ends": Case(with_lists(sends(b""))),
    "list-odd-error": Case(
        with_lists(sends(b"", then=lambda context: context.abort(grpc.StatusCode.INTERNAL, NASTY))),
        (_GONE + "Internal",),
    ),
    "list-bad-protobuf": Case(with_lists(sends(BAD_PROTO)), (_GONE + "Internal",)),
    "list-bad-utf8": Case(with_lists(sends(b"", BAD_UTF8, b"")), (_GONE + "Internal",)),
    "list-of-5-mib": Case(with_lists(sends(bytes(5 * MIB))), (_GONE + "ResourceExhausted",)),
    "list-of-odd-texts": Case(with_lists(sends(nasty_list()))),
    "list-flood": Case(with_lists(flood(60)), ("the list names an id more than once",)),
    "list-100000-short": Case(with_lists(sends(many(100_000, 5)))),
    "list-100000-long": Case(with_lists(sends(many(100_000, 42))), (_GONE + "ResourceExhausted",)),
    "allocate-bad-protobuf": Case(with_allocate(answers(BAD_PROTO)), (_REJECTED + "Internal", _GONE)),
    "allocate-bad-utf8": Case(with_allocate(answers(BAD_UTF8)), (_REJECTED + "Internal", _GONE)),
    "allocate-nothing": Case(
        with_allocate(answers(b"")),
        ("no container response", "rejected: UnexpectedAdmissionError: Allocate failed due to no containers", _GONE),
    ),
    "allocate-5-mib": Case(
        with_allocate(answers(b"\x0a\x84\x80\xc0\x02" + bytes(5 * MIB))), (_REJECTED + "ResourceExhausted", _GONE)
    ),
    "allocate-odd-error": Case(with_allocate(fails(grpc.StatusCode.ABORTED, NASTY)), (_REJECTED + "Aborted", _GONE)),
    "allocate-odd-texts": Case(with_allocate(answers(nasty_answer())), (_GONE,)),
    "allocate-dies": Case(with_allocate(never, dies=True), (_GONE, _REJECTED)),
    # At the kubelet's own socket: what is no call is the library's business, and no plugin's.
    "kubelet-garbage": Case(sends_to_the_kubelet(peers.GARBAGE)),
    "kubelet-http-1": Case(sends_to_the_kubelet(b"GET / HTTP/1.1\r\nHost: kubelet\r\n\r\n")),
    "kubelet-silence": Case(sends_to_the_kubelet(b"")),
    "kubelet-half-a-frame": Case(sends_to_the_kubelet(peers.PREFACE + peers.SETTINGS[:5])),
    "kubelet-odd-headers": Case(
        sends_to_the_kubelet(peers.PREFACE + peers.SETTINGS + peers.headers([(b"x", b"\x00\n")], 1, ends=True))
    ),
    "register-bad-protobuf": Case(
        calls_register_with(BAD_PROTO), ("Register refused: the message cannot be decoded: proto:",)
    ),
    "register-bad-utf8": Case(
        calls_register_with(b"\x0a\x01\xff"), ("Register refused: the message cannot be decoded: string field",)
    ),
    "register-5-mib": Case(calls_register_with(bytes(5 * MIB))),
    "register-odd-name": Case(registers_name(NASTY), ("Register refused: the ResourceName ",)),
    "register-long-name": Case(registers_name("x" * MIB), ("Register refused: the ResourceName ",)),
    "register-odd-version": Case(
        registers_name("example.com/odd-version", NASTY), ("Register refused: requested API version ",)
    ),
    "register-storm": Case(storm, ("client 2 replaces client 1", *_DIALS), perhaps=(" failed and took the entry of",)),
    "registers-for-ever": Case(
        registers_for_ever,
        ("client 2 replaces client 1", "the stream of client"),
        perhaps=("the end of client",),
    ),
    "registers-twice": Case(
        twice_at_once, ("client 2 replaces client 1", "the stream of client"), perhaps=("the end of client",)
    ),
}
