from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from kubelet_sim.cli.main import cli
from kubelet_sim.errors import UsageError
from kubelet_sim.profiles import HealthNotices, profile_of
from tests.unit.cli.helpers.test_kubelet_options import OF_1_31, choose

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_gates_of_the_file_are_turned_and_the_flag_goes_before_them(tmp_path: Path) -> None:
    """A node's own file may name gates of any other part of a kubelet; they are told, and nothing else. Rules: DM-154"""
    file = tmp_path / "kubelet.yaml"
    file.write_text(f"{HEAD}featureGates: {{ResourceHealthStatus: true, NodeSwap: true}}\n")
    of_file = choose("--config", str(file))
    assert of_file.node.profile.health_notices is HealthNotices.BLOCK
    assert of_file.notes == (f"{file}: featureGates.NodeSwap has no effect here",)
    of_both = choose("--config", str(file), "--feature-gates", "ResourceHealthStatus=false")
    assert of_both.node.profile.health_notices is HealthNotices.NEVER


def test_a_gate_of_the_file_that_the_release_does_not_have_is_refused(tmp_path: Path) -> None:
    """It concerns devices, so a kubelet of that release would not start with this file. Rules: DM-154"""
    file = tmp_path / "kubelet.yaml"
    file.write_text(f"{HEAD}featureGates: {{ResourceHealthStatus: true}}\n")
    with pytest.raises(UsageError, match=r"unrecognized feature gate: ResourceHealthStatus \(kubelet 1\.30 does not"):
        choose("--config", str(file), node=evolve(OF_1_31, profile=profile_of("1.30")))


@pytest.mark.parametrize("option", ["--config", "--numa-distances"])
def test_a_file_that_is_no_text(option: str, tmp_path: Path) -> None:
    """It is told as for a manifest, with the place."""
    file = tmp_path / "f"
    file.write_bytes(b"a: \xff")
    done = CliRunner().invoke(cli, ["run", "--root", str(tmp_path / "r"), option, str(file)])
    assert (done.exit_code, done.output) == (2, f"error: cannot read {file}: it is no UTF-8 text: byte 3 is 0xff\n")
