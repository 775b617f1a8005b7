"""What `checkpoint show` and `checkpoint verify` say: as plain data for JSON and YAML, and text for eyes made of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubelet_sim.core.checkpoint_file.diagnosis import OLD_FORMAT, Diagnosis, meaning
from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.plain import plain
from kubelet_sim.present.container_text import granted
from kubelet_sim.present.tables import table_text
from kubelet_sim.wire.messages import decode_container_response

Document = Mapping[str, Any]

_MOST_IDS = 40
_HEADER = ("POD UID", "CONTAINER", "RESOURCE", "NUMA", "DEVICES", "ALLOCATE ANSWER")
_PARTS = (
    ("envs", "env"),
    ("mounts", "mount"),
    ("devices", "device node"),
    ("annotations", "annotation"),
    ("cdi_devices", "CDI device"),
)


def show_document(
    name: str, diagnosis: Diagnosis, *, pod: str | None = None, resource: str | None = None
) -> dict[str, Any]:
    """The content of the file by pod, container and resource, in the order of the file; null stays null.

    Args:
        name: what to call the file.
        diagnosis: one with a document.
        pod: of whom alone, by uid; the registered resources are left out then.
        resource: of which resource alone.

    Rules: CP-5, CP-15, DM-138, DM-145
    """
    content = diagnosis.document or CheckpointDocument()
    pods: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for entry in content.entries or ():
        if pod in {None, entry.pod_uid} and resource in {None, entry.resource}:
            pods.setdefault(entry.pod_uid, {}).setdefault(entry.container, []).append(_allocation(entry))
    registered = {} if pod is not None else content.registered or {}
    return {
        "file": name,
        "checksum": _checksum(diagnosis),
        "pods": [
            {
                "uid": uid,
                "containers": [{"name": container, "resources": held} for container, held in containers.items()],
            }
            for uid, containers in pods.items()
        ],
        "registered": [
            {"resource": known, "healthy_ids": _list(ids)}
            for known, ids in sorted(registered.items())
            if resource in {None, known}
        ],
        "for_a_kubelet": _meaning(content) if diagnosis.fits else [_not_used(), *_meaning(content, "if it fitted: ")],
        "notes": [*([OLD_FORMAT] if diagnosis.is_old_format else []), *diagnosis.notes],
    }


def verify_document(name: str, diagnosis: Diagnosis) -> dict[str, Any]:
    """Whether the file fits, and what is known of its damage. Rules: CP-13, DM-143, DM-144"""
    is_document = diagnosis.document is not None
    return {
        "file": name,
        "fits": diagnosis.fits,
        "checksum": _checksum(diagnosis) if is_document else None,
        "damage": diagnosis.damage,
        "place": None
        if diagnosis.line is None
        else {"line": diagnosis.line, "column": diagnosis.column, "path": diagnosis.path},
        "format": OLD_FORMAT if diagnosis.is_old_format else None,
        "notes": list(diagnosis.notes),
        "fits_if": list(diagnosis.fits_if),
    }


def _checksum(diagnosis: Diagnosis) -> dict[str, Any]:
    return {"stored": diagnosis.stored, "computed": diagnosis.computed, "fits": diagnosis.is_right}


def _allocation(entry: CheckpointEntry) -> dict[str, Any]:
    devices = [{"numa_node": node, "ids": _list(ids)} for node, ids in sorted((entry.devices or {}).items())]
    return {"resource": entry.resource, "devices": devices, "allocate_answer": _answer(entry.allocate_response)}


def _answer(raw: bytes | None) -> dict[str, Any] | None:
    """What the plugin answered, `error` alone for what cannot be decoded, null for null. Rules: DM-145, CP-18"""
    if raw is None:
        return None
    try:
        answer: dict[str, Any] = plain(decode_container_response(raw))
    except ValueError as failure:
        return {"error": str(failure), "bytes": len(raw)}
    del answer["raw"]
    return answer


def _list(ids: tuple[str, ...] | None) -> list[str] | None:
    return None if ids is None else list(ids)


def _not_used() -> dict[str, Any]:
    text = "nothing is restored: a kubelet starts empty, and its next write replaces the file"
    return {"rule": "DM-143", "text": text, "is_warning": True}


def _meaning(document: CheckpointDocument, before: str = "") -> list[Mapping[str, Any]]:
    said = [plain(each) for each in meaning(document, decode_container_response)]
    return [{**each, "text": f"{before}{each['text']}"} for each in said]


def show_text(document: Document, *, wide: bool = False) -> str:
    """The content as tables, then what a kubelet makes of it. Wide: every id, and the answers in full."""
    sections = []
    rows = [row for pod in document["pods"] for row in _pod_rows(pod, wide=wide)]
    sections.append(table_text(_HEADER, rows) if rows else "No allocations.")
    if document["registered"]:
        header = ("REGISTERED RESOURCE", "HEALTHY", "IDS")
        registered = [
            (each["resource"], _count(each["healthy_ids"]), _ids(each["healthy_ids"], wide=wide))
            for each in document["registered"]
        ]
        sections.append(table_text(header, registered))
    if wide and (answers := list(_answers(document["pods"]))):
        sections.append("\n".join(["Allocate answers:", *answers]))
    checksum = document["checksum"]
    notes = [f"Checksum {checksum['stored']} {_verdict(checksum)}.", *map(escape_terminal, document["notes"])]
    notes.append("For a kubelet:")
    notes += ["  " + escape_terminal(cut(f"{each['text']} [{each['rule']}]")) for each in document["for_a_kubelet"]]
    sections.append("\n".join(notes))
    return "\n\n".join(sections)


def verify_text(document: Document) -> str:
    """Whether a kubelet would believe the file, and what is known of its damage, in a few lines."""
    checksum, place = document["checksum"], document["place"]
    lines = []
    if document["fits"]:
        lines.append(f"{document['file']}: good, the checksum is {checksum['stored']}")
    elif checksum is not None and not document["format"]:
        lines.append(f"{document['file']}: corrupt: checkpoint is corrupted [CP-13, DM-143]")
        lines += [f"  stored:   {checksum['stored']}", f"  expected: {checksum['computed']} for the data as it is"]
    else:
        lines += [f"{document['file']}: unreadable [CP-12, DM-143]", f"  {document['damage']}"]
        if checksum is not None:
            lines.append(f"  the checksum {checksum['stored']} {_verdict(checksum)}")
    if place is not None:
        path = "" if place["path"] is None else f", {place['path']}"
        lines.append(f"  place: line {place['line']}, column {place['column']}{path}")
    lines += [f"  {text}" for text in ([document["format"]] if document["format"] else []) + document["notes"]]
    lines += [f"  the checksum fits if {each}" for each in document["fits_if"]]
    if checksum is not None and not checksum["fits"] and not document["fits_if"]:
        lines.append(
            "  no single change was found that makes it fit: more than one thing is different, or a lot is missing"
        )
    return "\n".join(escape_terminal(cut(line)) for line in lines)


def _verdict(checksum: Document) -> str:
    return "fits" if checksum["fits"] else f"does not fit: the data has {checksum['computed']}"


def damage_text(diagnosis: Diagnosis) -> str:
    """Why a file could not be read, on one line."""
    place = "" if diagnosis.path is None else f" (line {diagnosis.line}, column {diagnosis.column})"
    return f"{diagnosis.damage}{place}{f'; {OLD_FORMAT}' if diagnosis.is_old_format else ''}"


def _pod_rows(pod: Document, *, wide: bool) -> Iterator[tuple[str, ...]]:
    """A row for each NUMA node of each resource; what stands above is not repeated."""
    for container in pod["containers"]:
        for held in container["resources"]:
            first = (pod["uid"], container["name"], held["resource"])
            answer = _summary(held["allocate_answer"])
            devices = held["devices"] or [{"numa_node": "", "ids": None}]
            for number, each in enumerate(devices):
                before, behind = (("", "", ""), "") if number else (first, answer)
                yield *before, str(each["numa_node"]), _ids(each["ids"], wide=wide), behind


def _ids(ids: Sequence[str] | None, *, wide: bool) -> str:
    if ids is None:
        return "null"
    shown = ids if wide else ids[:_MOST_IDS]
    more = f", … and {len(ids) - len(shown)} more" if len(ids) > len(shown) else ""
    return ", ".join(shown) + more


def _count(ids: Sequence[str] | None) -> str:
    return "null" if ids is None else str(len(ids))


def _summary(answer: Document | None) -> str:
    if answer is None:
        return "null"
    if "error" in answer:
        return f"cannot be decoded: {answer['error']}"
    counted = [(len(answer[part]), name) for part, name in _PARTS]
    return ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counted if n) or "nothing to set"


def _answers(pods: Sequence[Document]) -> Iterator[str]:
    for pod in pods:
        for container in pod["containers"]:
            for held in container["resources"]:
                answer = held["allocate_answer"]
                if answer and "error" not in answer:
                    lines = [f"    {escape_terminal(cut(f'{kind:<11} {text}'))}" for kind, text in granted(answer)]
                    whose = f"{pod['uid']} {container['name']} {held['resource']}"
                    yield from [f"  {escape_terminal(whose)}", *(lines or ["    nothing to set"])]
