"""Calls by hand against real servers: a scripted plugin, a kubelet, the pod resources API."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kubelet_sim.cli.main import cli
from kubelet_sim.errors import RpcFailed
from kubelet_sim.node.clock import ManualClock
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.sync import SyncNode
from kubelet_sim.testing.fake_plugin import FakePlugin
from kubelet_sim.wire import calls_by_hand as calling
from tests.wire.helpers import short_directory

DEVICE = "example.com/dev"


@pytest.fixture
def node() -> Iterator[SyncNode]:
    """A node with a plugin of two devices, both in this process; calls come from a loop of their own."""
    with (
        short_directory() as root,
        SyncNode(NodeConfig(root=root / "r"), clock=ManualClock()) as node,
        FakePlugin(node, DEVICE, devices=["a", "b"]) as plugin,
    ):
        plugin.register()
        yield node


def call(*arguments: object, text: str | None = None) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(cli, ["call", *map(str, arguments)], input=text)


def sockets_of(node: SyncNode) -> Path:
    """The device-plugin directory."""
    return Path(node.device_plugin_directory)


def plugin_socket(node: SyncNode) -> Path:
    """The socket beside the kubelet's."""
    return next(each for each in sockets_of(node).glob("*.sock") if each.name != "kubelet.sock")


def test_each_method_of_a_plugin_can_be_called(node: SyncNode) -> None:
    """Requests come from options, answers are JSON with the names of the protos. Rules: DM-11, DM-98"""
    socket = plugin_socket(node)

    def answer(*arguments: object) -> Any:
        done = call(socket, *arguments)
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    assert set(answer("GetDevicePluginOptions")) == {"pre_start_required", "get_preferred_allocation_available"}
    assert [each["ID"] for each in answer("ListAndWatch")["devices"]] == ["a", "b"]
    assert len(answer("Allocate", "--ids", "a,b")["container_responses"]) == 1
    assert answer("PreStartContainer", "--ids", "a") == {}
    assert "container_responses" in answer("GetPreferredAllocation", "--available", "a,b", "--size", 1)


@pytest.mark.parametrize(
    "lists, options, code, text",
    [
        (2, ("--timeout", "3s"), 0, ""),
        (1, (), 0, "note: the 5s of a call are over: see --timeout\n"),
        (0, ("--timeout", "3s"), 1, "error: ListAndWatch: rpc error: code = DeadlineExceeded desc = late\n"),
    ],
)
def test_what_is_watched_until_the_time_is_over(
    node: SyncNode, monkeypatch: pytest.MonkeyPatch, lists: int, options: tuple[str, ...], code: int, text: str
) -> None:
    """That is no failure, if a list has come; a time that nobody asked for is told. Rules: DM-11"""

    async def lists_until_the_end(*_: object) -> AsyncGenerator[dict[str, Any], None]:
        for number in range(lists):
            yield {"devices": number}
        raise RpcFailed("DeadlineExceeded", "late")

    monkeypatch.setattr(calling.HandCalls, "call", lists_until_the_end)
    done = call(plugin_socket(node), "ListAndWatch", "--watch", *options)
    shown = "".join(f'{{"devices": {number}}}\n' for number in range(lists))
    assert (done.exit_code, done.output) == (code, shown + text)


def test_a_socket_says_what_it_answers(node: SyncNode) -> None:
    """A plugin, a kubelet and its pod resources are told apart without anything being registered. Rules: DM-11, PR-4"""
    directory = sockets_of(node)
    assert call(plugin_socket(node)).output.startswith("v1beta1.DevicePlugin: GetDevicePluginOptions, ListAndWatch")
    assert call(directory / "kubelet.sock").output == "v1beta1.Registration: Register\n"
    listed = call(directory.with_name("pod-resources") / "kubelet.sock").output.splitlines()
    assert [line.partition(":")[0] for line in listed] == ["v1.PodResourcesLister", "v1alpha1.PodResourcesLister"]


def test_register_by_hand_is_answered_as_a_plugin_is(node: SyncNode) -> None:
    """A refusal is one line with its code, and exit code 1. Rules: DM-21, DM-22"""
    done = call(
        sockets_of(node) / "kubelet.sock",
        "Register",
        *("--resource", "cpu", "--endpoint", "x.sock", "--version", "v9"),
    )
    assert done.exit_code == 1
    assert done.output.startswith("error: Register: rpc error: code = Unknown desc = ")
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    "method, options, seconds",
    [
        ("Register", (), 15),
        ("PreStartContainer", (), 30),
        ("Allocate", (), 5),
        ("", (), 5),
        ("Register", ("--timeout", "7s"), 7),
        ("", ("--timeout", "0"), None),
    ],
)
def test_each_method_has_a_time_that_fits(
    monkeypatch: pytest.MonkeyPatch, method: str, options: tuple[str, ...], seconds: int | None
) -> None:
    """A kubelet may take 10 s to call a plugin back before it answers Register. Rules: DM-40, DM-103"""
    given: list[float | None] = []

    class Noted(calling.HandCalls):
        def __init__(self, socket_path: str | Path, timeout_s: float | None = None) -> None:
            given.append(timeout_s)
            super().__init__(socket_path, timeout_s)

    monkeypatch.setattr(calling, "HandCalls", Noted)
    assert call("/nowhere.sock", *method.split(), *options).exit_code == 3
    assert given == [seconds]


def test_pod_resources_by_hand(node: SyncNode) -> None:
    """What the node has to give, and a pod that there is not. Rules: PR-16, PR-20"""
    socket = sockets_of(node).with_name("pod-resources") / "kubelet.sock"
    assert '"resource_name": "example.com/dev"' in call(socket, "GetAllocatableResources").output
    assert call(socket, "v1alpha1.PodResourcesLister/List").exit_code == 0
    missing = call(socket, "Get", "--pod", "other/p")
    assert (missing.exit_code, "pod p in namespace other not found" in missing.output) == (1, True)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("Nonsense",), "there is no method Nonsense"),
        (("Allocate", "--size", "1"), "--size is for GetPreferredAllocation"),
        (("Allocate", "--json", "["), "no JSON"),
        (("Allocate", "--json", "[]"), "one JSON object"),
        (("Allocate", "--json", '{"colour": 1}'), "no request for Allocate"),
        (("Allocate", "--json", '{"colour": 1}'), '"AllocateRequest"; there are: container_requests\n'),
        (
            ("GetPreferredAllocation", "--json", '{"container_requests": [{"colour": 1}]}'),
            "there are: available_deviceIDs, must_include_deviceIDs, allocation_size",
        ),
        (("Allocate", "--json", "{}", "--ids", "a"), "both say"),
        (("Allocate", "--watch"), "--watch is for ListAndWatch"),
        (("--ids", "a"), "which method is meant"),
    ],
)
def test_what_cannot_be_asked_is_a_misuse(arguments: tuple[str, ...], text: str) -> None:
    """Nobody is called: exit code 2, and one line that says what was expected."""
    done = call("nowhere.sock", *arguments)
    assert (done.exit_code, done.output.count("\n"), "\\n" in done.output) == (2, 1, False)
    assert text in done.output


def test_nobody_there_is_said(tmp_path: Path) -> None:
    """A missing socket and a file that is none: exit code 3."""
    (tmp_path / "file").write_text("")
    for name, text in (("none", "there is no socket"), ("file", "nobody listens")):
        with contextlib.chdir(tmp_path):
            done = call(name, "GetInfo")
        assert (done.exit_code, text in done.output) == (3, True)


def test_a_request_can_be_looked_at_first() -> None:
    """`--dry-run` shows what would be sent; `--json -` reads standard input."""
    done = call("x", "Allocate", "--json", "-", "--dry-run", text='{"container_requests": [{"devices_ids": ["a,b"]}]}')
    assert (done.exit_code, '"a,b"' in done.output) == (0, True)
    assert '"version": "v1beta1"' in call("x", "Register", "--resource", "a/b", "--dry-run").output
