"""The conformance suite on other people's plugins: it runs to the end, and finds what is known and nothing else.

What is expected here was verified by hand, see docs/explanation/real-plugins.md. Left out are the checks that take a minute, as
they wait for what these plugins do not do: restarts and lost streams are in the tests of each plugin.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kubelet_sim.conformance import Isolation, Mode, Progress, Report, Status, SuiteConfig, run
from kubelet_sim.conformance.reports.terminal import report_lines
from kubelet_sim.node.plugin.isolation import LAUNCHER, namespaces_available
from tests.interop.looking import BUILD_LIMIT_S
from tests.interop.rdma import RdmaMachine

TAKE_LONG = (
    "restart-*",
    "takeover-surge",
    "name-stable",
    "law-reconnect-after-stream-loss",
    "reg-error-surfaced",
    "reg-retry-*",
    "sock-no-leak-on-failed-register",
)
MADE_UP = ("spec-host-path-exists", "spec-device-is-device")
"""What looks at the host's device nodes: those of a machine that we made up are plain files, and nobody else's."""
WHY_NOT = namespaces_available()
pytestmark = [
    pytest.mark.whole,
    pytest.mark.timeout(BUILD_LIMIT_S),
    pytest.mark.skipif(WHY_NOT is not None, reason=f"no mount namespace on this machine: {WHY_NOT}"),
]


def found(command: tuple[str, ...], *skip: str, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The checks that do not pass, and their statuses, after a run in which nothing broke."""
    config = SuiteConfig(command, env=env or {}, isolate=Isolation.NAMESPACE, seed=1, skip=(*TAKE_LONG, *skip))
    (report,) = run(config)
    assert report.could_run
    assert report.count(Status.BROKEN) == 0, told(report)
    return {
        each.check.id: each.status.value
        for each in report.outcomes
        if each.status not in (Status.PASSED, Status.SKIPPED)
    }


def told(report: Report) -> str:
    """For an assertion's message."""
    return "\n".join(report_lines(report))


def seeing(program: Path, shown: Mapping[str, Path], *arguments: str) -> tuple[str, ...]:
    """The command line of a program that sees directories of ours where its hardware would be."""
    binds = [word for target, source in shown.items() for word in ("--bind", str(source), target)]
    return (*LAUNCHER, *binds, "--", str(program), *arguments)


def runs(program: Path) -> list[int]:
    """The processes of a program."""
    pids = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdecimal() and (each / "exe").samefile(program):
                pids.append(int(each.name))
        except OSError:
            continue
    return pids


def copied(program: Path, folder: Path) -> Path:
    """Returns a copy of a program, whose processes are those of one test: others run the program beside it."""
    return Path(shutil.copy(program, folder))


def test_the_sample_device_plugin_has_nothing_wrong(sample_device_plugin: Path) -> None:
    """Nothing is wrong with it in what is tried here."""
    assert found((str(sample_device_plugin),)) == {}
    assert not runs(sample_device_plugin)


def test_the_sample_device_plugin_may_be_attached_to(
    sample_device_plugin: Path, start_isolated: Callable[..., object], short_root: Path
) -> None:
    """Somebody else starts it where a node of the suite waits; it gives up without a kubelet, so that comes first."""
    notes: list[str] = []

    def tell(progress: Progress) -> None:
        if progress.text and not notes:
            start_isolated(sample_device_plugin, short_root / "device-plugins")
        notes.extend([progress.text] if progress.text else [])

    (report,) = run(SuiteConfig(attach=short_root, mode=Mode.QUICK, seed=1), tell)
    assert notes == [f"waiting up to 30 s for a plugin that registers at {short_root}/device-plugins/kubelet.sock"]
    assert report.about.resources == ("example.com/resource",)
    assert {each.status for each in report.outcomes} == {Status.PASSED, Status.SKIPPED}, told(report)
    assert runs(sample_device_plugin), "what was attached to goes on"


def test_the_plugin_for_shared_rdma_devices_grants_the_card_for_any_id(
    rdma_shared_device_plugin: Path, rdma_machine: RdmaMachine, rdma_card: Path
) -> None:
    """Any id is granted the whole card, and the socket's name is fixed."""
    assert rdma_card.exists()
    command = seeing(rdma_shared_device_plugin, rdma_machine.shown, rdma_machine.config)
    assert found(command, *MADE_UP, env=rdma_machine.environment) == {
        "alloc-unknown-id-no-crash": "warned",
        "takeover-unique-socket": "warned",
    }
    assert not runs(rdma_shared_device_plugin)


def test_the_example_of_k8s_device_plugin_lib_has_no_device_nodes(widget_plugin: Path, tmp_path: Path) -> None:
    """Its devices are made up, so their nodes are missing."""
    program = copied(widget_plugin, tmp_path)
    assert found((str(program),)) == {
        "grpc-authority-tolerant": "warned",
        "opt-register-matches-rpc": "warned",
        "prestart-unknown-id": "warned",
        "shutdown-socket-removed": "warned",
        "spec-host-path-exists": "failed",
    }
    assert not runs(program)


def test_the_example_of_generic_device_plugin_grants_a_path_for_any_id(
    mock_plugin: Path, short_root: Path, tmp_path: Path
) -> None:
    """Any id is granted as a path below /dev."""
    program = copied(mock_plugin, tmp_path)
    for name in ("mock0", "mock1", "null"):
        (short_root / name).touch()
    # Its second instance never registers beside the first, which that check gives a minute.
    assert found(seeing(program, {"/dev": short_root}), *MADE_UP, "takeover-unique-socket") == {
        "alloc-unknown-id-no-crash": "warned",
        "grpc-authority-tolerant": "warned",
        "shutdown-socket-removed": "warned",
    }
    assert not runs(program)
