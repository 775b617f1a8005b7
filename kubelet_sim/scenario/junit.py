"""What became of stories as JUnit XML, which every build server reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kubelet_sim.scenario.checking import Outcome

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""


def junit_text(outcomes: Sequence[Outcome]) -> str:
    """One suite with a case for each story, in order; a story whose node cannot be is skipped."""
    suite = ET.Element("testsuite", name="kubelet-sim scenario")
    counts = {"failures": 0, "skipped": 0}
    for outcome in outcomes:
        story = outcome.story
        case = ET.SubElement(suite, "testcase", name=_clean(story.name), classname=_clean(story.source or "story"))
        case.set("time", f"{outcome.duration_s:.3f}")
        if outcome.is_passed:
            continue
        kind = "failure" if outcome.is_playable else "skipped"
        counts["failures" if kind == "failure" else "skipped"] += 1
        text = _clean(outcome.text())
        told = ET.SubElement(case, kind, message=text.partition("\n")[0])
        told.text = text
    suite.set("tests", str(len(outcomes)))
    suite.set("errors", "0")
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", f"{sum(outcome.duration_s for outcome in outcomes):.3f}")
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
