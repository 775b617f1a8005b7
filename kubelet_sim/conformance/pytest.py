"""The suite as tests of a user's own: one pytest test for each check.

    from kubelet_sim.conformance.pytest import conformance_suite

    test_conformance = conformance_suite("./my-plugin", "--socket-dir", "{dir}", skip=("scale",))

The checks that were collected are played in one go, when the first of their tests runs: so they share starts of the plugin as
on the command line. Each test then tells what came of its own. In a run with several workers (pytest-xdist) the first one
plays, the others read what came from a file. The fixtures and options are in `kubelet_sim.pytest_plugin`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    import pytest

    from kubelet_sim.conformance.config import SuiteConfig
    from kubelet_sim.conformance.verdict import Outcome, Report

Case = tuple[str, str]
"""A kubelet version and the id of a check."""


class ConformanceWarning(UserWarning):
    """A check found something that is no error."""


def conformance_suite(*command: str, **choices: Any) -> Callable[..., None]:
    """A test function, to be assigned to a name that pytest collects; it becomes one test for each selected check.

    Args:
        command: the plugin's, as for `kubelet-sim conform`; none if `start` or `attach` is among the choices.
        choices: further fields of `SuiteConfig`: `start=my_plugin` for a plugin in the same process, `select`, `hooks`,
            `kubelet_versions`, and so on.

    Raises:
        UsageError: when the tests are collected, for choices that cannot be.
    """
    suite = PytestSuite(command, choices)

    def test_conformance(request: pytest.FixtureRequest, kubelet_sim_case: Case) -> None:
        """The plugin does what a kubelet asks of it."""
        suite.test(request, kubelet_sim_case)

    test_conformance.kubelet_sim_suite = suite  # type: ignore[attr-defined]
    return test_conformance


@frozen
class CaseOutcome:
    """What a test says of its check: texts only, so that it can be read by another process."""

    mark: str
    text: str
    warnings: list[str] = field(factory=list)
    sections: list[list[str]] = field(factory=list)
    """Heads and texts that are shown with a failure."""


class PytestSuite:
    """The choices, and what came of the checks once they were played."""

    def __init__(self, command: tuple[str, ...], choices: dict[str, Any]) -> None:
        self._command = command
        self._choices = choices
        self._told: dict[Case, CaseOutcome] | None = None
        self._trouble = ""

    def cases(self, versions: Sequence[str]) -> list[Case]:
        """Every selected check on every kubelet; `versions` where the choices name none."""
        from kubelet_sim.conformance import suite  # noqa: F401 - brings the checks
        from kubelet_sim.conformance.check import in_order
        from kubelet_sim.conformance.selection import selected
        from kubelet_sim.profiles import profile_of

        config = self._config(versions)
        config.check()
        checks = selected(in_order(), config)
        return [(profile_of(each).version, check.id) for each in config.kubelet_versions for check in checks]

    def test(self, request: pytest.FixtureRequest, case: Case) -> None:
        """Say what came of the check; the first call plays all that the session has collected."""
        import pytest

        if self._told is None and not self._trouble:
            self._fetch(request)
        if self._trouble:
            pytest.fail(self._trouble, pytrace=False)
        told = (self._told or {}).get(case)
        if told is None:
            pytest.fail("the suite ended before this check was made", pytrace=False)
        for text in told.warnings:
            if request.config.getoption("kubelet_sim_strict"):
                pytest.fail(told.text, pytrace=False)
            warnings.warn(ConformanceWarning(text), stacklevel=2)
        if told.mark in ("fail", "broken", "fixed"):
            for head, text in told.sections:
                request.node.add_report_section("call", head, text)
            pytest.fail(told.text, pytrace=False)
        if told.mark == "skip":
            pytest.skip(told.text)
        if told.mark == "known":
            pytest.xfail(f"a known failure: {told.text}")

    def _config(self, versions: Sequence[str]) -> SuiteConfig:
        from kubelet_sim.conformance.config import SuiteConfig

        named = {"kubelet_versions": tuple(versions)} if versions else {}
        return SuiteConfig(**{"command": self._command, **named, **self._choices})

    def _fetch(self, request: pytest.FixtureRequest) -> None:
        """Play, or take what another worker has played; only one of them does, the others wait for it."""
        folder: Path = request.getfixturevalue("tmp_path_factory").getbasetemp()
        if hasattr(request.config, "workerinput"):
            folder = folder.parent  # what the workers share
        name = hashlib.sha256(request.node.nodeid.partition("[")[0].encode()).hexdigest()[:16]
        file = folder / f"kubelet-sim-{name}.json"
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                from kubelet_sim.text_files import replace

                replace(file, json.dumps(self._play(self._collected(request))).encode())
        found = json.loads(file.read_text(encoding="utf-8"))
        self._trouble = found["trouble"]
        self._told = {(version, id_): CaseOutcome(**told) for version, id_, told in found["told"]}

    def _collected(self, request: pytest.FixtureRequest) -> list[Case]:
        """Those of our tests that nobody has deselected, in their order."""
        ours = [item for item in request.session.items if _suite_of(item) is self]
        return list(dict.fromkeys(item.callspec.params["kubelet_sim_case"] for item in ours))  # type: ignore[attr-defined]

    def _play(self, cases: Sequence[Case]) -> dict[str, Any]:
        from kubelet_sim.conformance.suite import run
        from kubelet_sim.errors import KubeletSimError
        from kubelet_sim.foreign import escape_lines

        told: list[tuple[str, str, dict[str, Any]]] = []
        for version in dict.fromkeys(version for version, _ in cases):
            ids = tuple(id_ for each, id_ in cases if each == version)
            choices = {**self._choices, "select": ids, "skip": (), "kubelet_versions": (version,)}
            try:
                from kubelet_sim.conformance.config import SuiteConfig

                (report,) = run(SuiteConfig(**{"command": self._command, **choices}))
            except KubeletSimError as error:
                return {"trouble": escape_lines(str(error)), "told": []}
            if why := _why_untested(report):
                return {"trouble": escape_lines(why), "told": []}
            told += [(version, each.check.id, _told(report, each)) for each in report.outcomes]
        return {"trouble": "", "told": told}


def _why_untested(report: Report) -> str:
    """Why nothing came of any check, if that is the plugin: tests that are all skipped would look as if it were well."""
    reasons = (each.reason for each in report.outcomes if each.reason.endswith("see reg-happens"))
    if report.could_run or report.bad or (reason := next(reasons, None)) is None:
        return ""
    return f"the plugin could not be tested: {'; '.join(report.notes) or reason}"


def _suite_of(item: pytest.Item) -> object:
    return getattr(getattr(item, "function", None), "kubelet_sim_suite", None)


def _told(report: Report, outcome: Outcome) -> dict[str, Any]:
    """A `CaseOutcome` as JSON; text of others is made harmless here, since it goes to a terminal and into JUnit files."""
    from kubelet_sim.conformance.check import Level
    from kubelet_sim.conformance.reports.report_text import account, mark_of
    from kubelet_sim.foreign import escape_lines, escape_terminal
    from kubelet_sim.present.record_lines import record_line

    mark = mark_of(report, outcome).value
    text = outcome.reason if mark == "skip" else "\n".join((f"{outcome.check.title}: no", *account(report, outcome)))
    sections = [
        ["kubelet-sim transcript", "\n".join(escape_terminal(record_line(each)) for each in outcome.records)],
        ["plugin output", "\n".join(map(escape_terminal, outcome.output))],
    ]
    found = [each.text for each in outcome.findings if each.level is Level.WARNING] if mark == "warn" else []
    return {
        "mark": mark,
        "text": escape_lines(text),
        "warnings": [f"{outcome.check.id}: {escape_terminal(each)}" for each in found],
        "sections": [each for each in sections if each[1]],
    }
