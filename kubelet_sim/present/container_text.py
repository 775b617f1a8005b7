"""What there is to say about a container, for eyes and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.model.plain import plain
from kubelet_sim.present.documents import spec_document
from kubelet_sim.present.tables import table_text

if TYPE_CHECKING:
    from kubelet_sim.container.config import Origin
    from kubelet_sim.container.explanation import Explanation
    from kubelet_sim.container.observed_container import Comparison
    from kubelet_sim.model.response import ContainerSpec
    from kubelet_sim.node.oci.oci_runtime import ContainerRun

_LONGEST_VALUE = 200
_LONGEST_OUTPUT = 100_000


_TITLES = {
    "env": "Environment",
    "mount": "Mounts",
    "device": "Devices",
    "annotation": "Annotations",
    "CDI device": "CDI devices",
}


def granted(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What plugins add to a container, each as a word for its kind and a text; from the document of a spec or an answer."""
    yield from (("env", f"{name}={value}") for name, value in document["envs"].items())
    for each in document["mounts"]:
        yield "mount", f"{each['host_path']} -> {each['container_path']} ({'ro' if each['read_only'] else 'rw'})"
    for each in document["devices"]:
        permissions = each["permissions"] or "no permissions"
        yield "device", f"{each['host_path']} -> {each['container_path']} ({permissions})"
    yield from (("annotation", f"{name}: {value}") for name, value in document["annotations"].items())
    yield from (("CDI device", name) for name in document["cdi_devices"])


def spec_text(spec: ContainerSpec) -> str:
    """A container spec for eyes, a section for each of its parts that has anything."""
    lines = []
    for kind, entries in groupby(granted(spec_document(spec)), key=lambda each: each[0]):
        lines += [f"{_TITLES[kind]}:", *(f"  {escape_terminal(text)}" for _, text in entries)]
    return "\n".join(lines) or "Nothing: no device plugin had a say in this container."


def explanation_text(explanation: Explanation) -> str:
    """Sections: every entry with its origin, what was dropped, what is not simulated, what would go wrong."""
    rows = [
        [
            each.part,
            cut(each.key, _LONGEST_VALUE),
            cut(each.value, _LONGEST_VALUE),
            str(each.origin),
            _rules(each.origin),
        ]
        for each in explanation.entries
    ]
    sections = [table_text(["PART", "KEY", "VALUE", "FROM", "RULES"], rows)]
    notes = [f"{each.key}: {each.origin.note}" for each in explanation.entries if each.origin.note]
    dropped = [
        f"{each.part} {each.key} = {cut(each.value, _LONGEST_VALUE)} from {each.origin}: {each.why}"
        for each in explanation.lost
    ]
    missing = [f"{each.what}: {each.why}" for each in explanation.not_simulated]
    remarks = [
        f"{each.severity.value}: {each.part} {each.key}: {each.text}{_by(each.origin)}{_in_brackets(each.rules)}"
        for each in explanation.remarks
    ]
    if explanation.refused:
        remarks.insert(0, f"error: {explanation.refused}")
    for title, lines in (
        ("Dropped", dropped),
        ("Notes", notes),
        ("Not simulated", missing),
        ("What a runtime would say", remarks or ["nothing"]),
    ):
        if lines:
            sections.append("\n".join([f"{title}:", *(f"  {escape_terminal(line)}" for line in lines)]))
    return "\n\n".join(sections)


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """The explanation of a container as plain values, for programs."""
    return {
        "entries": [
            {"part": each.part, "key": each.key, "value": each.value, **_origin(each.origin)}
            for each in explanation.entries
        ],
        "dropped": [
            {
                "part": each.part,
                "key": each.key,
                "value": each.value,
                **_origin(each.origin),
                "why": each.why,
                "conflict": each.is_conflict,
            }
            for each in explanation.lost
        ],
        "notSimulated": [{"what": each.what, "why": each.why} for each in explanation.not_simulated],
        "remarks": [
            {
                "severity": each.severity.value,
                "part": each.part,
                "key": each.key,
                "text": each.text,
                "from": "" if each.origin is None else str(each.origin),
                "rules": list(each.rules),
            }
            for each in explanation.remarks
        ],
        "refused": explanation.refused,
    }


def seen_text(outcome: ContainerRun, found: Sequence[Comparison], notes: Sequence[str]) -> str:
    """What was granted beside what the container saw, then what the command wrote."""
    rows = [
        [
            "yes" if each.is_as_wanted else "NO",
            each.part,
            cut(each.key, _LONGEST_VALUE),
            cut(each.wanted, _LONGEST_VALUE),
            cut(each.seen, _LONGEST_VALUE) if each.seen else "-",
        ]
        for each in found
    ]
    sections = [
        f"Started by {Path(outcome.runtime).name}.",
        table_text(["THERE", "PART", "KEY", "WANTED", "SEEN"], rows),
        *(escape_terminal(f"note: {note}") for note in notes),
    ]
    if outcome.output.strip():
        lines = outcome.output[:_LONGEST_OUTPUT].splitlines()
        sections.append("\n".join(["Output:", *(f"  {escape_terminal(line)}" for line in lines)]))
    return "\n\n".join(sections)


def seen_document(outcome: ContainerRun, found: Sequence[Comparison], notes: Sequence[str]) -> dict[str, Any]:
    """The same for programs, with every device node and mount that there was."""
    seen = outcome.seen
    return {
        "runtime": outcome.runtime,
        "exitCode": outcome.exit_code,
        "output": outcome.output,
        "compared": [
            {"part": each.part, "key": each.key, "wanted": each.wanted, "seen": each.seen, "there": each.is_as_wanted}
            for each in found
        ],
        "env": {} if seen is None else dict(seen.env),
        "deviceNodes": [] if seen is None else [plain(each) for each in seen.nodes],
        "mounts": [] if seen is None else [plain(each) for each in seen.mounts],
        "notes": list(notes),
    }


def _origin(origin: Origin) -> dict[str, Any]:
    told = {"from": origin.giver.value, "name": origin.name, "rules": list(origin.rules), "note": origin.note}
    return {name: value for name, value in told.items() if value}


def _rules(origin: Origin) -> str:
    return " ".join(origin.rules)


def _by(origin: Origin | None) -> str:
    return "" if origin is None else f" ({origin})"


def _in_brackets(rules: Sequence[str]) -> str:
    return f" [{' '.join(rules)}]" if rules else ""
