"""What people are told of a check: the same for `kubelet-sim explain`, the pages of the documentation, and whoever asks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby

from kubelet_sim.conformance.check import Check, Level, Need, Stage
from kubelet_sim.present.rule_text import WIDTH, paragraph
from kubelet_sim.profiles import RELEASES
from kubelet_sim.rules import RULES

LEVELS = {
    Level.ERROR: "an error: it breaks on a real kubelet",
    Level.WARNING: "a warning: it works, and surprises",
    Level.INFO: "information: it is reported only",
}
NEEDS = {
    Need.BLACK_BOX: "nothing but the plugin's sockets",
    Need.HOOK: "a command that changes the plugin's surroundings",
    Need.PROCESS: "the plugin's process",
    Need.FILES: "the files that the plugin sees",
    Need.SECOND: "a second instance, or a second resource",
    Need.CONSUMER: "a consumer of the pod resources API",
}
STAGES = {
    Stage.SHARED: "the plugin that most checks share",
    Stage.RESTARTS: "a plugin that all such checks share, while kubelets restart",
    Stage.OWN: "an instance of its own",
}


def facts(check: Check) -> Iterator[tuple[str, str]]:
    """Names and short texts: level, group, needs, on which instance, on which kubelets, in which sets."""
    yield "level", LEVELS[check.level]
    yield "group", check.group.value
    yield "needs", needs(check)
    yield "uses", STAGES[check.stage]
    yield "kubelets", kubelets(check)
    yield "runs", "with --beyond only: no kubelet does this" if check.is_beyond else _sets(check)


def sections(check: Check) -> Iterator[tuple[str, str]]:
    """Heads and paragraphs: what, why, how to fix it, where that comes from."""
    yield "What is checked", check.what
    yield "Why it matters, and how it fails on a node", check.why
    yield "How to fix it", check.fix
    yield "Source", f"{check.source[:1].upper()}{check.source[1:]}."


def check_text(check: Check) -> str:
    """All of it for eyes, with the sentences of its rules."""
    return "\n".join(_lines(check))


def _lines(check: Check) -> Iterator[str]:
    yield f"{check.id}: {check.title}"
    for name, text in facts(check):
        yield from paragraph(name, text)
    for head, text in sections(check):
        yield from ("", head)
        yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
    if check.rules:
        yield from ("", "Rules of the kubelet")
    for rule in check.rules:
        yield from paragraph(rule, RULES[rule].sentence)


def needs(check: Check) -> str:
    """What it cannot do without, in words; options of the command line by their names."""
    named = [NEEDS[need] for need in Need if need in check.needs and not (need is Need.HOOK and check.hooks)]
    named += [f"--{name} CMD" for name in check.hooks]
    if len(named) > 1 and NEEDS[Need.BLACK_BOX] in named:
        named.remove(NEEDS[Need.BLACK_BOX])
    return ", ".join(named)


def kubelets(check: Check) -> str:
    """The releases to which it applies: `all`, or runs such as `1.20 to 1.24, next`; `none` if there is none."""
    runs = []
    for applies, some in groupby(RELEASES.values(), key=check.applies):
        versions = [profile.version for profile in some]
        if applies:
            runs.append(versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}")
            if len(versions) == len(RELEASES):
                return "all"
    return ", ".join(runs) or "none"


def _sets(check: Check) -> str:
    return "always, with --quick too" if check.is_quick else "always but with --quick"
