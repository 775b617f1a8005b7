from __future__ import annotations

from typing import Any

import click
import pytest
from attrs import evolve

from kubelet_sim.cli.helpers import completions as completing
from kubelet_sim.model.views import PodView
from tests.unit.present.snapshots import SNAPSHOT


def context(**params: Any) -> click.Context:
    """A command line that is being typed."""
    ctx = click.Context(click.Command("x"))
    ctx.params = params
    return ctx


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that answers."""
    odd = PodView("x;rm -rf $HOME", "default", "u", "Running")
    snapshot = evolve(SNAPSHOT, pods=(*SNAPSHOT.pods, odd))
    monkeypatch.setattr(completing, "_snapshot", lambda _: snapshot)


ARGUMENT = click.Argument(["name"])


@pytest.mark.parametrize(
    "kind, incomplete, expected",
    [
        ("pods", "", ["a", "c", "other/b"]),
        (("pods", ""), "", ["a", "c", "other/b"]),
        ("events", "o", ["other/b"]),
        ("resources", "", ["example.com/gpu", "example.com/none"]),
        ("plugin", "example.com/g", ["example.com/gpu"]),
    ],
)
def test_names_of_the_node(node: None, kind: object, incomplete: str, expected: list[str]) -> None:
    """Pods or resources, as the kind wants; a name that a shell might obey is none."""
    assert completing.object_names(context(kind=kind), ARGUMENT, incomplete) == expected


def test_pods_and_their_containers(node: None) -> None:
    """Pods of another namespace are named with it."""
    assert completing.pod_names(context(namespace="other"), ARGUMENT, "") == ["b", "default/a", "default/c"]
    assert completing.container_names(context(pod="a"), ARGUMENT, "") == ["c"]
    assert completing.container_names(context(), ARGUMENT, "") == []


def test_conditions_to_wait_for(node: None) -> None:
    """As far as the node knows them."""
    assert completing.conditions(context(), ARGUMENT, "resource/example.com/n") == ["resource/example.com/none="]
    found = completing.conditions(context(), ARGUMENT, "")
    assert found == ["pod/a=", "pod/c=", "pod/other/b=", "resource/example.com/gpu=", "resource/example.com/none="]
