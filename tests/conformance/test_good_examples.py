"""The example plugins, which are good: nothing that is said of their calls, answers and settings is worse than an info."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import evolve

from kubelet_sim.conformance import Group, Report, Status, SuiteConfig
from tests.conformance.trial import example, only, told

GROUPS = (Group.PREFERRED, Group.ALLOCATE, Group.SPEC, Group.PRE_START)


@contextmanager
def folder() -> Iterator[Path]:
    """A directory for what a plugin keeps."""
    path = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def judged(config: SuiteConfig) -> Report:
    """The report of these groups, beyond the kubelet as well; nothing in it is bad."""
    report = only(evolve(config, select=tuple(each.name for each in GROUPS), is_beyond=True))
    assert all(each.status in (Status.PASSED, Status.SKIPPED) for each in report.outcomes), told(report)
    return report


def passed(report: Report) -> set[str]:
    """The ids of checks that were made, and found nothing."""
    return {each.check.id for each in report.outcomes if each.status is Status.PASSED}


def test_a_plugin_that_prefers() -> None:
    """The example with NUMA nodes passes every check of preferences that needs no hook."""
    report = judged(example("numa"))
    wanted = {e.check.id for e in report.outcomes if e.check.group is Group.PREFERRED and not e.check.hooks}
    assert passed(report) >= wanted, told(report)


def test_a_plugin_that_resets_devices_passes_every_check_of_pre_start() -> None:
    """The example that resets devices passes every check of PreStartContainer."""
    with folder() as path:
        report = judged(example("pre_start", "--reset-dir", str(path)))
    wanted = {each.check.id for each in report.outcomes if each.check.group is Group.PRE_START}
    assert passed(report) >= wanted, told(report)


def test_a_plugin_with_device_nodes_passes_every_check_of_files() -> None:
    """The example that grants nodes and a mount passes what looks at the files of the host."""
    mount = ("--mount", "/etc:/etc/serial:ro")
    report = judged(example("device_nodes", "--device", "/dev/null", "/dev/zero", "/dev/full", *mount))
    assert passed(report) >= {"spec-host-path-exists", "spec-device-is-device", "spec-symlink-host-path"}, told(report)
    assert passed(report) >= {"alloc-isolated", "alloc-uses-requested-ids"}, told(report)


def test_a_plugin_with_two_resources_passes_what_compares_them() -> None:
    """The example with two resources passes what compares them."""
    assert "spec-cross-resource-conflicts" in passed(judged(example("two_resources")))


def test_a_plugin_that_grants_by_cdi_passes_what_looks_names_up() -> None:
    """The example with a CDI file passes what looks its names up, in the directory that the configuration names."""
    with folder() as path:
        report = judged(evolve(example("cdi", "--cdi-dir", str(path)), cdi_dirs=(path,)))
    assert passed(report) >= {"cdi-name-grammar", "cdi-name-resolvable", "cdi-not-both-channels"}, told(report)


def test_names_in_another_cdi_directory_are_not_found() -> None:
    """Where the spec file is not, names lead nowhere: that is an error."""
    with folder() as path, folder() as other:
        config = evolve(example("cdi", "--cdi-dir", str(path)), cdi_dirs=(other,), select=("cdi-name-resolvable",))
        report = only(config)
    assert [each.status for each in report.outcomes] == [Status.FAILED], told(report)
    assert len(report.outcomes[0].findings) == 4, told(report)


@pytest.mark.parametrize("version, status", [("0.4.0", Status.WARNED), ("0.5.0", Status.PASSED)])
def test_a_digit_needs_a_newer_cdi(version: str, status: Status) -> None:
    """A device name may begin with a digit if its spec file is of CDI 0.5 or later; before that it is a warning."""
    devices = [{"name": f"0-faulty-{number}", "containerEdits": {"env": ["A=b"]}} for number in range(3)]
    document = {"cdiVersion": version, "kind": "faulty.example.com/card", "devices": devices}
    with folder() as path:
        (path / "faulty.json").write_text(json.dumps(document))
        config = evolve(example("faulty", "--fault", "digit-in-cdi-name"), cdi_dirs=(path,))
        report = only(evolve(config, select=("cdi-name-grammar",)))
    assert [each.status for each in report.outcomes] == [status], told(report)


@pytest.mark.parametrize("name", ["env_gpu", "aio"])
def test_a_grant_by_variables_is_told_as_an_info_only(name: str) -> None:
    """Their grant is told of as an info, and as nothing worse."""
    assert "alloc-response-count" in passed(judged(example(name)))


def test_the_host_paths_of_the_configuration_decide() -> None:
    """A mapping of ids that is right passes; one that is wrong is an error for each answer."""
    config = evolve(example("device_nodes", "--device", "/dev/null", "/dev/zero"), select=("alloc-uses-requested-ids",))
    right = {"/dev/null": ("/dev/null",), "/dev/zero": ("/dev/zero",)}
    wrong = {"/dev/null": ("/dev/zero",), "/dev/zero": ("/dev/null",)}
    statuses = [only(evolve(config, host_paths=mapping)).outcomes[0].status for mapping in (right, wrong)]
    assert statuses == [Status.PASSED, Status.FAILED]


def test_what_is_declared_shared_is_no_finding() -> None:
    """Two devices of three with a node in common are a warning, until the configuration says that it is shared."""
    config = evolve(example("faulty", "--fault", "shares-a-node"), select=("alloc-isolated",))
    told_of = only(config)
    declared = only(evolve(config, shared_nodes=("/dev/zero", "/dev/null")))
    assert told_of.outcomes[0].status is Status.WARNED, told(told_of)
    assert declared.outcomes[0].status is Status.PASSED, told(declared)
