"""From the text of a spec file, YAML or JSON, to its values; an unknown field is an error, as in the reference library.

Scalars are read as Go's YAML library reads them into typed fields: a number does for a text, `0660` is octal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import yaml
from attrs import frozen

from kubelet_sim.container.cdi.model import (
    CdiDevice,
    CdiSpec,
    ContainerEdits,
    HookEdit,
    IntelRdt,
    MountEdit,
    NetDeviceEdit,
    NodeEdit,
)
from kubelet_sim.errors import KubeletSimError

T = TypeVar("T")

_NULL = "tag:yaml.org,2002:null"
_OCTAL = re.compile(r"([+-]?)0([0-7]+)")
_TRUE, _FALSE = frozenset({"true", "yes", "on", "y"}), frozenset({"false", "no", "off", "n"})
_UINT32 = (0, 2**32 - 1)
_INT64 = (-(2**63), 2**63 - 1)


class BadSpec(KubeletSimError):
    """A spec file that cannot be used: the text says what is wrong in it."""


def decode(text: str) -> CdiSpec:
    """The first document of a file. Nothing is judged but the form.

    Raises:
        BadSpec: no YAML or JSON, no document, an unknown or doubled field, a value of another kind.
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            if not loader.check_node():
                raise BadSpec("there is no document")
            node = loader.get_node()
            return _At(loader, node, "").spec()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise BadSpec(f"{line}{error.problem or 'no YAML'}") from error
    except yaml.YAMLError as error:
        raise BadSpec(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise BadSpec("it is nested too deeply") from error


@frozen
class _At:
    """One node of the document, and the way to it."""

    loader: Any
    node: Any
    path: str

    def spec(self) -> CdiSpec:
        if self.node.tag == _NULL:
            raise BadSpec("there is no document")
        return self.build(CdiSpec, {
            "cdiVersion": ("version", _At.text),
            "kind": ("kind", _At.text),
            "annotations": ("annotations", _At.mapping),
            "devices": ("devices", _many(_device)),
            "containerEdits": ("edits", _edits),
        })  # fmt: skip

    def build(self, kind: Callable[..., T], fields: Mapping[str, tuple[str, Callable[[_At], Any]]]) -> T:
        """A value whose fields are these; one that is not there, or null, keeps its default."""
        values = {}
        for name, place in self.entries().items():
            if name not in fields:
                raise place.error(f"unknown field {name!r}")
            if place.node.tag != _NULL:
                attribute, read = fields[name]
                values[attribute] = read(place)
        return kind(**values)

    def entries(self) -> dict[str, _At]:
        if not isinstance(self.node, yaml.MappingNode):
            raise self.error("expected a mapping")
        self.loader.flatten_mapping(self.node)
        found: dict[str, _At] = {}
        for key, value in self.node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.error("expected names as keys")
            if key.value in found:
                raise self.error(f"the field {key.value!r} is there twice")
            found[key.value] = _At(self.loader, value, f"{self.path}.{key.value}" if self.path else key.value)
        return found

    def items(self) -> list[_At]:
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.error("expected a list")
        return [_At(self.loader, node, f"{self.path}[{number}]") for number, node in enumerate(self.node.value)]

    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.error("expected text")
        return "" if self.node.tag == _NULL else str(self.node.value)

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def mapping(self) -> Mapping[str, str]:
        return {name: place.text() for name, place in self.entries().items()}

    def number(self, bounds: tuple[int, int]) -> int:
        text = self.text()
        octal = _OCTAL.fullmatch(text)
        try:
            value = int(f"{octal[1]}0o{octal[2]}" if octal else text, 0)
        except ValueError:
            raise self.error(f"expected a whole number, found {text!r}") from None
        if not bounds[0] <= value <= bounds[1]:
            raise self.error(f"{value} is out of range")
        return value

    def uint32(self) -> int:
        return self.number(_UINT32)

    def int64(self) -> int:
        return self.number(_INT64)

    def uint32s(self) -> tuple[int, ...]:
        return tuple(item.uint32() for item in self.items())

    def flag(self) -> bool:
        word = self.text().lower()
        if word not in _TRUE | _FALSE:
            raise self.error(f"expected true or false, found {word!r}")
        return word in _TRUE

    def error(self, problem: str) -> BadSpec:
        line = self.node.start_mark.line + 1
        return BadSpec(f"line {line}, {self.path}: {problem}" if self.path else f"line {line}: {problem}")


def _many(read: Callable[[_At], T]) -> Callable[[_At], tuple[T, ...]]:
    def read_all(place: _At) -> tuple[T, ...]:
        for item in place.items():
            if item.node.tag == _NULL:
                raise item.error("there is nothing in it")
        return tuple(read(item) for item in place.items())

    return read_all


def _device(place: _At) -> CdiDevice:
    return place.build(CdiDevice, {
        "name": ("name", _At.text),
        "annotations": ("annotations", _At.mapping),
        "containerEdits": ("edits", _edits),
    })  # fmt: skip


def _edits(place: _At) -> ContainerEdits:
    return place.build(ContainerEdits, {
        "env": ("env", _At.texts),
        "deviceNodes": ("device_nodes", _many(_node)),
        "netDevices": ("net_devices", _many(_net_device)),
        "hooks": ("hooks", _many(_hook)),
        "mounts": ("mounts", _many(_mount)),
        "intelRdt": ("intel_rdt", _intel_rdt),
        "additionalGids": ("additional_gids", _At.uint32s),
    })  # fmt: skip


def _node(place: _At) -> NodeEdit:
    return place.build(NodeEdit, {
        "path": ("path", _At.text),
        "hostPath": ("host_path", _At.text),
        "type": ("type", _At.text),
        "major": ("major", _At.int64),
        "minor": ("minor", _At.int64),
        "fileMode": ("file_mode", _At.uint32),
        "permissions": ("permissions", _At.text),
        "uid": ("uid", _At.uint32),
        "gid": ("gid", _At.uint32),
    })  # fmt: skip


def _net_device(place: _At) -> NetDeviceEdit:
    return place.build(NetDeviceEdit, {
        "hostInterfaceName": ("host_interface_name", _At.text),
        "name": ("name", _At.text),
    })  # fmt: skip


def _hook(place: _At) -> HookEdit:
    return place.build(HookEdit, {
        "hookName": ("hook_name", _At.text),
        "path": ("path", _At.text),
        "args": ("args", _At.texts),
        "env": ("env", _At.texts),
        "timeout": ("timeout", _At.int64),
    })  # fmt: skip


def _mount(place: _At) -> MountEdit:
    return place.build(MountEdit, {
        "hostPath": ("host_path", _At.text),
        "containerPath": ("container_path", _At.text),
        "options": ("options", _At.texts),
        "type": ("type", _At.text),
    })  # fmt: skip


def _intel_rdt(place: _At) -> IntelRdt:
    return place.build(IntelRdt, {
        "closID": ("clos_id", _At.text),
        "l3CacheSchema": ("l3_cache_schema", _At.text),
        "memBwSchema": ("mem_bw_schema", _At.text),
        "schemata": ("schemata", _At.texts),
        "enableMonitoring": ("enable_monitoring", _At.flag),
    })  # fmt: skip
