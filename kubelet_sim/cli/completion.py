"""The command `completion`: what a shell needs to complete our command lines."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that makes a shell complete commands, options, and names from the running node.

    \b
    bash   source <(kubelet-sim completion bash)                      in ~/.bashrc
    zsh    source <(kubelet-sim completion zsh)                       in ~/.zshrc
    fish   kubelet-sim completion fish | source                       in config.fish

    \b
    Example: kubelet-sim completion bash > ~/.local/share/bash-completion/completions/kubelet-sim
    """  # noqa: D301
    from click.shell_completion import get_completion_class

    root = ctx.find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choice offers none that click does not know
    program = root.info_name or "kubelet-sim"
    complete = kind(root.command, {}, program, f"_{program.replace('-', '_').upper()}_COMPLETE")
    # Not `source()`: bash's looks at the version of whichever bash is on the path here.
    click.echo(complete.source_template % complete.source_vars())
