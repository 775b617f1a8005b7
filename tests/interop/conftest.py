"""Other people's plugins, built from the Go module proxy. Without `go` these tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kubelet_sim.node.isolation import isolated_command, namespaces_available

HERE = Path(__file__).parent
StartPlugin = Callable[[Path], "subprocess.Popen[bytes]"]


@pytest.fixture(scope="session")
def go() -> str:
    """The Go command."""
    found = shutil.which("go", path=os.environ.get("PATH", "") + ":/usr/local/go/bin")
    if found is None:
        pytest.skip("no Go on this machine: other people's plugins cannot be built")
    return found


@pytest.fixture(scope="session")
def sample_device_plugin(go: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample device plugin of Kubernetes, built once for the session (and from Go's cache after the first time)."""
    program = tmp_path_factory.mktemp("go") / "sample-device-plugin"
    package = "k8s.io/kubernetes/test/images/sample-device-plugin"
    command = [go, "build", "-buildvcs=false", "-o", str(program), package]
    subprocess.run(command, cwd=HERE / "sample_device_plugin", check=True, timeout=900)
    return program


@pytest.fixture
def start_isolated(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[Path, Path], subprocess.Popen[bytes]]]:
    """Start a program with a directory bound where plugins expect it; it is gone when the test ends."""
    if (why := namespaces_available()) is not None:
        pytest.skip(f"no mount namespace on this machine: {why}")
    with ExitStack() as stack:

        def start(program: Path, device_plugins: Path) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(isolated_command(device_plugins, [str(program)]), start_new_session=True)
            stack.callback(_end, process)
            return process

        yield start


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(timeout=10)
