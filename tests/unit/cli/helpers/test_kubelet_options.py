from __future__ import annotations

from pathlib import Path

import click
import pytest
from attrs import evolve
from click.testing import CliRunner

from kubelet_sim.cli.helpers.kubelet_options import ChosenKubelet, chosen, kubelet_options
from kubelet_sim.errors import UsageError
from kubelet_sim.node.config import NodeConfig
from kubelet_sim.profiles import Cdi, HealthNotices, profile_of

OF_1_31 = NodeConfig(root=Path("/r"), profile=profile_of("1.31"))


def choose(*arguments: str, node: NodeConfig = OF_1_31) -> ChosenKubelet:
    """What these options come to. Raises the options' own errors."""
    found: list[ChosenKubelet] = []

    @click.command()
    @kubelet_options
    def command(**options: object) -> None:
        found.append(chosen(node, **options))  # type: ignore[arg-type]  # click's, by these names

    CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    return found[0]


@pytest.mark.parametrize("truth", ["true", "True", "t", "1", "TRUE"])
def test_a_gate_is_turned_by_the_flag(truth: str) -> None:
    """In the release that was chosen, with the words for it that a kubelet takes. Rules: DM-154, DM-174"""
    assert choose().node.profile.health_notices is HealthNotices.NEVER
    turned = choose("--feature-gates", f"ResourceHealthStatus={truth}").node.profile
    assert turned == evolve(OF_1_31.profile, health_notices=HealthNotices.BLOCK)


@pytest.mark.parametrize("falsehood", ["false", "F", "0"])
def test_a_gate_is_turned_off_by_the_flag(falsehood: str) -> None:
    """Several may be named at once. Rules: DM-172, DM-133"""
    older = evolve(OF_1_31, profile=profile_of("1.30"))
    gates = f"DevicePluginCDIDevices={falsehood}, SidecarContainers=true"
    assert choose("--feature-gates", gates, node=older).node.profile.cdi is Cdi.NEVER


@pytest.mark.parametrize(
    "gates, text",
    [
        ("ResourceHealthStatus", "'ResourceHealthStatus' is no NAME=VALUE"),
        ("ResourceHealthStatus=yes", "invalid value of ResourceHealthStatus=yes: neither true nor false"),
        ("ResourceHealthStatus=", "invalid value of ResourceHealthStatus=: neither true nor false"),
    ],
)
def test_a_flag_that_says_nothing_clear_is_refused(gates: str, text: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(click.BadParameter) as refusal:
        choose("--feature-gates", gates)
    assert text in refusal.value.message


def test_a_flag_names_known_gates() -> None:
    """One that the release does not have ends the start, in the kubelet's words. Rules: DM-154"""
    with pytest.raises(UsageError, match="unrecognized feature gate: NodeSwap"):
        choose("--feature-gates", "NodeSwap=true")


def test_a_flag_without_effect_is_told() -> None:
    """The gate is there, and nothing that is emulated depends on it."""
    assert choose("--feature-gates", "DynamicResourceAllocation=true").notes == (
        "--feature-gates: DynamicResourceAllocation has no effect here",
    )
