"""Reading a checkpoint file as Go's JSON decoder does: what it forgives, what it changes, what it refuses.

The checksum is computed from what was decoded, so every forgiveness here is visible in it. The causes of a refusal
are our own words, with the place in the file: the kubelet's vary with the release of its language.

One known difference: Go reads up to 10,000 levels of nesting (they can only lie in members that nobody knows),
here a file ends as unreadable where Python's own decoder gives up, at some hundred to some thousand levels.

Rules: CP-11, CP-12, CP-13, DM-141, DM-142, DM-144
"""

from __future__ import annotations

import binascii
import contextlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from attrs import define, field, frozen

from kubelet_sim.core.checkpoint_file.document_text import checksum, without_surrogates
from kubelet_sim.core.go_text import quoted
from kubelet_sim.errors import CheckpointCorrupt, CheckpointError, CheckpointUnreadable
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

_Key = TypeVar("_Key", int, str)

_PLAIN_INTEGER = re.compile(r"0|[1-9][0-9]*")
_KEY_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BASE64_SKIPPED = str.maketrans("", "", "\r\n")
_UINT64_DIGITS, _UINT64_MAX = 20, 2**64 - 1
_BYTE_DIGITS, _BYTE_MAX = 3, 2**8 - 1
_SHOWN_LENGTH = 60
WHOLE = "the file"
"""The path of everything."""
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def decode(data: bytes, *, reads_before_1_20: bool = False) -> CheckpointDocument:
    """The document of a whole file, its checksum verified. Raises `CheckpointUnreadable` or `CheckpointCorrupt`.

    Args:
        data: the file.
        reads_before_1_20: whether a file that cannot be read is tried once more as one of a kubelet before 1.20, whose
            devices come to stand under NUMA node 0. The error is that of the first try.

    Rules: CP-12, CP-13, DM-141, DM-144, DM-165
    """
    try:
        return _decoded(data)
    except CheckpointError:
        if reads_before_1_20:
            with contextlib.suppress(CheckpointError):
                return _decoded(data, is_before_1_20=True)
        raise


def _decoded(data: bytes, *, is_before_1_20: bool = False) -> CheckpointDocument:
    document, stored = parse(data, is_before_1_20=is_before_1_20)
    computed = checksum(document, is_before_1_20=is_before_1_20)
    if stored != computed:
        raise CheckpointCorrupt(stored=stored, computed=computed)
    return document


def parse(data: bytes, *, is_before_1_20: bool = False) -> tuple[CheckpointDocument, int]:
    """The document of a file and the checksum stored with it, 0 if there is none; whether it fits is not asked.

    Raises `CheckpointUnreadable`.

    Rules: CP-12, DM-142, DM-144
    """
    file = _File(is_before_1_20)
    _members(_json(data), WHOLE, {"data": file.read_data, "checksum": file.read_checksum})
    entries = None if file.entries is None else tuple(file.entries)
    return CheckpointDocument(entries, file.registered), file.checksum


@frozen
class _Number:
    """A JSON number as it is written: `1.0` and `-0` are no integers for Go, however equal they are to one."""

    text: str


@frozen
class _Object:
    """The members of a JSON object in their order, repeated ones included."""

    pairs: list[tuple[str, Any]]


@define
class _File:
    """What has been read so far. Lists and maps begin empty, not null; a null member makes them so."""

    is_before_1_20: bool = False
    entries: list[CheckpointEntry] | None = field(factory=list)
    registered: dict[str, tuple[str, ...] | None] | None = field(factory=dict)
    checksum: int = 0

    def read_data(self, value: Any, path: str) -> None:
        _members(value, path, {"poddeviceentries": self._read_entries, "registereddevices": self._read_registered})

    def read_checksum(self, value: Any, path: str) -> None:
        if value is not None:
            self.checksum = _unsigned(value, path, _UINT64_DIGITS, _UINT64_MAX)

    def _read_entries(self, value: Any, path: str) -> None:
        items = _list_or_null(value, path)
        old = self.is_before_1_20
        self.entries = None if items is None else [_entry(item, f"{path}[{i}]", old) for i, item in enumerate(items)]

    def _read_registered(self, value: Any, path: str) -> None:
        self.registered = _lists(value, path, without_surrogates, self.registered)


@define
class _Entry:
    """One entry being read: zero values, but for the members that were there."""

    pod_uid: str = ""
    container: str = ""
    resource: str = ""
    devices: dict[int, tuple[str, ...] | None] | None = None
    response: bytes | None = None

    def read_pod_uid(self, value: Any, path: str) -> None:
        self.pod_uid = _text(value, path, self.pod_uid)

    def read_container(self, value: Any, path: str) -> None:
        self.container = _text(value, path, self.container)

    def read_resource(self, value: Any, path: str) -> None:
        self.resource = _text(value, path, self.resource)

    def read_devices(self, value: Any, path: str) -> None:
        self.devices = _lists(value, path, lambda key: _numa_node(key, path), self.devices)

    def read_plain_devices(self, value: Any, path: str) -> None:
        """One list, as before 1.20. Rules: DM-144"""
        ids = _list_or_null(value, path)
        self.devices = {0: None if ids is None else tuple(_text(device_id, path, "") for device_id in ids)}

    def read_response(self, value: Any, path: str) -> None:
        self.response = _bytes(value, path)


def _entry(value: Any, path: str, is_before_1_20: bool) -> CheckpointEntry:  # noqa: FBT001 - of a comprehension
    entry = _Entry()
    readers = {
        "poduid": entry.read_pod_uid,
        "containername": entry.read_container,
        "resourcename": entry.read_resource,
        "deviceids": entry.read_plain_devices if is_before_1_20 else entry.read_devices,
        "allocresp": entry.read_response,
    }
    _members(value, path, readers)
    return CheckpointEntry(entry.pod_uid, entry.container, entry.resource, entry.devices, entry.response)


# ---------------------------------------------------------------------------------------------------- JSON and its kinds


def _json(data: bytes) -> Any:
    # Each byte that is not UTF-8 becomes one lone surrogate, and later one U+FFFD, as in Go; `replace` would make one
    # of a whole cut-off sequence.
    text = data.decode("utf-8", "surrogateescape")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        cause = "the file is empty or cut off" if exc.pos >= len(text) else f"no JSON: {exc.msg}"
        where = f"line {exc.lineno}, column {exc.colno}"
        raise CheckpointUnreadable(f"{cause} ({where})", line=exc.lineno, column=exc.colno) from exc
    except RecursionError as exc:
        raise CheckpointUnreadable("nested too deeply") from exc


def _refuse_constant(name: str) -> NoReturn:
    raise CheckpointUnreadable(f"no JSON: {name} is not a value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_refuse_constant
)


def _members(value: Any, path: str, readers: Mapping[str, Callable[[Any, str], None]]) -> None:
    """Hand every known member to its reader, in the order of the file; null is an object without members."""
    if value is None:
        return
    if not isinstance(value, _Object):
        raise _unfit(value, path, "an object")
    for name, member in value.pairs:
        if reader := readers.get(_folded(name)):
            reader(member, name if path == WHOLE else f"{path}.{name}")


def _folded(name: str) -> str:
    # Simple case folding: the long s is an s. The Kelvin sign becomes k by `lower` alone, and nothing else that is not
    # ASCII becomes a letter that is.
    return name.replace("\u017f", "s").lower()


def _lists(
    value: Any, path: str, key_of: Callable[[str], _Key], known: dict[_Key, tuple[str, ...] | None] | None
) -> dict[_Key, tuple[str, ...] | None] | None:
    """A map of id lists. A repeated map adds to the one before it; of a repeated key the last wins."""
    if value is None:
        return None
    if not isinstance(value, _Object):
        raise _unfit(value, path, "an object")
    lists = {} if known is None else dict(known)
    for name, item in value.pairs:
        key, place = key_of(name), f"{path}[{shown(name)}]"
        ids = _list_or_null(item, place)
        lists[key] = None if ids is None else tuple(_text(device_id, place, "") for device_id in ids)
    return lists


def _list_or_null(value: Any, path: str) -> list[Any] | None:
    if value is None or isinstance(value, list):
        return value
    raise _unfit(value, path, "an array")


def _text(value: Any, path: str, known: str) -> str:
    """The string; null leaves what was known, which is empty unless the member is repeated."""
    if value is None:
        return known
    if not isinstance(value, str):
        raise _unfit(value, path, "a string")
    return without_surrogates(value)


def _bytes(value: Any, path: str) -> bytes | None:
    """Standard base64 with padding, line breaks in it ignored, or an array of numbers, where null counts as 0."""
    if value is None:
        return None
    if isinstance(value, list):
        return bytes(0 if item is None else _unsigned(item, path, _BYTE_DIGITS, _BYTE_MAX) for item in value)
    if not isinstance(value, str):
        raise _unfit(value, path, "base64 or an array of bytes")
    text = value.translate(_BASE64_SKIPPED)
    if not _BASE64.fullmatch(text):
        raise CheckpointUnreadable(f"{path}: no base64 with its padding", path=path)
    return binascii.a2b_base64(text)


def _unsigned(value: Any, path: str, digit_count: int, maximum: int) -> int:
    # The count of digits is looked at first: Python refuses to convert thousands of them, with an error of its own.
    if isinstance(value, _Number) and len(value.text) <= digit_count and _PLAIN_INTEGER.fullmatch(value.text):
        number = int(value.text)
        if number <= maximum:
            return number
    raise _unfit(value, path, f"an integer from 0 to {maximum}")


def _numa_node(key: str, path: str) -> int:
    """A NUMA node id from a key: sign and leading zeros are allowed, so that `0` and `+00` are the same."""
    if match := _KEY_INTEGER.fullmatch(key):
        number = int(match[1] + match[2])
        if _INT64_MIN <= number <= _INT64_MAX:
            return number
    raise CheckpointUnreadable(f"{path}: a key that is no 64-bit integer: {shown(key)}", path=path)


def shown(key: str) -> str:
    """A key as it stands in the paths of errors."""
    return quoted(key[:_SHOWN_LENGTH])


def _unfit(value: Any, path: str, expected: str) -> CheckpointUnreadable:
    return CheckpointUnreadable(f"{path}: expected {expected}, found {_kind(value)}", path=path)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case _Number(text):
            return f"the number {text[:_SHOWN_LENGTH]}"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
