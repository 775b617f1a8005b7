from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner, Result

from kubelet_sim.cli.main import cli
from kubelet_sim.profiles import RELEASES
from kubelet_sim.profiles.switch_texts import SWITCHES


def run(*arguments: str) -> Result:
    """`kubelet-sim versions` with these arguments."""
    return CliRunner().invoke(cli, ["versions", *arguments])


def test_the_table_has_every_release() -> None:
    """One line each: what it stands for, whether it was read, and what is new."""
    lines = run().stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(RELEASES)
    (not_read,) = (line for line in lines if line.startswith("1.22 "))
    assert not_read.split()[:3] == ["1.22", "v1.22.x", "no"]
    (rework,) = (line for line in lines if line.startswith("1.25.0 "))
    assert "register_waits_for_plugin: yes" in rework


@pytest.mark.parametrize("form, read", [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_every_switch_and_gate(form: str, read: object) -> None:
    """As plain values, under the names of the switches."""
    documents = read(run("-o", form).stdout)  # type: ignore[operator]
    assert [document["version"] for document in documents] == list(RELEASES)
    by_version = {document["version"]: document for document in documents}
    assert list(by_version["1.36"]["switches"]) == list(SWITCHES)
    assert by_version["1.24"]["switches"]["clients_by"] == "endpoint"
    assert by_version["1.28"]["feature_gates"]["SidecarContainers"] == {
        "stage": "alpha",
        "default": False,
        "locked": False,
    }


def test_the_difference_is_told_in_words() -> None:
    """A sentence and its rules for each switch that moved."""
    lines = run("diff", "1.24", "v1.25.3").stdout.splitlines()
    assert any("a plugin has to serve first" in line and "DM-168" in line for line in lines)
    assert all(line.endswith("]") for line in lines)
    assert (
        run("diff", "v1.36.1", "1.36").stdout == "1.36 and 1.36 do not differ in anything that kubelet-sim follows.\n"
    )


def test_gates_in_another_stage_are_told() -> None:
    """What comes, goes, and changes: with gates at their defaults, 1.28 makes no other difference. Rules: DM-171"""
    lines = run("diff", "1.27", "1.28").stdout.splitlines()
    assert "The feature gate `SidecarContainers` is there: alpha, off. [DM-171 DM-172]" in lines
    gone = "is gone: whoever turns it keeps the kubelet from starting. [DM-169]"
    assert f"The feature gate `DevicePlugins` {gone}" in lines
    assert "The feature gate `KubeletPodResources` is GA, on, locked; it was beta, on. [PR-7]" in lines
    gates = [entry for entry in json.loads(run("diff", "1.27", "1.28", "-o", "json").stdout) if "feature_gate" in entry]
    assert {"before": None, "after": "alpha, off"}.items() <= {entry["feature_gate"]: entry for entry in gates}[
        "SidecarContainers"
    ].items()


def test_the_difference_for_programs() -> None:
    """What each switch was and is."""
    (only,) = json.loads(run("diff", "1.36", "next", "-o", "json").stdout)
    assert (only["switch"], only["before"], only["after"]) == ("clients_by", "resource", "socket")
    assert "DM-180" in only["rules"]


def test_a_release_that_there_is_not() -> None:
    """Misuse, in one line that names those that there are."""
    result = run("diff", "1.24", "1.99")
    assert result.exit_code == 2
    assert "kubelet version '1.99' is not known; choose one of: 1.20" in result.output
