"""What is the matter with a checkpoint file, for people: where it is damaged, and what a kubelet would make of it.

Judged from the bytes alone, without a node. What the kubelet itself does with such a file is `decoder` and
`checkpoint`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from attrs import evolve, frozen

from kubelet_sim.core.checkpoint_file.decoder import parse
from kubelet_sim.core.checkpoint_file.document_text import checksum
from kubelet_sim.core.checkpoint_file.json_place import line_and_column, position
from kubelet_sim.core.checkpoint_file.repairs import repairs
from kubelet_sim.errors import CheckpointUnreadable
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry

OLD_FORMAT = (
    "this is the format of kubelets before 1.20, where DeviceIDs is a plain list: kubelets from 1.22 to 1.30 still read it, "
    "1.20, 1.21 "
    "and later ones do not and start without it"
)
"""Rules: DM-144"""
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Any escape: group 1 begins a character, 2 ends it, 3 is the end of one that did not begin."""


@frozen
class Diagnosis:
    """What was found. Without `document` the file could not be read at all, and `damage` says why."""

    document: CheckpointDocument | None = None
    stored: int = 0
    computed: int = 0
    damage: str = ""
    path: str | None = None
    """Of the value that is damaged, if the file is JSON."""
    line: int | None = None
    column: int | None = None
    is_old_format: bool = False
    notes: tuple[str, ...] = ()
    """What reading has changed, which the checksum shows. Rules: CP-7, CP-11"""
    fits_if: tuple[str, ...] = ()
    """Changes that would make the checksum fit, each as what goes on after `the checksum fits if`."""

    @property
    def is_right(self) -> bool:
        """Whether the checksum is that of the data, in whichever format. Rules: CP-13, DM-144"""
        return self.document is not None and self.stored == self.computed

    @property
    def fits(self) -> bool:
        """Whether a kubelet of today believes the file. Rules: CP-13, DM-144"""
        return self.is_right and not self.is_old_format


def diagnose(data: bytes) -> Diagnosis:
    """Look at a whole file.

    Rules: CP-9, CP-11, CP-12, CP-13, DM-139, DM-142, DM-144
    """
    text = data.decode("utf-8", "surrogateescape")
    try:
        document, stored = parse(data)
    except CheckpointUnreadable as failure:
        return _unreadable(data, text, failure)
    computed = checksum(document)
    return Diagnosis(
        document,
        stored,
        computed,
        damage="" if stored == computed else "the checksum is not that of the data",
        notes=tuple(_notes(text)),
        fits_if=() if stored == computed else repairs(document, stored, computed),
    )


def _unreadable(data: bytes, text: str, failure: CheckpointUnreadable) -> Diagnosis:
    line, column = failure.line, failure.column
    if failure.path is not None and (place := line_and_column(text, failure.path)) is not None:
        line, column = place
    found = Diagnosis(damage=failure.cause, path=failure.path, line=line, column=column)
    try:
        document, stored = parse(data, is_before_1_20=True)
    except CheckpointUnreadable:
        return found
    computed = checksum(document, is_before_1_20=True)
    notes = tuple(_notes(text))
    return evolve(found, document=document, stored=stored, computed=computed, is_old_format=True, notes=notes)


def _notes(text: str) -> Iterator[str]:
    bytes_at = [match.start() for match in _NOT_UTF8.finditer(text)]
    for what, places in (
        ("a byte is not UTF-8", bytes_at),
        ("an escape is half a character", [*_lone_surrogates(text)]),
    ):
        if places:
            line, column = position(text, places[0])
            times = "" if len(places) == 1 else f" ({len(places)} times)"
            yield f"{what} and read as U+FFFD{times}: line {line}, column {column}"


def _lone_surrogates(text: str) -> Iterator[int]:
    for match in _ESCAPE.finditer(text):
        if match[3] or (match[1] and not match[2]):
            yield match.start()


# -------------------------------------------------------------------------------------------------- what it comes to


@frozen
class Meaning:
    """What a kubelet makes of an entry, a resource or the whole: a rule, and a sentence."""

    rule: str
    text: str
    is_warning: bool = True


def meaning(document: CheckpointDocument, decode: Callable[[bytes], object]) -> tuple[Meaning, ...]:
    """What a kubelet would restore from the document, if its checksum fits, and what is odd about it.

    Args:
        document: what the file says.
        decode: reads an Allocate answer; raises `ValueError` for bytes that are none.

    Rules: CP-6, CP-15, CP-16, DM-145
    """
    restored: dict[tuple[str, str, str], CheckpointEntry] = {}
    found: list[Meaning] = []
    for number, entry in enumerate(document.entries or ()):
        key = entry.pod_uid, entry.container, entry.resource
        whose = f"entry {number} (pod {entry.pod_uid}, container {entry.container}, {entry.resource})"
        if entry.allocate_response is None:
            found.append(Meaning("CP-6", f"{whose} has no Allocate answer: no kubelet writes that, but each reads it"))
        try:
            decode(entry.allocate_response or b"")
        except ValueError as failure:
            found.append(Meaning("DM-145", f"{whose} is left out: its Allocate answer cannot be decoded: {failure}"))
            continue
        if key in restored:
            found.append(Meaning("DM-145", f"{whose} takes the place of an earlier entry of the same container"))
        restored[key] = entry
    known = set(document.registered or ())
    found += _unregistered(restored, known)
    found += _shared(restored)
    pods = {uid for uid, _, _ in restored}
    whole = f"restored: {_count(len(restored), 'allocation')} of {_count(len(pods), 'pod')}; {_count(len(known), 'resource')}"
    late = " without devices until their plugins are back, removed after 5 minutes without them" if known else ""
    return (Meaning("DM-145", whole + late, is_warning=False), *found)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _unregistered(restored: dict[tuple[str, str, str], CheckpointEntry], known: set[str]) -> Iterator[Meaning]:
    for resource in sorted({resource for _, _, resource in restored} - known):
        text = (
            f"{resource} is in entries only: it counts as allocated, but not as registered, and nobody gets more of it"
        )
        yield Meaning("CP-16", f"{text} until its plugin registers")


def _shared(restored: dict[tuple[str, str, str], CheckpointEntry]) -> Iterator[Meaning]:
    holders: dict[tuple[str, str], set[str]] = {}
    for (uid, _, resource), entry in restored.items():
        for ids in (entry.devices or {}).values():
            for device in ids or ():
                holders.setdefault((resource, device), set()).add(uid)
    for (resource, device), uids in sorted(holders.items()):
        if len(uids) > 1:
            yield Meaning("DM-145", f"{resource}: {device} is held by {len(uids)} pods: {', '.join(sorted(uids))}")
