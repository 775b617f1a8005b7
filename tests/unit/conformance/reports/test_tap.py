from __future__ import annotations

import json
import re

from kubelet_sim.conformance.reports.tap import described, render
from tests.unit.conformance.reports.samples import ALL, EVERYTHING, GOOD, HOSTILE, report


def test_every_outcome_is_a_point() -> None:
    """Failures are `not ok`; known ones are, too, as TODO; skipped ones say why."""
    lines = render([EVERYTHING]).splitlines()
    assert lines[:2] == ["TAP version 14", f"1..{len(ALL)}"]
    points = [line for line in lines if re.match(r"(not )?ok \d+ - ", line)]
    assert [line.split(":")[0] for line in points] == [
        "ok 1 - reg-passes",
        "not ok 2 - reg-fails",
        "not ok 3 - reg-known",
        "not ok 4 - reg-fixed",
        "ok 5 - law-warns",
        "ok 6 - health-skips",
        "not ok 7 - alloc-breaks",
    ]
    assert points[2].endswith(" # TODO known failure")
    assert " # SKIP needs --break CMD" in points[5]


def test_text_of_others_stays_text() -> None:
    """It makes no line, no directive and no escape sequence of its own."""
    text = render([EVERYTHING])
    assert "\x1b" not in text
    shape = r"TAP version 14|1\.\.\d+|(not )?ok \d+ - .*|  ---|  \.\.\.|  \w+: .*|# .*"
    assert [line for line in text.splitlines() if not re.fullmatch(shape, line)] == []
    assert described("a # TODO\n\\") == "a \\# TODO\\\\n\\\\"


def test_the_diagnosis_can_be_read() -> None:
    """Each value is JSON, which is YAML."""
    block = render([EVERYTHING]).split("  ---\n")[1].split("  ...\n")[0]
    values = {name: json.loads(value) for name, value in (line.strip().split(": ", 1) for line in block.splitlines())}
    assert values["findings"][1]["evidence"]["id"] == HOSTILE
    assert (values["severity"], values["fix"], values["duration_ms"]) == ("error", "Do it otherwise.", 1235)


def test_several_kubelets_are_subtests() -> None:
    """Each has a plan of its own, indented, and a point that says whether the plugin conforms."""
    lines = render([GOOD, report(*ALL, version="v1.24.17")]).splitlines()
    assert lines[1:4] == ["1..2", "# Subtest: kubelet v1.36.2", "    1..2"]
    assert "ok 1 - kubelet v1.36.2" in lines
    assert lines[-1] == "not ok 2 - kubelet v1.24.17"
