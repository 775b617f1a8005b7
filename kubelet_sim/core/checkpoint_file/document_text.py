"""The checkpoint document as text: the dump that is hashed, its checksum, and the file, byte for byte.

Reading a file back is `decoder`; what goes into a document is `checkpoint`; where it is stored is the
node's business. Everything here touches nothing; who writes one document after the other uses `encoder`.

A lone surrogate, which no plugin can send (gRPC checks its strings), stands for bytes that are not UTF-8: it is
hashed as the three bytes it would be and stored as U+FFFD, so that such a file fails its own checksum, as the
kubelet's does.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fnv_hash_fast import fnv1a_32

from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

_BYTES = tuple(map(str, range(256)))
_NIL = "<nil>"
_REPLACEMENT = "\ufffd"
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# What Go's encoder escapes and Python's does not. None of these can stand outside of a string.
_GO_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def dump(document: CheckpointDocument, *, is_before_1_20: bool = False) -> str:
    """The text that is hashed: one line, strings raw, map keys sorted, everything else in the document's order.

    `None` and empty differ. The text is ambiguous (an id may hold a space) and cannot be parsed back.

    Args:
        document: what is hashed.
        is_before_1_20: as kubelets before 1.20 had it, with one list of ids an entry: here that of NUMA node 0.

    Rules: CP-10, DM-139, DM-140, DM-144
    """
    of_entry = _entry_before_1_20 if is_before_1_20 else entry_dump
    entries = _NIL if document.entries is None else _list(map(of_entry, document.entries))
    registered = _map(document.registered)
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:([]checkpoint.PodDevicesEntry){entries} "
        f"RegisteredDevices:(map[string][]string){registered}"
        "}"
    )


def checksum(document: CheckpointDocument, *, is_before_1_20: bool = False) -> int:
    """FNV-1a, 32 bits, over the UTF-8 bytes of the dump. Rules: CP-9, DM-139, DM-140"""
    return int(fnv1a_32(as_bytes(dump(document, is_before_1_20=is_before_1_20))))


def encode(document: CheckpointDocument) -> bytes:
    """The whole file: one JSON object without white space or final newline, as Go's encoder writes it.

    Rules: CP-5, CP-7, CP-8, CP-19, DM-138
    """
    content = {
        "Data": {
            "PodDeviceEntries": None if document.entries is None else [entry_object(e) for e in document.entries],
            "RegisteredDevices": _sorted_by_name(document.registered),
        },
        "Checksum": checksum(document),
    }
    return as_json(content)


def as_json(value: Any) -> bytes:
    """A JSON value as Go's encoder writes it. Rules: CP-5, CP-7"""
    return without_surrogates(_JSON.encode(value).translate(_GO_ESCAPES)).encode()


def as_bytes(text: str) -> bytes:
    """What of a dump is hashed. Rules: CP-9"""
    return text.encode("utf-8", "surrogatepass")


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD, as JSON of Go has it. Rules: CP-7, CP-11"""
    return text if text.isascii() else _LONE_SURROGATE.sub(_REPLACEMENT, text)


def entry_dump(entry: CheckpointEntry) -> str:
    """What the dump has of one entry. Rules: CP-10"""
    return _entry_with(entry, f"(checkpoint.DevicesPerNUMA){_map(entry.devices)}")


def _entry_before_1_20(entry: CheckpointEntry) -> str:
    return _entry_with(entry, f"([]string){list_dump((entry.devices or {}).get(0))}")


def _entry_with(entry: CheckpointEntry, devices: str) -> str:
    response = _NIL if entry.allocate_response is None else _list(map(_BYTES.__getitem__, entry.allocate_response))
    return (
        "{"
        f"PodUID:(string){entry.pod_uid} "
        f"ContainerName:(string){entry.container} "
        f"ResourceName:(string){entry.resource} "
        f"DeviceIDs:{devices} "
        f"AllocResp:([]uint8){response}"
        "}"
    )


def _map(lists: Mapping[int, tuple[str, ...] | None] | Mapping[str, tuple[str, ...] | None] | None) -> str:
    """Keys ascending: numbers by value, names by code point, which is the order of their UTF-8 bytes."""
    if lists is None:
        return _NIL
    items: list[tuple[Any, tuple[str, ...] | None]] = sorted(lists.items(), key=_key)
    return f"map{_list(f'{key}:{list_dump(ids)}' for key, ids in items)}"


def list_dump(ids: tuple[str, ...] | None) -> str:
    """What the dump has of a list of ids. Rules: CP-10"""
    return _NIL if ids is None else _list(ids)


def _list(texts: Iterable[str]) -> str:
    return f"[{' '.join(texts)}]"


def entry_object(entry: CheckpointEntry) -> dict[str, Any]:
    """What the file has of one entry, to be written as JSON. Rules: CP-5, CP-8"""
    response = entry.allocate_response
    devices = None if entry.devices is None else {str(numa): ids for numa, ids in entry.devices.items()}
    return {
        "PodUID": entry.pod_uid,
        "ContainerName": entry.container,
        "ResourceName": entry.resource,
        "DeviceIDs": _sorted_by_name(devices),
        "AllocResp": None if response is None else base64.b64encode(response).decode("ascii"),
    }


def _sorted_by_name(lists: Mapping[str, tuple[str, ...] | None] | None) -> dict[str, tuple[str, ...] | None] | None:
    return None if lists is None else dict(sorted(lists.items(), key=_key))


def _key(item: tuple[Any, object]) -> Any:
    return item[0]
