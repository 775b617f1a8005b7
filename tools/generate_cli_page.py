"""Write docs/reference/cli.md: every command with its arguments and options, from click.

- `tools/generate_cli_page.py` writes the page
- `tools/generate_cli_page.py --check` exits with 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kubelet_sim.cli.main import COMMANDS, PROGRAM, cli  # noqa: E402 (found by the line above, in a bare checkout too)
from tools import generated  # noqa: E402 (likewise)

PAGE = ROOT / "docs" / "reference" / "cli.md"
INTRODUCTION = """\
# The command line

Made by `tools/generate_cli_page.py` from the commands themselves; `--help` of each says the same.

| exit code | meaning |
|---|---|
| 0 | clean |
| 1 | findings: what was waited for did not come, a story failed |
| 2 | misuse: arguments, a manifest, a story, a root directory that cannot be used, a pod that is not there |
| 3 | could not run: no node at the root, a socket or a namespace that cannot be had |
| 130 | Ctrl-C, SIGTERM or the end of the terminal, for a command that does not serve until then |
| 141 | nobody read the output to its end: `… \\| head -1` |

`exec` ends with the exit code of the plugin. Errors are one line on stderr, `error: …`.

Every command that speaks to a node finds it by its root directory: `--root`, else `$KUBELET_SIM_ROOT`, else a run directory
of your own.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    parts.extend("\n".join(section(name, command)) + "\n" for name, command in commands(cli))
    return "\n".join(parts)


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name; a group comes before its own commands."""
    context = click.Context(group)
    for name in COMMANDS if group is cli else group.commands:
        if (command := group.get_command(context, name)) is not None:
            yield prefix + name, command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")


def section(name: str, command: click.Command) -> Iterator[str]:
    """The lines about one command."""
    context = click.Context(command, info_name=f"{PROGRAM} {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"## `{name}`", "", "```", f"{PROGRAM} {name} {usage}", "```", "")
    yield from description(inspect.cleandoc(command.help or ""))
    # Arguments stand in the usage line; only newer releases of click list them among the options, too.
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [each.get_help_record(context) for each in options]
    yield from ("| option | meaning |", "|---|---|")
    for option, meaning in filter(None, records):
        yield f"| `{option.replace('|', chr(92) + '|')}` | {meaning.replace('|', chr(92) + '|')} |"


def description(text: str) -> Iterator[str]:
    """The help text as Markdown: what click keeps as it stands becomes a block of code."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            yield from ("```", *inspect.cleandoc(paragraph.removeprefix("\b")).strip("\n").splitlines(), "```", "")
        else:
            yield from (*paragraph.splitlines(), "")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 written or fresh, 1 stale."""
    return generated.run("generate_cli_page.py", __doc__, lambda: {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main())
