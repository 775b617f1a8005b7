"""Which of several spec files counts, told from the documentation and the behaviour of the reference library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubelet_sim.container.cdi.registry import DEFAULT_DIRECTORIES, CdiUnresolved, Registry, read_registry
from kubelet_sim.container.host import HostFile
from tests.unit.container.parts import FILE, FOLDER, FakeHost

STATIC, DYNAMIC = DEFAULT_DIRECTORIES
NAME = "vendor.com/device=dev"


def text(value: str = "1", name: str = "dev", kind: str = "vendor.com/device", **more: Any) -> str:
    """A file whose device sets V."""
    device = {"name": name, "containerEdits": {"env": [f"V={value}"]}}
    return json.dumps({"cdiVersion": "1.0.0", "kind": kind, "devices": [device], **more})


def registry(files: dict[str, HostFile | str], *directories: str) -> Registry:
    """What the directories hold."""
    return read_registry(FakeHost(files), directories or DEFAULT_DIRECTORIES)


def value(found: Registry, name: str = NAME) -> str:
    """What the device of that name sets V to."""
    return found.find([name])[0].device.edits.env[0].removeprefix("V=")


def test_a_device_of_an_installed_file_is_found() -> None:
    """A device of a file in the directory for installed files."""
    assert value(registry({f"{STATIC}/a.json": text()})) == "1"


def test_a_dynamic_device_wins_over_a_static_one() -> None:
    """The later directory has precedence; the definition that does not count is known."""
    found = registry({f"{STATIC}/a.json": text("static"), f"{DYNAMIC}/b.json": text("dynamic")})
    assert value(found) == "dynamic"
    assert found.shadowed == {NAME: (f"{STATIC}/a.json",)}
    assert found.conflicts == {}


def test_precedence_is_that_of_the_directories_not_of_names() -> None:
    """File names do not matter, the order of directories does."""
    files: dict[str, HostFile | str] = {f"{STATIC}/z.json": text("static"), f"{DYNAMIC}/a.json": text("dynamic")}
    assert value(registry(files)) == "dynamic"
    assert value(registry(files, DYNAMIC, STATIC)) == "static"


def test_a_dynamic_device_in_a_lower_directory_is_there_all_the_same() -> None:
    """Devices that only the lower directory has are not hidden by the higher one's files of the same kind."""
    found = registry({f"{STATIC}/a.json": text("low", "generated"), f"{DYNAMIC}/b.json": text("high")})
    assert value(found, "vendor.com/device=generated") == "low"
    assert value(found) == "high"


def test_files_of_one_directory_may_share_a_kind() -> None:
    """Files of one directory may share a kind as long as the devices differ."""
    found = registry({f"{STATIC}/a.json": text("a", "a"), f"{STATIC}/b.json": text("b", "b")})
    assert sorted(found.devices) == ["vendor.com/device=a", "vendor.com/device=b"]


def test_the_same_device_twice_in_a_directory_is_a_conflict() -> None:
    """Nobody has it then, and the error names both files."""
    found = registry({f"{STATIC}/a.json": text("a"), f"{STATIC}/b.yaml": text("b")})
    assert found.conflicts == {NAME: (f"{STATIC}/a.json", f"{STATIC}/b.yaml")}
    with pytest.raises(CdiUnresolved, match=r"a\.json and /etc/cdi/b\.yaml"):
        found.find([NAME])


def test_a_conflict_takes_only_the_device_in_question() -> None:
    """Other devices of the same files stay."""
    two = json.loads(text("a"))
    two["devices"].append({"name": "other", "containerEdits": {"env": ["V=o"]}})
    found = registry({f"{STATIC}/a.json": json.dumps(two), f"{STATIC}/b.json": text("b")})
    assert value(found, "vendor.com/device=other") == "o"
    assert NAME not in found.devices


def test_all_files_in_conflict_are_named() -> None:
    """A name that three files define names all three."""
    found = registry({f"{STATIC}/{name}.json": text(name) for name in "abc"})
    assert found.conflicts[NAME] == tuple(f"{STATIC}/{name}.json" for name in "abc")


def test_a_higher_directory_does_not_mend_a_conflict() -> None:
    """A conflict in a lower directory takes the device away even where a higher one defines it, as in the library."""
    files = {f"{STATIC}/a.json": text("a"), f"{STATIC}/b.json": text("b"), f"{DYNAMIC}/c.json": text("c")}
    assert NAME not in registry(dict(files)).devices


def test_a_conflict_in_the_higher_directory() -> None:
    """It takes the lower definition away, too."""
    files = {f"{STATIC}/a.json": text("a"), f"{DYNAMIC}/b.json": text("b"), f"{DYNAMIC}/c.json": text("c")}
    found = registry(dict(files))
    assert found.conflicts[NAME] == (f"{DYNAMIC}/b.json", f"{DYNAMIC}/c.json")
    assert NAME not in found.devices


def test_kinds_keep_devices_apart() -> None:
    """The same device name under another vendor or class is another device."""
    found = registry(
        {
            f"{STATIC}/a.json": text("a"),
            f"{STATIC}/b.json": text("b", kind="vendor.com/other"),
            f"{STATIC}/c.json": text("c", kind="a.vendor.com/device"),
        }
    )
    assert value(found, "vendor.com/other=dev") == "b"
    assert value(found, "a.vendor.com/device=dev") == "c"


def test_json_and_yaml_by_their_endings() -> None:
    """Only `.json` and `.yaml` count, and no directory of such a name; what is in the file may be either."""
    found = registry(
        {
            f"{STATIC}/a.yaml": text("a", "a"),
            f"{STATIC}/b.yml": text("b", "b"),
            f"{STATIC}/c.json.tmp": text("c", "c"),
            f"{STATIC}/d.json": FOLDER,
            f"{STATIC}/e.json": "cdiVersion: 1.0.0\nkind: vendor.com/device\ndevices: [{name: e, containerEdits: {env: [V=e]}}]",
        }
    )
    assert sorted(found.devices) == ["vendor.com/device=a", "vendor.com/device=e"]
    assert [file.path for file in found.files] == [f"{STATIC}/a.yaml", f"{STATIC}/e.json"]


def test_directories_below_are_not_read() -> None:
    """There is no recursion."""
    assert registry({f"{STATIC}/below/a.json": text()}).devices == {}


def test_a_bad_file_does_not_spoil_the_others() -> None:
    """Its problem is kept, and told when a name is not found."""
    found = registry({f"{STATIC}/a.json": "{", f"{STATIC}/b.json": text()})
    assert value(found) == "1"
    assert found.files[0].problem
    with pytest.raises(CdiUnresolved) as caught:
        found.find(["vendor.com/device=gone"])
    assert f"Not used: {STATIC}/a.json: line 1" in str(caught.value)
    assert f"Read: {STATIC}/b.json" in str(caught.value)
    assert "vendor.com/device=dev" in str(caught.value)


def test_all_unresolvable_names_are_told_at_once() -> None:
    """With what was read, or that nothing was."""
    with pytest.raises(CdiUnresolved) as caught:
        registry({}).find(["a/b=c", NAME])
    assert caught.value.names == ("a/b=c", NAME)
    assert "no file defines the kind a/b" in str(caught.value)
    assert "Read: no file (of /etc/cdi, /var/run/cdi)" in str(caught.value)


def test_missing_directories_are_no_problem() -> None:
    """A machine without CDI has neither."""
    assert registry({}).problems == ()


def test_a_directory_that_cannot_be_read() -> None:
    """It and those after it do not count, as in the library, and the error says so."""
    host = FakeHost({f"{STATIC}/a.json": text(), f"{DYNAMIC}/b.json": text()}, refuses=STATIC)
    found = read_registry(host)
    assert found.devices == {}
    assert found.problems == (f"{STATIC}: Permission denied",)
    with pytest.raises(CdiUnresolved, match="Not readable: /etc/cdi: Permission denied"):
        found.find([NAME])


def test_a_file_that_cannot_be_read() -> None:
    """What lies there is no text: the file is not used."""

    class Binary(FakeHost):
        def text(self, path: str) -> str:
            return super().text(path) if path.endswith(".yaml") else b"\xff".decode()

    found = read_registry(Binary({f"{STATIC}/a.json": FILE}))
    assert "utf-8" in found.files[0].problem


def test_a_file_that_nobody_may_read_is_told_in_the_systems_words() -> None:
    """The problem of a file without any right is what the system says of it."""

    class Closed(FakeHost):
        def text(self, path: str) -> str:
            raise PermissionError(13, "Permission denied", path)

    assert read_registry(Closed({f"{STATIC}/a.json": FILE})).files[0].problem == "Permission denied"
