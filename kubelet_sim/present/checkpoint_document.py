"""What `checkpoint show` and `checkpoint verify` say, as plain data: the form of their JSON and YAML, and what text is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubelet_sim.core.checkpoint_file.diagnosis import OLD_FORMAT, Diagnosis, meaning
from kubelet_sim.model.checkpoint import CheckpointDocument, CheckpointEntry
from kubelet_sim.model.plain import plain
from kubelet_sim.wire.messages import decode_container_response

Document = dict[str, Any]


def show_document(name: str, diagnosis: Diagnosis, *, pod: str | None = None, resource: str | None = None) -> Document:
    """The content of the file by pod, container and resource, in the order of the file; null stays null.

    Args:
        name: what to call the file.
        diagnosis: one with a document.
        pod: of whom alone, by uid; the registered resources are left out then.
        resource: of which resource alone.

    Rules: CP-5, CP-15, DM-138, DM-145
    """
    content = diagnosis.document or CheckpointDocument()
    pods: dict[str, dict[str, list[Document]]] = {}
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


def verify_document(name: str, diagnosis: Diagnosis) -> Document:
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


def _checksum(diagnosis: Diagnosis) -> Document:
    return {"stored": diagnosis.stored, "computed": diagnosis.computed, "fits": diagnosis.is_right}


def _allocation(entry: CheckpointEntry) -> Document:
    devices = [{"numa_node": node, "ids": _list(ids)} for node, ids in sorted((entry.devices or {}).items())]
    return {"resource": entry.resource, "devices": devices, "allocate_answer": _answer(entry.allocate_response)}


def _answer(raw: bytes | None) -> Document | None:
    """What the plugin answered, `error` alone for what cannot be decoded, null for null. Rules: DM-145, CP-18"""
    if raw is None:
        return None
    try:
        answer: Document = plain(decode_container_response(raw))
    except ValueError as failure:
        return {"error": str(failure), "bytes": len(raw)}
    del answer["raw"]
    return answer


def _list(ids: tuple[str, ...] | None) -> list[str] | None:
    return None if ids is None else list(ids)


def _not_used() -> Document:
    text = "nothing is restored: a kubelet starts empty, and its next write replaces the file"
    return {"rule": "DM-143", "text": text, "is_warning": True}


def _meaning(document: CheckpointDocument, before: str = "") -> list[Mapping[str, Any]]:
    said = [plain(each) for each in meaning(document, decode_container_response)]
    return [{**each, "text": f"{before}{each['text']}"} for each in said]
