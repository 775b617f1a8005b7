"""What several commands have in common: options, kinds of values, and the way to the running node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubelet_sim.cli.helpers.group import DEBUG
from kubelet_sim.model.durations import parse_duration

if TYPE_CHECKING:
    from kubelet_sim.wire.control_client import ControlClient

F = TypeVar("F", bound=Callable[..., Any])

ROOT_VARIABLE = "KUBELET_SIM_ROOT"


def common(command: F) -> F:
    """Adds the options `--root` and `--debug` to a command."""
    text = f"The node's root directory. Else ${ROOT_VARIABLE}, else a run directory of your own."
    return directory_option("--root", text=text, envvar=ROOT_VARIABLE)(debug(command))


def debug(command: F) -> F:
    """Adds the option `--debug` to a command."""

    def note(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
        if value:
            ctx.meta[DEBUG] = True

    return click.option(
        "--debug", is_flag=True, expose_value=False, callback=note, help="Show tracebacks of errors, too."
    )(command)


def stacked(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Adds several options to a command, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def file_option(*names: str, text: str, exists: bool = False, **more: Any) -> Callable[[F], F]:
    """Add an option that names a file."""
    kind = click.Path(path_type=Path, dir_okay=False, exists=exists)
    return click.option(*names, type=kind, **{"metavar": "FILE", "help": text, **more})


def directory_option(*names: str, text: str, exists: bool = False, **more: Any) -> Callable[[F], F]:
    """Add an option that names a directory."""
    kind = click.Path(path_type=Path, file_okay=False, exists=exists)
    return click.option(*names, type=kind, **{"metavar": "DIR", "help": text, **more})


def duration_option(*names: str, text: str, default: str | None = None, **more: Any) -> Callable[[F], F]:
    """Add an option that is a duration, and seconds for the command."""
    shown = {"default": default, "show_default": default is not None, "metavar": "DURATION", **more}
    return click.option(*names, callback=to_seconds, help=text, **shown)


def choice_option(*names: str, of: Sequence[str], text: str, default: str | None = None) -> Callable[[F], F]:
    """Add an option that is one of these words."""
    return click.option(*names, type=click.Choice(of), default=default, show_default=default is not None, help=text)


def output_option(*forms: str, text: str = "The form of the output.") -> Callable[[F], F]:
    """Add `-o` with these forms, of which the first is the default."""
    return choice_option("-o", "--output", of=forms, text=text, default=forms[0])


def env_option(*names: str, text: str) -> Callable[[F], F]:
    """Add an option for variables, of which the command gets a mapping."""

    def variables(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
        return dict(map(_pair, values))

    return click.option("--env", *names, multiple=True, metavar="NAME=VALUE", callback=variables, help=text)


def _pair(text: str) -> tuple[str, str]:
    from kubelet_sim.errors import UsageError

    name, separator, value = text.partition("=")
    if not (name and separator):
        raise UsageError(f"--env: expected NAME=VALUE, not {text!r}")
    return name, value


def show_as(form: str, document: Any, text: Callable[[], str]) -> None:
    """Writes an answer in the form of `-o`: the document as JSON or YAML, or the text for eyes, which is made if it is wanted."""
    from kubelet_sim.present.documents import machine_text

    click.echo(machine_text(document, form) if form in {"json", "yaml"} else text())


def namespace_option(command: F) -> F:
    """Adds the option `-n` to a command."""
    return click.option(
        "-n", "--namespace", default="default", show_default=True, help="The namespace, unless NAME is NAMESPACE/NAME."
    )(command)


def transcript_option(command: F) -> F:
    """Adds the option `--transcript` to a command."""
    text = "Write everything that happens there, one JSON object a line; `trace` and `replay` read it."
    return file_option("--transcript", text=text)(command)


def kind_argument(kinds: Sequence[str], aliases: Mapping[str, str]) -> Callable[[F], F]:
    """Add the argument KIND or KIND/NAME; the command gets a pair of kind and name, which is empty if none was given."""

    def to_kind(_ctx: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, str]:
        return split_kind(kinds, aliases, value)

    return click.argument("kind", callback=to_kind, metavar=f"[{'|'.join(kinds)}][/NAME]")


def split_kind(kinds: Sequence[str], aliases: Mapping[str, str], word: str) -> tuple[str, str]:
    """The kind that is meant, and the name of `KIND/NAME`, empty without one. Raises `click.BadParameter`."""
    before, slash, name = word.partition("/")
    kind = aliases.get(before, before)
    if kind not in kinds or (slash and not name):
        raise click.BadParameter(f"{word!r} is none of: {', '.join(kinds)}")
    return kind, name


def one_name(named: str, name: str | None) -> str | None:
    """The name, which may have come as `KIND/NAME` or behind the kind, but not both."""
    if named and name is not None:
        raise click.UsageError(f"there are two names: {named} and {name}")
    return named or name


def where_text(namespace: str) -> str:
    """The namespace of a pod behind its name, where it is worth a word."""
    return "" if namespace == "default" else f" in {namespace}"


def to_seconds(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """A callback for parameters that are durations; one without a default may not be given."""
    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def root_path(root: Path | None) -> Path:
    """The root directory that is meant, absolute. Raises `UsageError` if there is no default."""
    if root is None:
        from kubelet_sim.node.root_directory.root import default_root

        root = default_root()
    return root.resolve()


def connected(root: Path | None) -> ControlClient:
    """The way to the running node, to be opened as a context. Raises `TransportError` there if there is no node."""
    from kubelet_sim.node.root_directory.layout import RootLayout
    from kubelet_sim.wire.control_client import ControlClient

    path = root_path(root)
    return ControlClient(RootLayout(path).control_socket, path)
