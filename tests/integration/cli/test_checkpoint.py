from __future__ import annotations

import base64
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from kubelet_sim.cli.main import cli
from kubelet_sim.core.checkpoint_file.document_text import checksum, encode
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.response import ContainerResponse, DeviceNode, Mount
from kubelet_sim.node.root_directory import checkpoint_file
from kubelet_sim.wire.messages import encode_container_response
from tests.unit.present.snapshots import NASTY, NASTY_SHOWN

VECTORS = Path(__file__).parents[2] / "vectors"
WRITTEN = json.loads((VECTORS / "checkpoint.json").read_text(encoding="utf-8"))
READ = json.loads((VECTORS / "checkpoint_read.json").read_text(encoding="utf-8"))
ANSWER = ContainerResponse(
    {"A": "1", NASTY: NASTY},
    (Mount("/in", "/out", True),),
    (DeviceNode("/dev/x", "/dev/host-x", ""),),
    {"note": "it"},
    ("vendor.io/gpu=0",),
)
ENTRIES = (
    CheckpointEntry("uid-1", "main", "example.com/gpu", {0: ("a",), 1: ("b", "c")}, encode_container_response(ANSWER)),
    CheckpointEntry("uid-1", "main", "other.io/nic", None, b""),
    CheckpointEntry("uid-2", NASTY, "example.com/gpu", {-1: ("d",)}, b"\xff"),
)
DOCUMENT = CheckpointDocument(ENTRIES, {"example.com/gpu": ("a", "b"), "example.com/none": None})


def _run(*arguments: object, data: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["checkpoint", *map(str, arguments)], input=data)


def _bytes(case: dict[str, Any]) -> bytes:
    return base64.b64decode(case["file_b64"]) if "file_b64" in case else case["file"].encode()


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A file that fits, with foreign text and an answer that cannot be decoded."""
    path = tmp_path / "kubelet_internal_checkpoint"
    path.write_bytes(encode(DOCUMENT))
    return path


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose sockets have short paths."""
    with tempfile.TemporaryDirectory(prefix="ks-", dir="/tmp") as folder:
        yield Path(folder)


# ------------------------------------------------------------------------------------------------------------- verify


@pytest.mark.parametrize("case", READ, ids=lambda case: case["name"])
def test_verify_says_what_a_kubelet_says(case: dict[str, Any]) -> None:
    """Good, corrupt and unreadable files are told apart; checksums, or a place, go with it. Rules: CP-12, CP-13, DM-141, DM-143"""
    result = _run("verify", "-", "-o", "json", data=_bytes(case))
    said = json.loads(result.stdout)

    assert result.exit_code == (0 if case["result"] == "ok" else 1)
    assert said["fits"] == (case["result"] == "ok")
    if case["result"] == "unreadable":
        assert (said["checksum"] is None) == (case["name"] != "v1-device-list")
        assert said["damage"]
        assert said["place"]["line"] >= 1
    else:
        assert said["checksum"]["stored"] == case["stored_checksum"]
        assert said["checksum"]["computed"] == case["computed_checksum"]
    assert bool(said["format"]) == (case["name"] == "v1-device-list")


def test_verify_shows_the_verdict_and_both_checksums() -> None:
    """A few lines: the verdict, both numbers, what would make it fit. Rules: CP-13"""
    (case,) = (case for case in READ if case["name"] == "device-renamed")
    result = _run("verify", "-", data=_bytes(case))

    assert result.stdout.splitlines() == [
        "standard input: corrupt: checkpoint is corrupted [CP-13, DM-143]",
        f"  stored:   {case['stored_checksum']}",
        f"  expected: {case['computed_checksum']} for the data as it is",
        '  the checksum fits if Data.PodDeviceEntries[0].DeviceIDs["0"][0] were "dev0" instead of "devX"',
    ]


def test_verify_says_one_line_of_a_good_file(good: Path) -> None:
    """One line. Rules: CP-13"""
    assert _run("verify", good).stdout.startswith(f"{good}: good, the checksum is ")
    assert yaml.safe_load(_run("verify", good, "-o", "yaml").stdout)["fits"] is True


def test_verify_says_so_if_nothing_single_explains_it() -> None:
    """When nothing single explains it, that is said. Rules: CP-13"""
    assert "no single change was found" in _run("verify", "-", data=b"{}").stdout


def test_verify_says_where_it_is_no_json() -> None:
    """Line and column of a cut, and of a value of the wrong kind with its path. Rules: CP-12"""
    assert "place: line 2, column 1" in _run("verify", "-", data=b'{"Data":\n').stdout
    assert "place: line 1, column 10, Data" in _run("verify", "-", data=b'{"Data": 7}').stdout


# --------------------------------------------------------------------------------------------------------------- show


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case["name"])
def test_show_has_every_id_of_every_vector(case: dict[str, Any]) -> None:
    """Pods, containers, resources, devices by node and healthy ids are those of the file. Rules: CP-5, DM-138"""
    result = _run("show", "-", "-o", "json", data=case["file"].encode())
    said = json.loads(result.stdout)

    assert result.exit_code == 0
    shown = [
        (
            pod["uid"],
            container["name"],
            held["resource"],
            {str(each["numa_node"]): each["ids"] for each in held["devices"]},
        )
        for pod in said["pods"]
        for container in pod["containers"]
        for held in container["resources"]
    ]
    entries = [
        (each["PodUID"], each["ContainerName"], each["ResourceName"], each["DeviceIDs"] or {})
        for each in case["entries"] or ()
    ]
    assert sorted(map(repr, shown)) == sorted(
        repr((*each[:3], dict(sorted(each[3].items(), key=_node)))) for each in entries
    )
    assert {each["resource"]: each["healthy_ids"] for each in said["registered"]} == (case["registered"] or {})


def _node(item: tuple[str, Any]) -> int:
    return int(item[0])


def test_show_for_eyes(good: Path) -> None:
    """Tables with a row for each NUMA node, foreign text escaped, and what a kubelet makes of the file. Rules: DM-145, CP-16"""
    result = _run("show", good)
    lines = [line.split("   ") for line in result.stdout.splitlines()]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines]

    assert result.exit_code == 0
    assert rows[1] == [
        "uid-1",
        "main",
        "example.com/gpu",
        "0",
        "a",
        "2 envs, 1 mount, 1 device node, 1 annotation, 1 CDI device",
    ]
    assert rows[2] == ["1", "b, c"]
    assert rows[3] == ["other.io/nic", "null", "nothing to set"] or rows[3][-1] == "nothing to set"
    assert NASTY not in result.stdout
    assert NASTY_SHOWN in result.stdout
    assert ["example.com/none", "null", "null"] in rows
    assert "cannot be decoded" in result.stdout
    assert "other.io/nic is in entries only" in result.stdout
    assert " fits." in result.stdout


def test_show_wide_spells_the_answers_out(good: Path) -> None:
    """Variables, mounts, device nodes, annotations, CDI devices, as the plugin sent them. Rules: CP-18"""
    said = _run("show", good, "-o", "wide").stdout

    for line in (
        "env         A=1",
        "mount       /out -> /in (ro)",
        "device      /dev/host-x -> /dev/x (no permissions)",
        "annotation  note: it",
        "CDI device  vendor.io/gpu=0",
    ):
        assert f"    {line}\n" in said
    assert NASTY not in said


def test_show_decodes_the_answer(good: Path) -> None:
    """In JSON the answer is whole; one that cannot be decoded says why. Rules: DM-145, CP-18"""
    first, second = json.loads(_run("show", good, "-o", "json").stdout)["pods"]
    gpu, nic = first["containers"][0]["resources"]

    assert gpu["allocate_answer"]["envs"] == {"A": "1", NASTY: NASTY}
    assert gpu["allocate_answer"]["mounts"] == [{"container_path": "/in", "host_path": "/out", "read_only": True}]
    assert nic["allocate_answer"]["envs"] == {}
    assert second["containers"][0]["resources"][0]["allocate_answer"]["error"]


@pytest.mark.parametrize(
    "filters, uids, registered",
    [
        ((), ["uid-1", "uid-2"], 2),
        (("--pod", "uid-2"), ["uid-2"], 0),
        (("--pod", "nobody"), [], 0),
        (("--resource", "other.io/nic"), ["uid-1"], 0),
        (("--resource", "example.com/gpu"), ["uid-1", "uid-2"], 1),
        (("--resource", "example.com/gpu", "--pod", "uid-1"), ["uid-1"], 0),
    ],
)
def test_show_filters(good: Path, filters: tuple[str, ...], uids: list[str], registered: int) -> None:
    """By pod, by resource, or both. Rules: CP-5"""
    said = json.loads(_run("show", good, "-o", "json", *filters).stdout)

    assert [pod["uid"] for pod in said["pods"]] == uids
    assert len(said["registered"]) == registered


def test_show_of_a_corrupt_file(good: Path) -> None:
    """It is shown, then said to be corrupt, with exit code 1. Rules: CP-13, DM-143"""
    good.write_bytes(good.read_bytes().replace(b'"uid-1"', b'"uid-9"', 1))
    result = _run("show", good)

    assert result.exit_code == 1
    assert "uid-9" in result.stdout
    assert "does not fit" in result.stdout
    assert "nothing is restored" in result.stdout
    assert result.stderr.startswith(f"error: {good} is corrupt")
    assert result.stderr.count("\n") == 1


def test_show_of_the_old_format() -> None:
    """It is shown with its devices, named, and not taken for good: few kubelets read it. Rules: DM-143, DM-144"""
    (case,) = (case for case in READ if case["name"] == "v1-device-list")
    result = _run("show", "-", data=_bytes(case))

    assert result.exit_code == 1
    assert "dev0" in result.stdout
    assert "before 1.20" in result.stdout
    assert "before 1.20" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_old_format_with_its_own_checksum() -> None:
    """A file of such a kubelet has a checksum of its own kind, which is verified as those kubelets did. Rules: DM-144"""
    document = CheckpointDocument((CheckpointEntry("u", "c", "r", {0: ("a",)}, b""),), {})
    number = checksum(document, is_before_1_20=True)
    entry = '{"PodUID":"u","ContainerName":"c","ResourceName":"r","DeviceIDs":["a"],"AllocResp":""}'
    data = f'{{"Data":{{"PodDeviceEntries":[{entry}],"RegisteredDevices":{{}}}},"Checksum":{number}}}'.encode()
    result = _run("verify", "-", data=data)

    assert result.exit_code == 1
    assert f"the checksum {number} fits" in result.stdout
    assert "kubelets from 1.22 to 1.30 still read it" in result.stdout
    assert " is old, " in _run("show", "-", data=data).stderr


def test_show_of_no_checkpoint() -> None:
    """One line with the place, exit code 1. Rules: DM-143"""
    result = _run("show", "-", data=b'{"Data":[]}')

    assert (result.exit_code, result.stdout) == (1, "")
    assert "Data: expected an object, found an array (line 1, column 9)" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_empty_checkpoint_is_told_to_hold_nothing() -> None:
    """A fresh kubelet's file says that there is nothing. Rules: CP-6"""
    assert "No allocations." in _run("show", "-", data=encode(CheckpointDocument(None, {}))).stdout


# ------------------------------------------------------------------------------------------------ what is no file at all


@pytest.mark.parametrize("command", ["show", "verify"])
def test_what_cannot_be_read(command: str, short: Path) -> None:
    """Directories, pipes, sockets, devices, dangling links and nothing get one clear line, and exit code 2. Rules: DM-143"""
    (short / "directory").mkdir()
    (short / "node").mkdir()
    (short / "node" / "kubelet_internal_checkpoint").write_bytes(b"{}")
    os.mkfifo(short / "pipe")
    (short / "dangling").symlink_to("nowhere")
    (short / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(short / "socket"))
        for name, words in (
            ("gone", "there is no"),
            ("directory", "is a directory, not"),
            ("node", "did you mean"),
            ("pipe", "is a named pipe"),
            ("socket", "is a socket"),
            ("dangling", "is a symbolic link to nowhere, which is not there"),
            ("circle", "too many levels of symbolic links"),
        ):
            result = _run(command, short / name)
            assert (result.exit_code, result.stdout) == (2, ""), name
            assert words in result.stderr
            assert str(short / name) in result.stderr
            assert result.stderr.count("\n") == 1
    assert "is a device" in _run(command, "/dev/null").stderr


def test_a_link_is_followed(good: Path, tmp_path: Path) -> None:
    """A symbolic link to a file is that file. Rules: CP-13"""
    (tmp_path / "link").symlink_to(good)
    assert _run("verify", tmp_path / "link").exit_code == 0


def test_a_file_without_permission_is_told_with_its_owner(good: Path) -> None:
    """Whose file it mostly is, is said. Rules: DM-143"""
    good.chmod(0)
    good.parent.chmod(0o755)
    user = os.geteuid()
    if user == 0:  # modes do not bind root
        for folder in good.parents[:-2]:
            folder.chmod(0o755)
        os.seteuid(65534)
    try:
        result = _run("verify", good)
    finally:
        os.seteuid(user)
    assert (result.exit_code, "no permission to read" in result.stderr) == (2, True)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Half a gigabyte is refused before it is read, and so is what is not a file. Rules: DM-143"""
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(500 * 2**20)
    result = _run("verify", huge)

    assert result.exit_code == 2
    assert f"{huge}: it has 500 MiB or more" in result.stderr
    assert "move the file away" in result.stderr


def test_too_many_values_on_standard_input_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds hold for standard input, too. Rules: DM-143"""
    monkeypatch.setattr(checkpoint_file, "MOST_VALUES", 10)
    result = _run("verify", "-", data=b"[" + b"0," * 20 + b"0]")

    assert result.exit_code == 2
    assert "standard input: it holds about 21 values" in result.stderr
