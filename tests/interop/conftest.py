"""Other people's plugins, built from public registries. Without the tools to build them their tests are skipped.

Go keeps what it built by itself. Cargo does not, so its programs are kept in `~/.cache/kubelet-sim/interop`.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kubelet_sim.node.plugin.isolation import DEVICE_PLUGIN_DIR, LAUNCHER, namespaces_available
from tests.interop.looking import SAMPLE_DEVICES, SAMPLE_FOLDER
from tests.interop.rdma import RdmaMachine
from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
BUILD_TIMEOUT_S = 900
OLDEST_CARGO = (1, 95)
"""The oldest that we have seen build all the plugins here."""


@pytest.fixture(scope="session")
def go() -> str:
    """The Go command."""
    found = shutil.which("go", path=os.environ.get("PATH", "") + ":/usr/local/go/bin")
    if found is None:
        pytest.skip("no Go on this machine: other people's plugins cannot be built")
    return found


@pytest.fixture(scope="session")
def cargo() -> str:
    """Rust's package manager."""
    found = shutil.which("cargo", path=f"{os.environ.get('PATH', '')}:{Path.home()}/.cargo/bin")
    if found is None:
        pytest.skip("no cargo on this machine: other people's plugins in Rust cannot be built")
    asked = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    version = re.match(r"cargo (\d+)\.(\d+)", asked.stdout)
    if version is None or tuple(map(int, version.groups())) < OLDEST_CARGO:
        oldest = ".".join(map(str, OLDEST_CARGO))
        pytest.skip(f"cargo {oldest} or later is needed, this is {asked.stdout.strip() or asked.stderr.strip()!r}")
    return found


@pytest.fixture(scope="session")
def built_sample_device_plugin(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample device plugin of Kubernetes, built once for the session (and from Go's cache after the first time)."""
    program = tmp_path_factory.mktemp("go") / "sample-device-plugin"
    package = "k8s.io/kubernetes/test/images/sample-device-plugin"
    _build([go, "build", "-buildvcs=false", "-o", str(program), package], HERE / "sample_device_plugin")
    return program


@pytest.fixture
def sample_device_plugin(built_sample_device_plugin: Path) -> Iterator[Path]:
    """That plugin, for one test at a time on this machine: it writes a file of its own for each device it grants.

    The files are removed in the end.
    """
    folder = os.open(SAMPLE_FOLDER, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield built_sample_device_plugin
        for device in SAMPLE_DEVICES:
            (SAMPLE_FOLDER / device).unlink(missing_ok=True)
    finally:
        os.close(folder)


@pytest.fixture(scope="session")
def rdma_shared_device_plugin(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin for shared RDMA devices, with a main of ours (see its folder)."""
    program = tmp_path_factory.mktemp("go") / "rdma-shared-device-plugin"
    _build([go, "build", "-buildvcs=false", "-o", str(program), "."], HERE / "rdma_shared_device_plugin")
    return program


@pytest.fixture(scope="session")
def pod_resources_client(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A client of the pod resources API with Kubernetes' own package, and a main of ours (see its folder)."""
    program = tmp_path_factory.mktemp("go") / "pod-resources-client"
    _build([go, "build", "-buildvcs=false", "-o", str(program), "."], HERE / "pod_resources_client")
    return program


@pytest.fixture(scope="session")
def cri_reader(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader of CRI's JSON with Kubernetes' own package, and a main of ours (see its folder)."""
    program = tmp_path_factory.mktemp("go") / "cri-reader"
    _build([go, "build", "-buildvcs=false", "-o", str(program), "."], HERE / "cri_reader")
    return program


@pytest.fixture(scope="session")
def widget_plugin(cargo: str) -> Path:
    """The example of the Rust crate k8s-device-plugin-lib.

    It names a newer Rust than it needs, hence the flag.
    """
    return _installed(cargo, "k8s-device-plugin-lib", "0.2.0", "example_plugin", ["--ignore-rust-version"])


@pytest.fixture(scope="session")
def mock_plugin(cargo: str) -> Path:
    """The example of the Rust crate generic-device-plugin, which needs protoc when it is built."""

    def with_protoc() -> dict[str, str]:
        if shutil.which("protoc") or "PROTOC" in os.environ:
            return {}
        # The target folder inside ours would be there for every linter to find.
        target = _cache() / "protoc-path"
        place = _build([cargo, "run", "--quiet", "--locked", "--target-dir", str(target)], HERE / "protoc_path")
        return {"PROTOC": place.strip()}

    return _installed(cargo, "generic-device-plugin", "0.0.1", "mock", [], with_protoc)


@pytest.fixture
def rdma_machine(short_root: Path) -> RdmaMachine:
    """A machine without hardware, for the plugin of shared RDMA devices."""
    return RdmaMachine.made(short_root / "machine")


@pytest.fixture
def rdma_card(rdma_machine: RdmaMachine) -> Path:
    """A network card in that machine; returns the file without which it can do no RDMA."""
    return rdma_machine.put_card()


@pytest.fixture
def start_isolated(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a program with a directory bound where plugins expect it; it is gone when the test ends.

    `shown` holds further directories of ours that it sees, by the path where it sees them; `environment` is added to
    ours.
    """
    if (why := namespaces_available()) is not None:
        pytest.skip(f"no mount namespace on this machine: {why}")
    with ExitStack() as stack:

        def start(
            program: Path,
            device_plugins: Path,
            *arguments: str,
            shown: Mapping[str, Path] | None = None,
            environment: Mapping[str, str] | None = None,
        ) -> subprocess.Popen[bytes]:
            binds = {DEVICE_PLUGIN_DIR: device_plugins, **(shown or {})}
            options = [part for target, source in binds.items() for part in ("--bind", str(source), target)]
            command = [*LAUNCHER, *options, "--", str(program), *arguments]
            process = subprocess.Popen(command, start_new_session=True, env={**os.environ, **(environment or {})})
            stack.callback(_end, process)
            return process

        yield start


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(timeout=PATIENCE_S)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = Path(base, "kubelet-sim", "interop", platform.machine())
    place.mkdir(parents=True, exist_ok=True)
    return place


def _installed(
    cargo: str,
    crate: str,
    version: str,
    example: str,
    options: Sequence[str],
    further: Callable[[], dict[str, str]] = dict,
) -> Path:
    """An example program of a crate, built with the versions that its authors locked, or kept from last time."""
    root = _cache() / f"{crate}-{version}"
    program = root / "bin" / example
    if not program.is_file():
        # Fast to build rather than fast to run; cargo removes its working files itself.
        environment = {"CARGO_PROFILE_DEV_DEBUG": "0", **further()}
        chosen = ["--version", f"={version}", "--example", example, "--locked", "--debug", *options]
        _build([cargo, "install", crate, *chosen, "--root", str(root)], HERE, environment)
    return program


def _build(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a build and return what it printed on stdout. A failure fails the test with what the tool said, no traceback."""
    choices: dict[str, Any] = {"cwd": folder, "env": {**os.environ, **(environment or {})}, "timeout": BUILD_TIMEOUT_S}
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, **choices
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"not built in {BUILD_TIMEOUT_S} s: {' '.join(command)}", pytrace=False)
    if done.returncode != 0:
        said = "\n".join(done.stderr.splitlines()[-20:])
        text = f"another project's plugin was not built (is its registry reachable?): {' '.join(command)}\n{said}"
        pytest.fail(text, pytrace=False)
    return done.stdout
