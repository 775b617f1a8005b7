from __future__ import annotations

import json

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kubelet_sim.core.checkpoint_file.decoder import decode, parse
from kubelet_sim.core.checkpoint_file.document_text import checksum, dump, encode
from kubelet_sim.core.checkpoint_file.dump_spans import Drawing
from kubelet_sim.core.checkpoint_file.encoder import Encoder
from kubelet_sim.core.checkpoint_file.repairs import repairs
from kubelet_sim.errors import CheckpointCorrupt, CheckpointError
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
id_lists = st.none() | st.lists(texts, max_size=3).map(tuple)
entries = st.builds(
    CheckpointEntry,
    pod_uid=texts,
    container=texts,
    resource=texts,
    devices=st.none() | st.dictionaries(st.integers(-(2**63), 2**63 - 1), id_lists, max_size=3),
    allocate_response=st.none() | st.binary(max_size=12),
)
documents = st.builds(
    CheckpointDocument,
    entries=st.none() | st.lists(entries, max_size=3).map(tuple),
    registered=st.none() | st.dictionaries(texts, id_lists, max_size=3),
)
surrogates = st.characters(categories=["Cs"])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["Data", "check\u017fum", "PodDeviceEntries", "RegisteredDevices", "DeviceIDs", "AllocResp", "0"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(documents)
def test_a_document_survives_its_file(document: CheckpointDocument) -> None:
    """Whatever text a document holds, its file is read back as the same document. Rules: CP-7, CP-12, CP-18"""
    assert document == decode(encode(document))


@given(documents)
def test_the_file_is_what_other_json_readers_understand(document: CheckpointDocument) -> None:
    """The file is JSON in compact form, with the checksum in 32 bits. Rules: CP-5"""
    content = json.loads(encode(document))

    assert list(content) == ["Data", "Checksum"]
    assert 0 <= content["Checksum"] == checksum(document) < 2**32


@given(texts, surrogates)
def test_text_that_is_no_utf8_fails_its_own_checksum(text: str, surrogate: str) -> None:
    """A string that is not valid UTF-8 is stored as U+FFFD, and the file does not fit its checksum. Rules: CP-7, CP-13"""
    data = encode(CheckpointDocument(None, {text + surrogate: ()}))

    with pytest.raises(CheckpointCorrupt):
        decode(data)
    assert parse(data)[0].registered == {text + "\ufffd": ()}


@given(st.binary(max_size=64))
@example(b"\xef\xbb\xbf{}")
@example(b"[" * 100_000)
@example(b'{"Checksum":' + b"9" * 5_000 + b"}")
def test_any_bytes_are_answered(data: bytes) -> None:
    """Bytes that are no checkpoint end in an error of the checkpoint family, never in another. Rules: CP-12"""
    with pytest.raises(CheckpointError):
        decode(data)


@given(json_values)
def test_any_json_is_answered(value: object) -> None:
    """JSON of the wrong shape is refused or read, and never ends in a foreign error. Rules: CP-12"""
    try:
        parse(json.dumps(value).encode())
    except CheckpointError:
        return


@given(documents, st.data())
def test_a_cut_file_is_not_believed(document: CheckpointDocument, data: st.DataObject) -> None:
    """A file that lacks its end, wherever it was cut, is not believed. Rules: CP-12"""
    whole = encode(document)
    length = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(CheckpointError):
        decode(whole[:length])


@given(st.lists(entries, min_size=1, max_size=5), st.dictionaries(texts, id_lists, min_size=1, max_size=4), st.data())
def test_kept_parts_make_the_same_file(
    known: list[CheckpointEntry], lists: dict[str, tuple[str, ...] | None], data: st.DataObject
) -> None:
    """Documents that share entries and lists with those before are written as if each were the first. Rules: CP-5, CP-10"""
    encoder = Encoder()
    names = st.sampled_from(sorted(lists))
    for _ in range(data.draw(st.integers(1, 4))):
        some = data.draw(st.none() | st.lists(st.sampled_from(known), max_size=6).map(tuple))
        registered = data.draw(st.none() | st.dictionaries(names, st.sampled_from(list(lists.values())), max_size=4))
        document = CheckpointDocument(some, registered)

        assert encoder.encode(document) == encode(document)


@given(documents)
def test_a_drawing_is_the_dump(document: CheckpointDocument) -> None:
    """What is searched for a change is what was hashed. Rules: CP-10"""
    assert Drawing.of(document).dump.decode() == dump(document)


@given(st.lists(entries, min_size=1, max_size=3), st.data())
def test_a_planted_change_is_found(known: list[CheckpointEntry], data: st.DataObject) -> None:
    """An entry that somebody has put in is found, wherever it stands. Rules: CP-13"""
    place = data.draw(st.integers(0, len(known)))
    document = CheckpointDocument((*known[:place], data.draw(entries), *known[place:]), {})
    stored = checksum(CheckpointDocument(tuple(known), {}))
    assume(stored != checksum(document))

    answers = repairs(document, stored, checksum(document))
    assert any("were not there" in answer or "in one digit" in answer for answer in answers) or len(answers) == 5
