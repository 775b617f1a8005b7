"""The command `container-spec`: what a container gets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubelet_sim.cli.helpers.completions import container_names, pod_names
from kubelet_sim.cli.helpers.container_on_node import builder, cdi_option, own_variables, refusals, registry_of
from kubelet_sim.cli.helpers.options import common, connected, namespace_option, output_option, show_as
from kubelet_sim.foreign import escape_terminal
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.container import ContainerConfig


@click.command("container-spec")
@click.argument("pod", shell_complete=pod_names)
@click.argument("container", required=False, shell_complete=container_names)
@namespace_option
@output_option("table", "json", "yaml", "cri", "oci")
@cdi_option
@click.option(
    "--pass-annotation",
    "passed",
    multiple=True,
    metavar="PATTERN",
    help="Annotations that the runtime passes on (containerd: container_annotations).",
)
@click.option("--explain", is_flag=True, help="Where everything came from, what was dropped, what would go wrong.")
@common
def container_spec(  # noqa: PLR0913 - one for each option
    *,
    pod: str,
    container: str | None,
    namespace: str,
    output: str,
    cdi_directories: tuple[str, ...],
    passed: tuple[str, ...],
    explain: bool,
    root: Path | None,
) -> None:
    """Show what a container gets: what device plugins add to it, or all of it as the runtime has it.

    \b
    -o table    what device plugins add: their merged answers (json and yaml likewise)
    -o cri      the ContainerConfig that the kubelet sends, as JSON for crictl create
    -o oci      the config.json of an OCI runtime, as containerd derives it, CDI devices injected
    --explain   for every entry who put it there, what was dropped and why, and what a runtime would say

    POD is a name, or NAMESPACE/NAME. CONTAINER may be left out for a pod with one container. With -o oci, exit code 1 for
    a container that a runtime would refuse; with --explain likewise, after all has been told.

    \b
    Examples: kubelet-sim container-spec my-pod -o json
              kubelet-sim container-spec my-pod --explain
              kubelet-sim container-spec my-pod main -o oci --cdi-dir /tmp/cdi
    """  # noqa: D301
    from kubelet_sim.errors import UsageError
    from kubelet_sim.present.container_text import spec_text
    from kubelet_sim.present.documents import spec_document

    if explain and output in {"cri", "oci"}:
        raise UsageError(f"--explain has no form {output}: leave out one of the two, or take -o json or yaml")
    namespace, name = split_pod_name(pod, namespace)
    with connected(root) as node:
        share = node.container_spec(name, container, namespace)
        manifest = node.pod(name, namespace)
        build = builder(node, manifest, container, share) if explain or output in {"cri", "oci"} else None
    if build is None:
        show_as(output, spec_document(share), lambda: spec_text(share))
        own = own_variables(manifest, container)
        if output == "table" and (twice := [name for name, _ in share.envs if name in own]):
            text = f"the pod sets {', '.join(twice)}, too: the kubelet hands both on, the plugin's first [DM-128]"
            click.echo(escape_terminal(f"note: {text}"))
        return
    config = build(None)
    if explain:
        _show_explanation(config, cdi_directories, passed, output)
    else:
        show_as("json", _document(config, output, cdi_directories, passed), str)


def _document(
    config: ContainerConfig, form: str, cdi_directories: Sequence[str], passed: tuple[str, ...]
) -> dict[str, Any]:
    """The container in CRI or OCI form. Raises `NegativeResult` where a runtime would refuse it."""
    from kubelet_sim.container import RuntimeOptions, cri, oci
    from kubelet_sim.node.oci.host_files import LocalFiles

    if form == "cri":
        return cri(config)
    with refusals():
        return oci(config, LocalFiles(), registry_of(cdi_directories), RuntimeOptions(passed_annotations=passed))


def _show_explanation(
    config: ContainerConfig, cdi_directories: Sequence[str], passed: tuple[str, ...], form: str
) -> None:
    from kubelet_sim.cli.helpers.group import NegativeResult
    from kubelet_sim.container import RuntimeOptions
    from kubelet_sim.container import explain as explained
    from kubelet_sim.node.oci.host_files import LocalFiles
    from kubelet_sim.present.container_text import explanation_document, explanation_text

    options = RuntimeOptions(passed_annotations=passed)
    explanation = explained(config, LocalFiles(), registry_of(cdi_directories), options)
    show_as(form, explanation_document(explanation), lambda: explanation_text(explanation))
    if explanation.has_errors:
        raise NegativeResult("a runtime would not start this container")
