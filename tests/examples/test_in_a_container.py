"""Does a container really see what each example grants? Started by the runtime of this machine, looked at from inside."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kubelet_sim.container import KubeletContext, container_config, read_registry
from kubelet_sim.container.observed_container import comparisons
from kubelet_sim.node.oci.bundle import kubelet_root, new_directory, write_bundle
from kubelet_sim.node.oci.host_files import LocalFiles
from kubelet_sim.node.oci.oci_runtime import CannotRun, run_probed
from tests.examples.fleet import EXAMPLES, Example, Fleet, pod
from tests.patience import PATIENCE_S
from tests.unit.container.parts import check_oci, share


@pytest.mark.runtime
@pytest.mark.parametrize("name", [each.name for each in EXAMPLES])
def test_a_container_sees_what_it_was_granted(
    name: str, run_example: Callable[[str], tuple[Fleet, Example]], short_root: Path
) -> None:
    """Variables, device nodes with their numbers, and mounts with their rights; the bundle is one that OCI allows.

    Rules: DM-126, DM-127, DM-132
    """
    fleet, example = run_example(name)
    wanted = pod("p", dict.fromkeys(example.devices, 1))
    fleet.node.admit(wanted)
    share = fleet.node.prepare("p", "main")
    assert share is not None
    registry = read_registry(LocalFiles(), [str(fleet.place(example) / "cdi")])
    bundle_in = short_root / "bundle"
    bundle_in.mkdir()
    around = KubeletContext(kubelet_root=kubelet_root(bundle_in))
    bundle = write_bundle(container_config(wanted, "main", share, around), bundle_in, LocalFiles(), registry)
    check_oci(bundle.spec)
    check_oci(json.loads((bundle_in / "config.json").read_text()))
    try:
        outcome = run_probed(bundle, (), os.environ.get("KUBELET_SIM_RUNTIME"), PATIENCE_S)
    except CannotRun as error:
        pytest.skip(f"this machine cannot start containers: {error}")
    finally:
        shutil.rmtree(bundle_in / "probe", ignore_errors=True)
    assert outcome.seen is not None, outcome.output
    found = comparisons(bundle.wanted, outcome.seen)
    assert [each for each in found if not each.is_as_wanted] == []
    modes = {each.path: each.mode for each in outcome.seen.nodes}
    for device in bundle.wanted["linux"]["devices"]:
        assert modes[device["path"]] == device["fileMode"]
    keys = {(each.part, each.key) for each in found}
    assert {("env", variable) for variable, _ in share.envs} <= keys
    assert {("mount", mount.container_path) for mount in share.mounts} <= keys
    assert {("device", device.container_path) for device in share.devices} <= keys
    if share.cdi_devices:
        assert ("device", "/dev/card/card0") in keys


FUSE = "/dev/fuse"
"""Opening it does nothing, and no container may open it unasked."""
OPENED = "(: < /dev/it) 2> /dev/null && echo -n r; (: > /dev/it) 2> /dev/null && echo -n w; true"


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="without root there are no rules for devices")
@pytest.mark.parametrize("permissions", ["r", "w", "rw"])
def test_a_container_may_do_what_the_permissions_say(permissions: str, short_root: Path) -> None:
    """From inside, the node opens for reading, for writing or for both, whatever its mode is. Rules: DM-126"""
    try:
        os.close(os.open(FUSE, os.O_RDWR))
    except OSError as error:
        pytest.skip(f"{FUSE} cannot be opened on this machine: {error}")
    place = new_directory(short_root / "bundle")
    around = KubeletContext(kubelet_root=kubelet_root(place))
    config = container_config(pod("p", {}), "main", share(devices=[("/dev/it", FUSE, permissions)]), around)
    bundle = write_bundle(config, place, LocalFiles())
    command = ("/.kubelet-sim/busybox", "sh", "-c", OPENED)
    try:
        outcome = run_probed(bundle, command, os.environ.get("KUBELET_SIM_RUNTIME"), PATIENCE_S)
    except CannotRun as error:
        pytest.skip(f"this machine cannot start containers: {error}")
    assert (outcome.exit_code, outcome.output) == (0, permissions)
