"""What hostile texts look like to whoever looks at the node: escaped on a terminal, whole in JSON and YAML."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.admission import Admitted
from kubelet_sim.model.device import Device
from kubelet_sim.model.ids import DeviceID
from kubelet_sim.model.response import ContainerSpec
from kubelet_sim.model.views import NodeSnapshot
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.node.node import Node
from kubelet_sim.present.container_text import spec_text
from kubelet_sim.present.documents import json_line, machine_text, node_document, spec_document
from kubelet_sim.present.record_lines import record_line
from kubelet_sim.present.view_tables import COLUMNS, document, list_table, select
from kubelet_sim.transcript import Record
from tests.hostile.cases import CASES, MIB, NASTY, answers, nasty_answer, one_list
from tests.hostile.peers import Ground, hostile_ground, pod
from tests.patience import PATIENCE_S
from tests.unit.present.snapshots import NODE
from tests.wire import helpers
from tests.wire.helpers import ScriptedPlugin

BAD = "example.com/bad"
SOCKET = "b\n\x1b[31m\u202e[link=x].sock"
FORMS = ("json", "yaml")
ATTACKS = (
    "register-odd-name",
    "register-odd-version",
    "options-odd-error",
    "options-odd-text",
    "options-goaway",
    "name-newline",
    "list-odd-error",
    "allocate-odd-error",
)


Odd = tuple[NodeSnapshot, ContainerSpec, list[Record]]


@asynccontextmanager
async def odd_pod(ground: Ground) -> AsyncIterator[None]:
    """Everything that can be odd is, and a pod has it, as long as the context lasts."""
    plugin = ScriptedPlugin(
        lists=one_list(Device(DeviceID(NASTY), "Healthy"), Device(DeviceID("x" * 1000), NASTY)),
        allocate=answers(nasty_answer()),
    )
    async with helpers.serving(plugin, ground.path(SOCKET)):
        listed = ground.wait_for_text(BAD, "listed 2 devices")
        assert await ground.register(BAD, SOCKET) is None
        await listed
        await ground.node.status_round()
        assert isinstance(await ground.node.admit(pod(BAD, "odd")), Admitted)
        await ground.node.wait_for(lambda now: any(each.phase == "Running" for each in now.pods))
        yield


@pytest.fixture(scope="module")
def odd() -> Odd:
    """The snapshot, the container's spec and the transcript of a node that has seen a lot."""

    async def body(root: Path) -> Odd:
        async with hostile_ground(root) as ground:
            for name in ATTACKS:
                await CASES[name].attack(ground, f"example.com/{name}")
            async with odd_pod(ground):
                return ground.node.status(), ground.node.container_spec("odd"), list(ground.node.transcript)

    return helpers.run(body)


def is_harmless(line: str) -> bool:
    """Whether a terminal would show it and do nothing else."""
    return escape_terminal(line) == line


def test_every_record_is_one_harmless_line(odd: Odd) -> None:
    """On a terminal each record is a line without controls; the odd text is in it, to be read."""
    lines = [record_line(record) for record in odd[2]]
    assert all(map(is_harmless, lines))
    assert any(escape_terminal(NASTY) in line for line in lines)


def test_every_record_is_one_json_object(odd: Odd) -> None:
    """On one line of plain ASCII, with every text whole."""
    for record in odd[2]:
        line = json_line(record)
        assert line.isascii()
        assert line.isprintable()
        assert json.loads(line)["text"] == record.text


@pytest.mark.parametrize("kind", COLUMNS)
def test_tables_are_harmless(odd: Odd, kind: str) -> None:
    """A row stays one line, and markup is text."""
    views = select(odd[0], kind, None)
    lines = list_table(kind, views).splitlines()
    assert len(lines) == 1 + len(views)
    assert all(map(is_harmless, lines))


def test_odd_texts_are_shown_not_swallowed(odd: Odd) -> None:
    """What rich would take for markup is in the table, too."""
    assert escape_terminal(NASTY) in list_table("devices", select(odd[0], "devices", None))
    assert escape_terminal(SOCKET) in list_table("plugins", select(odd[0], "plugins", None))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_lists_can_be_read_back(odd: Odd, kind: str, form: str) -> None:
    """JSON and YAML are ASCII without controls but line ends, and give back what was sent."""
    documents = [document(view) for view in select(odd[0], kind, None)]
    assert _read_back(documents, form) == json.loads(json.dumps(documents))


@pytest.mark.parametrize("form", FORMS)
def test_the_node_and_a_spec_can_be_read_back(odd: Odd, form: str) -> None:
    """A variable of 1 MiB is in it whole."""
    node = node_document(NODE, odd[0])
    assert _read_back(node, form) == json.loads(json.dumps(node))
    spec = _read_back(spec_document(odd[1]), form)
    assert spec["envs"][NASTY] == NASTY
    assert len(spec["envs"]["LARGE"]) == MIB


def test_a_spec_on_a_terminal_is_harmless(odd: Odd) -> None:
    """Each variable, mount, device and annotation is a line."""
    lines = spec_text(odd[1]).splitlines()
    assert all(map(is_harmless, lines))
    assert f"  {escape_terminal(NASTY)}={escape_terminal(NASTY)}" in lines


def _read_back(value: Any, form: str) -> Any:
    text = machine_text(value, form)
    assert text.isascii()
    assert all(line.isprintable() for line in text.split("\n"))
    return json.loads(text) if form == "json" else yaml.safe_load(text)


@pytest.mark.parametrize(
    "command", [["get", "devices"], ["get", "plugins"], ["get", "allocations"], ["container-spec", "odd"], ["trace"]]
)
def test_the_command_line_shows_nothing_unescaped(short_root: Path, command: list[str]) -> None:
    """From another process: tables are harmless, JSON and YAML can be read, and stderr is empty."""
    forms = ["table", "json"] if command == ["trace"] else ["table", *FORMS]

    async def output(form: str) -> bytes:
        arguments = ["-m", "kubelet_sim", *command, "--root", str(short_root), "-o", form]
        process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE, stderr=PIPE)
        told, errors = await helpers.soon(process.communicate())
        assert (process.returncode, errors) == (0, b"")
        return told

    async def body() -> list[bytes]:
        config = NodeConfig(root=short_root, has_status_rounds=False, has_control_socket=True)
        async with Node(config) as node, odd_pod(Ground(node, node.root.layout.device_plugins)):
            return await asyncio.gather(*map(output, forms))

    table, *others = asyncio.run(asyncio.wait_for(body(), PATIENCE_S))
    assert all(map(is_harmless, table.decode().splitlines()))
    for form, text in zip(forms[1:], others, strict=True):
        assert text.isascii()
        parsed = _parsed(text.decode(), form, lines=command == ["trace"])
        assert parsed
        assert command[0] != "get" or isinstance(parsed, list)


def _parsed(text: str, form: str, *, lines: bool) -> Any:
    if lines:
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text) if form == "json" else yaml.safe_load(text)
