"""The pods of the files of manifests that a command is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kubelet_sim.cli.helpers.given_files import read_given

if TYPE_CHECKING:
    from kubelet_sim.model.pod import Pod


def pods_of(files: Sequence[str]) -> list[Pod]:
    """The pods of files of manifests, none for no file. Raises `UsageError` for files without a pod."""
    from kubelet_sim.errors import UsageError
    from kubelet_sim.manifests import read_pods

    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    pods = [pod for file in files for pod in read_pods(read_given(file), file)]
    if files and not pods:
        raise UsageError(f"there is no pod in {', '.join(files)}")
    return pods
