"""The command `versions`: which kubelet releases there are, and how two of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.options import debug, output_option

if TYPE_CHECKING:
    from kubelet_sim.profiles import Profile
    from kubelet_sim.profiles.gates import GateMoved
    from kubelet_sim.profiles.switch_texts import SwitchMoved


@click.group(invoke_without_command=True)
@output_option("table", "json", "yaml")
@debug
@click.pass_context
def versions(ctx: click.Context, output: str) -> None:
    """Show the kubelet releases that `run --kubelet-version` takes.

    Each stands for one patch release, x where nobody wrote down which; feature gates are at their defaults. The last column
    has the switches that differ from the release before: `versions diff` says what they mean.

    \b
    Example: kubelet-sim versions -o yaml
    """  # noqa: D301
    if ctx.invoked_subcommand is not None:
        return
    from kubelet_sim.present.documents import machine_text
    from kubelet_sim.present.tables import table_text
    from kubelet_sim.profiles import RELEASES

    releases = list(RELEASES.values())
    if output != "table":
        click.echo(machine_text([_document(profile) for profile in releases], output))
        return
    rows = []
    for before, profile in zip([None, *releases], releases, strict=False):
        changed = "" if before is None else ", ".join(_short(each) for each in _moved(before, profile))
        rows.append((profile.version, profile.stands_for, "yes" if profile.was_read else "no", changed))
    click.echo(table_text(("VERSION", "STANDS FOR", "READ", "DIFFERS FROM THE ONE BEFORE"), rows))


@versions.command()
@click.argument("before")
@click.argument("after")
@output_option("text", "json", "yaml")
@debug
def diff(before: str, after: str, output: str) -> None:
    """Say what somebody notices who goes from the kubelet BEFORE to the kubelet AFTER.

    One line for each switch that moves, with the rules that it is about, then one for each feature gate in another stage.

    \b
    Example: kubelet-sim versions diff 1.24 1.25
    """  # noqa: D301
    from kubelet_sim.present.documents import machine_text
    from kubelet_sim.profiles import profile_of
    from kubelet_sim.profiles.gates import gates_moved

    older, newer = profile_of(before), profile_of(after)
    found, gates = _moved(older, newer), gates_moved(older, newer)
    if output != "text":
        documents = [*map(_moved_document, found), *map(_gate_document, gates)]
        click.echo(machine_text(documents, output))
        return
    if not found and not gates:
        click.echo(f"{older.version} and {newer.version} do not differ in anything that kubelet-sim follows.")
    for each in found:
        click.echo(f"{each.text} [{' '.join(each.switch.rules)}]")
    for gate in gates:
        click.echo(f"{gate.text} [{' '.join(gate.gate.rules)}]")


def _moved(before: Profile, after: Profile) -> tuple[SwitchMoved, ...]:
    from kubelet_sim.profiles.switch_texts import moved

    return moved(before, after)


def _short(moved: SwitchMoved) -> str:
    from kubelet_sim.profiles.switch_texts import value_text

    return f"{moved.switch.name}: {value_text(moved.after)}"


def _document(profile: Profile) -> Mapping[str, Any]:
    from kubelet_sim.profiles.gates import gates_of
    from kubelet_sim.profiles.switch_texts import SWITCHES

    return {
        "version": profile.version,
        "stands_for": profile.stands_for,
        "was_read": profile.was_read,
        "switches": {name: _plain(getattr(profile, name)) for name in SWITCHES},
        "feature_gates": {
            name: {"stage": stage.word, "default": stage.default, "locked": stage.is_locked}
            for name, stage in gates_of(profile).items()
        },
    }


def _moved_document(moved: SwitchMoved) -> Mapping[str, Any]:
    return {
        "switch": moved.switch.name,
        "before": _plain(moved.before),
        "after": _plain(moved.after),
        "text": moved.text,
        "rules": list(moved.switch.rules),
    }


def _gate_document(moved: GateMoved) -> Mapping[str, Any]:
    return {
        "feature_gate": moved.gate.name,
        "before": None if moved.before is None else moved.before.text,
        "after": None if moved.after is None else moved.after.text,
        "text": moved.text,
        "rules": list(moved.gate.rules),
    }


def _plain(value: Any) -> Any:
    return getattr(value, "value", value)
