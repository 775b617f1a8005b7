"""The commands about faults: `fault NAME`, `fault list`, `fault undo`, `fault show`.

A fault is a command of its own, made from its entry in the list of the node when it is asked for: `--help` of the others
needs nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import fault_ids, fault_names
from kubelet_sim.cli.helpers.options import common, connected, debug, output_option, show_as
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.durations import parse_duration

if TYPE_CHECKING:
    from kubelet_sim.node.faults.arguments import Argument
    from kubelet_sim.node.faults.kinds import FaultKind


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
    from kubelet_sim.present.fault_text import active_text

    show_as(output, faults, lambda: active_text(faults))


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
    from kubelet_sim.present.fault_text import times_text

    for view in undone:
        click.echo(escape_terminal(f"fault {view.id} {view.name} undone; it applied {times_text(view.applied)}"))
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
    from kubelet_sim.node.faults import KINDS, find
    from kubelet_sim.present.fault_text import kind_document, kind_text, kinds_text

    kinds = list(KINDS.values()) if name is None else [find(name)]
    documents = [kind_document(kind) for kind in kinds]
    show_as(output, documents, lambda: kinds_text(kinds) if name is None else kind_text(kinds[0]))


def fault_command(kind: FaultKind) -> click.Command:
    """The command that injects a fault of that kind."""
    from kubelet_sim.present.fault_text import FILTERS, help_text

    def inject(root: Path | None, output: str, **given: Any) -> None:
        from kubelet_sim.model.faults import Fault

        filters = {name: given.pop(name) or "" for name in kind.filters}
        count = given.pop("count", None)
        named = {argument.name: given[_parameter(argument)] for argument in kind.arguments}
        arguments = {name: value for name, value in named.items() if value is not None}
        with connected(root) as node:
            view = node.inject(Fault(kind.name, arguments, count, **filters))
        show_as(output, view, lambda: escape_terminal(f"{view.did} ({view.undo})"))

    parameters: list[click.Parameter] = [_option(argument) for argument in kind.arguments]
    parameters += [click.Option([f"--{name}"], help=FILTERS[name]) for name in kind.filters]
    if kind.counts:
        usual = "" if kind.usual_count is None else f" Usually {kind.usual_count}."
        text = f"After how many times it ends by itself.{usual}"
        parameters.append(click.Option(["--count"], type=click.IntRange(1), help=text))
    command = click.Command(kind.name, callback=inject, params=parameters, help=help_text(kind))
    return common(output_option("table", "json")(command))


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
