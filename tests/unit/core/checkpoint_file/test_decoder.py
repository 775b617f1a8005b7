from __future__ import annotations

import sys

import pytest

from kubelet_sim.core.checkpoint_file import decoder as checkpoint_reading
from kubelet_sim.core.checkpoint_file.decoder import parse
from kubelet_sim.errors import CheckpointUnreadable
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry


def _cause(text: str) -> str:
    with pytest.raises(CheckpointUnreadable) as caught:
        parse(text.encode())
    return caught.value.cause


def _entry(members: str) -> CheckpointEntry:
    document, _ = parse(f'{{"Data":{{"PodDeviceEntries":[{{{members}}}]}}}}'.encode())
    assert document.entries is not None
    return document.entries[0]


def test_a_cause_names_the_place() -> None:
    """A refusal says which member of which entry was not as expected, and what was there. Rules: CP-12"""
    text = '{"Data":{"PodDeviceEntries":[{},{"DeviceIDs":["dev0"]}]}}'

    assert _cause(text) == "Data.PodDeviceEntries[1].DeviceIDs: expected an object, found an array"


def test_a_cause_holds_no_raw_foreign_text() -> None:
    """Keys from the file are escaped and cut to a bearable length in a refusal."""
    cause = _cause('{"Data":{"RegisteredDevices":{"\\u001b[31m' + "x" * 500 + '":7}}}')

    assert cause.isprintable()
    assert len(cause) < 150


@pytest.mark.parametrize("text", ["", " \n", "{", '{"Data":'])
def test_an_empty_or_cut_file_is_called_so(text: str) -> None:
    """A file that simply ends is told apart from one that is no JSON. Rules: CP-12"""
    assert _cause(text).startswith("the file is empty or cut off (line ")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_constants_of_other_languages_are_no_json(value: str) -> None:
    """What Python's decoder takes beyond JSON is refused, in unknown members too. Rules: CP-12"""
    assert value in _cause(f'{{"x":{value}}}')


def test_member_names_match_by_simple_case_folding() -> None:
    """The long s and the Kelvin sign are an s and a k; no other foreign letter is an ASCII one. Rules: CP-12, DM-142"""
    folds = {chr(code): checkpoint_reading._folded(chr(code)) for code in range(0x80, sys.maxunicode + 1)}

    assert {letter: fold for letter, fold in folds.items() if fold.isascii()} == {"\u017f": "s", "\u212a": "k"}
    assert parse('{"CHEC\u212a\u017fUM":7}'.encode())[1] == 7


def test_each_invalid_byte_is_replaced() -> None:
    """A cut-off sequence of two bytes becomes two replacement characters, not one. Rules: CP-11, CP-12"""
    document, _ = parse(b'{"Data":{"RegisteredDevices":{"r":["\xe2\x80","\\ud800\\ud83d\\ude00"]}}}')

    assert document.registered == {"r": ("\ufffd\ufffd", "\ufffd\U0001f600")}


@pytest.mark.parametrize(
    "key, numa",
    [("0", 0), ("+00", 0), ("-0", 0), ("-01", -1), ("0" * 5000 + "7", 7), ("-9223372036854775808", -(2**63))],
)
def test_numa_keys(key: str, numa: int) -> None:
    """NUMA node ids have an optional sign and any number of leading zeros. Rules: CP-12"""
    assert _entry(f'"DeviceIDs":{{"{key}":["a"]}}').devices == {numa: ("a",)}


@pytest.mark.parametrize("key", ["", "+", "x", "1_0", " 1", "1.0", "--1", "\u0661", "9223372036854775808", "9" * 5000])
def test_keys_that_are_no_numa_nodes(key: str) -> None:
    """A key that is no 64-bit decimal integer makes the file unreadable. Rules: CP-12"""
    assert "no 64-bit integer" in _cause(f'{{"Data":{{"PodDeviceEntries":[{{"DeviceIDs":{{"{key}":[]}}}}]}}}}')


def test_one_node_under_two_spellings() -> None:
    """Of two keys that are the same number the later one wins. Rules: CP-12"""
    assert _entry('"DeviceIDs":{"0":["a"],"00":["b"]}').devices == {0: ("b",)}


@pytest.mark.parametrize(
    "response, expected",
    [
        ('""', b""),
        ('"AA=="', b"\0"),
        ('"A\\nA=\\r\\n="', b"\0"),
        ('"AB=="', b"\0"),
        ("[]", b""),
        ("[0,255,null]", b"\0\xff\0"),
        ("null", None),
    ],
)
def test_responses(response: str, expected: bytes | None) -> None:
    """A response is padded base64, whose line breaks and left-over bits do not count, or bytes. Rules: CP-12"""
    assert _entry(f'"AllocResp":{response}').allocate_response == expected


@pytest.mark.parametrize(
    "response",
    ['"AA"', '"AA="', '"A"', '"=AA="', '"AA==AA=="', '"-_=="', '"\u00e9"', "[256]", "[-1]", "[1.0]", "7", "{}"],
)
def test_responses_that_are_none(response: str) -> None:
    """Wrong padding, a foreign alphabet and numbers that are no bytes are refused. Rules: CP-12"""
    assert "AllocResp: " in _cause(f'{{"Data":{{"PodDeviceEntries":[{{"AllocResp":{response}}}]}}}}')


@pytest.mark.parametrize("number", ["-0", "-1", "1.0", "1e2", "18446744073709551616", "9" * 5000, "true", '"1"', "[]"])
def test_checksums_that_are_none(number: str) -> None:
    """A stored checksum is a plain integer that fits 64 bits. Rules: CP-12"""
    assert _cause(f'{{"Checksum":{number}}}').startswith("Checksum: expected an integer")


def test_null_changes_no_scalar() -> None:
    """A repeated string or checksum that is null leaves the earlier one. Rules: CP-12"""
    assert _entry('"PodUID":"a","PodUID":null').pod_uid == "a"
    assert parse(b'{"Checksum":18446744073709551615,"Checksum":null}')[1] == 2**64 - 1


def test_repeated_data_is_read_on_top() -> None:
    """A second `Data` object changes only what it names. Rules: CP-12"""
    document, _ = parse(
        b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"a":[]}},"data":{"Registereddevices":{"b":null}}}'
    )

    assert document == CheckpointDocument(None, {"a": (), "b": None})


def test_deep_nesting_is_refused() -> None:
    """Nesting beyond what can be decoded is an unreadable file, not a crash. Rules: CP-12"""
    assert _cause('{"x":' + "[" * 200_000 + "]" * 200_000 + "}") == "nested too deeply"
