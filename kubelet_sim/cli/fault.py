"""The commands about faults: `fault NAME`, `fault list`, `fault undo`, `fault show`.

A fault is a command of its own, made from its entry in the list of the node when it is asked for: `--help` of the others
needs nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import fault_ids, fault_names
from kubelet_sim.cli.helpers.options import common, connected, debug, output_option
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import parse_duration
from kubelet_sim.present.rendering import machine_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubelet_sim.model.faults import FaultView
    from kubelet_sim.node.faults.arguments import Argument
    from kubelet_sim.node.faults.kinds import FaultKind

_LONGEST = 90
_FILTERS = {
    "resource": "Only the plugin of this resource.",
    "socket": "Only the plugin on this socket: its file name, or its path.",
    "pod": "Only this pod, NAME or NAMESPACE/NAME.",
}


class Faults(click.Group):
    """A group in which every fault is a command, too."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of our own, or that of a fault; `UsageError` for a name that is neither."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        from kubelet_sim.node.faults import find

        return fault_command(find(cmd_name))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Our own commands, and the names of faults."""
        names = fault_names(ctx, None, incomplete)
        found = super().shell_complete(ctx, incomplete)
        return [*found, *map(click.shell_completion.CompletionItem, names)]


@click.group(cls=Faults, subcommand_metavar="NAME [--argument VALUE]... | list | undo | show")
def fault() -> None:
    """Let something go wrong on the running node, or in a plugin, that is hard to make happen on a real one.

    A fault says what it did and how to undo it. `fault show` lists them all, `fault NAME --help` tells of one. All faults
    end with the node.

    \b
    Examples: kubelet-sim fault refuse-register --reason dial --count 1
              kubelet-sim fault cut-stream --resource example.com/gpu
              kubelet-sim fault kill-in-call --call Allocate
    """  # noqa: D301


@fault.command("list")
@output_option("table", "json")
@common
def list_(output: str, root: Path | None) -> None:
    """Show the faults that are active: their ids, what they did, how often they applied.

    \b
    Example: kubelet-sim fault list
    """  # noqa: D301
    with connected(root) as node:
        faults = node.faults()
    if output == "json":
        click.echo(machine_text(faults, "json"))
        return
    for line in _table(faults) if faults else ["no faults are active"]:
        click.echo(line)


class _FaultId(click.IntRange):
    name = "id"

    def convert(self, value: Any, parameter: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Fails for a word that is none."""
        try:
            return int(super().convert(value, parameter, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is no id of a fault: ids are numbers from 1 on, see fault list", parameter, ctx)


@fault.command()
@click.argument("numbers", nargs=-1, type=_FaultId(1), metavar="ID...", shell_complete=fault_ids)
@click.option("--all", "all_of_them", is_flag=True, help="All that are active.")
@common
def undo(numbers: tuple[int, ...], all_of_them: bool, root: Path | None) -> None:  # noqa: FBT001 - an option
    """End faults, and take back what can be taken back.

    \b
    Example: kubelet-sim fault undo 3
    """  # noqa: D301
    if bool(numbers) == all_of_them:
        raise click.UsageError("name the ids of faults (see fault list), or --all")
    with connected(root) as node:
        undone = node.undo_faults(*numbers)
    for view in undone:
        click.echo(escape_terminal(f"fault {view.id} {view.name} undone; it applied {_times(view.applied)}"))
    if not undone:
        click.echo("no faults are active")


@fault.command()
@click.argument("name", required=False, shell_complete=fault_names)
@output_option("table", "json")
@debug
def show(name: str | None, output: str) -> None:
    """Tell of a fault: what it is on a real node, its arguments, how to undo it. Without NAME, of all in short.

    \b
    Example: kubelet-sim fault show half-open-stream
    """  # noqa: D301
    from kubelet_sim.node.faults import FAMILIES, KINDS, find

    kinds = list(KINDS.values()) if name is None else [find(name)]
    if output == "json":
        click.echo(machine_text([kind_document(kind) for kind in kinds], "json"))
    elif name is not None:
        click.echo("\n".join(_kind_lines(kinds[0])))
    else:
        width = max(len(kind.name) for kind in kinds)
        for family, heading in FAMILIES.items():
            click.echo(f"{heading}")
            for kind in kinds:
                if kind.family == family:
                    click.echo(f"  {kind.name:<{width}}  {_short(kind.does)}")


def fault_command(kind: FaultKind) -> click.Command:
    """The command that injects a fault of that kind."""

    def inject(root: Path | None, output: str, **given: Any) -> None:
        from kubelet_sim.model.faults import Fault

        filters = {name: given.pop(name) or "" for name in kind.filters}
        count = given.pop("count", None)
        named = {argument.name: given[_parameter(argument)] for argument in kind.arguments}
        arguments = {name: value for name, value in named.items() if value is not None}
        with connected(root) as node:
            view = node.inject(Fault(kind.name, arguments, count, **filters))
        if output == "json":
            click.echo(machine_text(view, "json"))
        else:
            click.echo(escape_terminal(f"{view.did} ({view.undo})"))

    parameters: list[click.Parameter] = [_option(argument) for argument in kind.arguments]
    parameters += [click.Option([f"--{name}"], help=_FILTERS[name]) for name in kind.filters]
    if kind.counts:
        usual = "" if kind.usual_count is None else f" Usually {kind.usual_count}."
        text = f"After how many times it ends by itself.{usual}"
        parameters.append(click.Option(["--count"], type=click.IntRange(1), help=text))
    example = f"\b\nExample: kubelet-sim fault {kind.name}"
    told = "\n\n".join([kind.does, f"{_undo(kind)} {_rules(kind)}".strip(), *_beyond(kind), example])
    command = click.Command(kind.name, callback=inject, params=parameters, help=told)
    return common(output_option("table", "json")(command))


def kind_document(kind: FaultKind) -> dict[str, Any]:
    """A kind as plain values."""
    arguments = [
        {"name": each.name, "type": each.type_name, "default": each.default, "help": each.help}
        for each in kind.arguments
    ]
    return {
        "name": kind.name,
        "family": kind.family,
        "does": kind.does,
        "undo": kind.undo,
        "arguments": arguments,
        "filters": list(kind.filters),
        "counts": kind.counts,
        "rules": list(kind.rules),
        "beyond_a_kubelet": kind.is_beyond,
    }


def _option(argument: Argument) -> click.Option:
    kind: Any = {"SECONDS": _duration, "NUMBER": int}.get(argument.type_name, str)
    kind = click.Choice(argument.choices) if argument.choices else kind
    default = f" [default: {argument.default_text}]" if argument.default_text else ""
    metavar = None if argument.choices else argument.type_name
    name = f"--{argument.name}"
    return click.Option([name, _parameter(argument)], type=kind, metavar=metavar, help=f"{argument.help}{default}")


def _duration(text: str) -> float:
    """Raises `ValueError`, of which click makes a usage error."""
    return parse_duration(text)


def _parameter(argument: Argument) -> str:
    return f"of_{argument.name}"


def _kind_lines(kind: FaultKind) -> list[str]:
    lines = [kind.name, f"  {kind.does}", f"  {_undo(kind)}"]
    lines += [f"  {each}" for each in (*_beyond(kind), _rules(kind)) if each]
    for argument in kind.arguments:
        default = f" (default: {argument.default_text})" if argument.default_text else ""
        lines.append(f"  --{argument.name} {argument.type_name}: {argument.help}{default}")
    lines += [f"  --{name}: {_FILTERS[name]}" for name in kind.filters]
    lines += ["  --count NUMBER: After how many times it ends by itself."] if kind.counts else []
    return lines


def _undo(kind: FaultKind) -> str:
    from kubelet_sim.node.faults.kinds import NOTHING_TO_UNDO

    if kind.undo == NOTHING_TO_UNDO:
        return "It happens once: there is nothing to undo."
    return f"Undo it with `fault undo ID`, {kind.undo}."


def _beyond(kind: FaultKind) -> list[str]:
    return ["No kubelet does this: a plugin need not stand it."] if kind.is_beyond else []


def _rules(kind: FaultKind) -> str:
    return f"Rules: {', '.join(kind.rules)}." if kind.rules else ""


def _table(faults: Sequence[FaultView]) -> list[str]:
    rows = [("ID", "NAME", "APPLIED", "WHAT")]
    rows += [(str(view.id), view.name, _times(view.applied), view.did) for view in faults]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        escape_terminal("  ".join([*(row[column].ljust(widths[column]) for column in range(3)), row[3]]))
        for row in rows
    ]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _short(does: str) -> str:
    """The first sentence, or its beginning up to a colon or a comma if it is long."""
    found = does.split(". ", maxsplit=1)[0].rstrip(".")
    for mark in (": ", "; ", ", "):
        found = found if len(found) <= _LONGEST else found.partition(mark)[0]
    return found
