"""Commands about what a container gets: `container-spec`, `bundle`, `exec-check`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubelet_sim.cli.helpers.completions import container_names, container_or_directory, pod_names
from kubelet_sim.cli.helpers.container_on_node import builder, config_for, own_variables, registry_of
from kubelet_sim.cli.helpers.options import common, connected, namespace_option, output_option, to_seconds
from kubelet_sim.foreign import cut, escape_terminal
from kubelet_sim.model.ids import split_pod_name

if TYPE_CHECKING:
    from kubelet_sim.container import ContainerConfig
    from kubelet_sim.container.observed_container import Comparison
    from kubelet_sim.node.oci.oci_runtime import Outcome

F = TypeVar("F", bound=Callable[..., Any])

_LAST_LINES = 3


class _CommandBehind(click.Command):
    """What stands behind the first `--` belongs to COMMAND, and never is the CONTAINER that may be left out before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments before it as click does, and the words behind it as they are."""
        before = args
        behind: tuple[str, ...] = ()
        if "--" in args:
            at = args.index("--")
            before, behind = args[:at], tuple(args[at + 1 :])
        rest = super().parse_args(ctx, before)
        ctx.params["command"] = (*(ctx.params.get("command") or ()), *behind)
        return rest


def _one_at_most(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.UsageError(f"there are too many containers, {', '.join(values)}: expected one at most")
    return values[0] if values else None


def _cdi_option(command: F) -> F:
    return click.option(
        "--cdi-dir",
        "cdi_directories",
        multiple=True,
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="A directory of CDI spec files, later ones over earlier ones. Else /etc/cdi and /var/run/cdi.",
    )(command)


@click.command("container-spec")
@click.argument("pod", shell_complete=pod_names)
@click.argument("container", required=False, shell_complete=container_names)
@namespace_option
@output_option("table", "json", "yaml", "cri", "oci")
@_cdi_option
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
    from kubelet_sim.present.rendering import machine_text, spec_document, spec_text

    if explain and output in {"cri", "oci"}:
        raise UsageError(f"--explain has no form {output}: leave out one of the two, or take -o json or yaml")
    namespace, name = split_pod_name(pod, namespace)
    with connected(root) as node:
        share = node.container_spec(name, container, namespace)
        manifest = node.pod(name, namespace)
        build = builder(node, manifest, container, share) if explain or output in {"cri", "oci"} else None
    if build is None:
        if output != "table":
            click.echo(machine_text(spec_document(share), output))
            return
        click.echo(spec_text(share))
        own = own_variables(manifest, container)
        if twice := [name for name, _ in share.envs if name in own]:
            text = f"the pod sets {', '.join(twice)}, too: the kubelet hands both on, the plugin's first [DM-128]"
            click.echo(escape_terminal(f"note: {text}"))
        return
    config = build(None)
    if explain:
        _show_explanation(config, cdi_directories, passed, output)
    else:
        click.echo(machine_text(_document(config, output, cdi_directories, passed), "json"))


def _document(
    config: ContainerConfig, form: str, cdi_directories: Sequence[str], passed: tuple[str, ...]
) -> dict[str, Any]:
    """The container in CRI or OCI form. Raises `Finding` where a runtime would refuse it."""
    from kubelet_sim.cli.helpers.group import Finding
    from kubelet_sim.container import RuntimeOptions, cri, oci
    from kubelet_sim.errors import ContainerRefused
    from kubelet_sim.node.oci.host_files import LocalFiles

    if form == "cri":
        return cri(config)
    try:
        return oci(config, LocalFiles(), registry_of(cdi_directories), RuntimeOptions(passed_annotations=passed))
    except ContainerRefused as error:
        raise Finding(f"a runtime would refuse this container: {error}") from error


def _show_explanation(
    config: ContainerConfig, cdi_directories: Sequence[str], passed: tuple[str, ...], form: str
) -> None:
    from kubelet_sim.cli.helpers.group import Finding
    from kubelet_sim.container import RuntimeOptions
    from kubelet_sim.container import explain as explained
    from kubelet_sim.node.oci.host_files import LocalFiles
    from kubelet_sim.present.container_text import explanation_document, explanation_text
    from kubelet_sim.present.rendering import machine_text

    options = RuntimeOptions(passed_annotations=passed)
    explanation = explained(config, LocalFiles(), registry_of(cdi_directories), options)
    if form in {"json", "yaml"}:
        click.echo(machine_text(explanation_document(explanation), form))
    else:
        click.echo(explanation_text(explanation))
    if explanation.has_errors:
        raise Finding("a runtime would not start this container")


@click.command()
@click.argument("pod", shell_complete=pod_names)
@click.argument(
    "container", nargs=-1, metavar="[CONTAINER]", callback=_one_at_most, shell_complete=container_or_directory
)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@namespace_option
@_cdi_option
@click.option(
    "--rootfs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The root file system; an empty one is made if there is none.",
)
@common
def bundle(
    *,
    pod: str,
    container: str | None,
    directory: Path,
    namespace: str,
    cdi_directories: tuple[str, ...],
    rootfs: Path | None,
    root: Path | None,
) -> None:
    """Write an OCI bundle of a container, ready for `crun run` or `runc run`.

    CONTAINER may be left out for a pod with one container. DIRECTORY is new or empty. What the kubelet would have made (volumes, /etc/hosts) is made in it. Exit code 1 for a
    container that a runtime would refuse.

    \b
    Example: kubelet-sim bundle my-pod main /tmp/bundle --rootfs ./rootfs && sudo runc run -b /tmp/bundle try
    """  # noqa: D301
    from kubelet_sim.cli.helpers.group import Finding
    from kubelet_sim.errors import ContainerRefused
    from kubelet_sim.node.oci.bundle import kubelet_root, new_directory, write_bundle
    from kubelet_sim.node.oci.host_files import LocalFiles

    config_in = config_for(pod, container, namespace, root)
    place = new_directory(directory)
    try:
        written = write_bundle(
            config_in(kubelet_root(place)), place, LocalFiles(), registry_of(cdi_directories), rootfs=rootfs
        )
    except ContainerRefused as error:
        raise Finding(f"a runtime would refuse this container: {error}") from error
    for note in written.notes:
        click.echo(escape_terminal(f"note: {note}"), err=True)
    click.echo(escape_terminal(f"bundle written: {place}"))


@click.command("exec-check", cls=_CommandBehind)
@click.argument("pod", shell_complete=pod_names)
@click.argument("container", required=False, shell_complete=container_names)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@namespace_option
@output_option("table", "json", "yaml")
@_cdi_option
@click.option(
    "--rootfs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The root file system; else one with nothing but busybox.",
)
@click.option("--runtime", metavar="PROGRAM", help="The OCI runtime; else crun or runc, whichever starts it.")
@click.option(
    "--timeout", default="60s", show_default=True, callback=to_seconds, metavar="DURATION", help="How long at most."
)
@common
def exec_check(  # noqa: PLR0913 - one for each option
    *,
    pod: str,
    container: str | None,
    command: tuple[str, ...],
    namespace: str,
    output: str,
    cdi_directories: tuple[str, ...],
    rootfs: Path | None,
    runtime: str | None,
    timeout: float,
    root: Path | None,
) -> None:
    """Really start a container with what it was granted, and report what it sees from inside: env, devices, mounts.

    CONTAINER may be left out for a pod with one container. COMMAND runs in it afterwards, in place of the pod's own. It needs crun or runc and a static busybox, and
    works without root where user namespaces do. Exit code 1 if the container does not start, lacks something that it was
    granted, or the command fails; 3 if this machine cannot start containers at all.

    \b
    Example: kubelet-sim exec-check my-pod main -- ls -l /dev
    """  # noqa: D301
    from kubelet_sim.cli.helpers.group import Finding
    from kubelet_sim.container.observed_container import comparisons
    from kubelet_sim.errors import ContainerRefused, UsageError
    from kubelet_sim.node.oci.bundle import kubelet_root, write_bundle
    from kubelet_sim.node.oci.host_files import LocalFiles
    from kubelet_sim.node.oci.oci_runtime import run_probed, runtimes_here, static_busybox
    from kubelet_sim.present.container_text import seen_document, seen_text
    from kubelet_sim.present.rendering import machine_text

    if timeout <= 0:
        raise UsageError("--timeout: found 0; expected a time in which a container can start")
    runtimes_here(runtime)
    config_in = config_for(pod, container, namespace, root)
    place = Path(tempfile.mkdtemp(prefix="ks-bundle-"))
    try:
        files = rootfs or _busybox_rootfs(place / "busybox-rootfs", static_busybox())
        work = place / "bundle"
        work.mkdir()
        config = config_in(kubelet_root(work))
        if config.security.user_namespace is not None:
            place.chmod(0o711)  # the container's users are nobody here, and have to get through
        written = write_bundle(config, work, LocalFiles(), registry_of(cdi_directories), rootfs=files)
        outcome = run_probed(written, command, runtime, timeout)
    except ContainerRefused as error:
        raise Finding(f"a runtime would refuse this container: {error}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if outcome.seen is None:
        raise Finding(f"{Path(outcome.runtime).name} does not start this container: {_last_words(outcome.output)}")
    found = comparisons(written.wanted, outcome.seen)
    if output == "table":
        click.echo(seen_text(outcome, found, written.notes))
    else:
        click.echo(machine_text(seen_document(outcome, found, written.notes), output))
    judge(outcome, found, timeout)


def judge(outcome: Outcome, found: Sequence[Comparison], timeout_s: float) -> None:
    """Raises `Finding` if something is missing in the container, or its command did not end well."""
    from kubelet_sim.cli.helpers.group import Finding

    if wrong := [each for each in found if not each.is_as_wanted]:
        raise Finding(f"{len(wrong)} of {len(found)} things are not in the container as they were granted")
    if outcome.is_timed_out:
        raise Finding(f"the command did not end within {timeout_s:g} s, and was ended")
    if outcome.exit_code:
        raise Finding(f"the command ended with {outcome.exit_code}")


def _last_words(output: str) -> str:
    """The reason often comes before the last line, which says what it led to."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return cut("; ".join(lines[-_LAST_LINES:]), 1000) if lines else "it said nothing"


def _busybox_rootfs(place: Path, busybox: Path) -> Path:
    """A root file system in which the usual small commands are there."""
    (place / "bin").mkdir(parents=True)
    place.chmod(0o777)  # whoever the container's root is here makes mount points in it
    shutil.copy(busybox, place / "bin" / "busybox")
    for name in (
        "sh",
        "ls",
        "cat",
        "env",
        "echo",
        "stat",
        "id",
        "mount",
        "test",
        "true",
        "false",
        "sleep",
        "head",
        "find",
    ):
        (place / "bin" / name).symlink_to("busybox")
    return place
