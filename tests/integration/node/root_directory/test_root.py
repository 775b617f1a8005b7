from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.root_directory import root as root_module
from kubelet_sim.node.root_directory.layout import RootLayout
from kubelet_sim.node.root_directory.root import Root, default_root
from kubelet_sim.node.root_directory.root_checks import check_no_real_node
from tests.patience import PATIENCE_S


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path that everybody may look into."""
    path = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def _tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below, with mode, inode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_ino, content)
    return found


def _refusal(folder: Path, root: Path) -> str:
    """The one line of a refusal that changed nothing."""
    before = _tree(folder)
    with pytest.raises(UsageError) as caught:
        Root.open(root)
    assert _tree(folder) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_root_is_made_with_its_lock_and_marker(folder: Path) -> None:
    """A root is made with all its parents, its lock and its marker. Rules: DM-2"""
    before = os.umask(0o022)
    try:
        with Root.open(folder / "deep" / "root") as root:
            assert root.layout.path == folder / "deep" / "root"
            assert root.layout.registration_socket == root.layout.path / "device-plugins" / "kubelet.sock"
            assert root.layout.checkpoint == root.layout.path / "device-plugins" / "kubelet_internal_checkpoint"
            assert root.layout.control_socket == root.layout.path / "kubelet-sim" / "control.sock"
            assert [_mode(path) for path in (root.layout.path, root.layout.device_plugins, root.layout.private)] == [
                0o755,
                0o755,
                0o700,
            ]
            assert root.layout.lock.read_text() == f"{os.getpid()}\n"
            assert root.layout.marker.is_file()
    finally:
        os.umask(before)


def test_directories_that_are_there_are_used(folder: Path) -> None:
    """A device-plugin directory keeps its mode and content, our own becomes ours alone. Rules: DM-2"""
    (folder / "device-plugins").mkdir(0o711)
    (folder / "device-plugins" / "plugin.json").write_text("{}")
    (folder / "kubelet-sim").mkdir(0o755)

    with Root.open(folder) as root:
        assert _mode(root.layout.device_plugins) == 0o711
        assert (root.layout.device_plugins / "plugin.json").read_text() == "{}"
        assert _mode(root.layout.private) == 0o700


def test_a_root_may_be_named_by_a_relative_path_or_a_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A root may be named by a relative path or a link; its own paths are absolute and free of links."""
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    monkeypatch.chdir(folder)

    with Root.open(Path("link/../link/root")) as root:
        assert root.layout.path == folder / "real" / "root"


def test_opened_again(folder: Path) -> None:
    """A root with our marker is opened again with its checkpoint in it, after close as often as one likes."""
    with Root.open(folder) as root:
        root.layout.checkpoint.write_text("{}")
        root.close()

    with Root.open(folder) as root:
        assert root.layout.checkpoint.read_text() == "{}"


def test_a_second_node_in_a_root_is_refused(folder: Path) -> None:
    """Two nodes cannot share a root; the refusal names the process of the first."""
    with Root.open(folder):
        text = _refusal(folder, folder)

    assert f"a node is running in {folder} already (process {os.getpid()})" in text


def test_a_second_node_at_the_same_moment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two nodes that find the root free at once one gets it, and the other takes nothing away from it."""
    winners = []

    def overtaken(layout: RootLayout) -> None:
        check_no_real_node(layout)
        monkeypatch.undo()
        winners.append(Root.open(layout.path))

    monkeypatch.setattr(root_module, "check_no_real_node", overtaken)

    with pytest.raises(UsageError, match="a node is running"):
        Root.open(folder / "root")
    with winners[0] as root:
        assert root.layout.lock.is_file()
        assert root.layout.marker.is_file()


def test_a_node_that_was_killed(folder: Path) -> None:
    """The lock of a dead process holds up nobody."""
    program = (
        "import os, pathlib, signal, sys\n"
        "from kubelet_sim.node.root_directory.root import Root\n"
        "root = Root.open(pathlib.Path(sys.argv[1]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(root_module.__file__).parents[3])}
    ended = subprocess.run(
        [sys.executable, "-c", program, str(folder)], check=False, timeout=PATIENCE_S, env=environment
    )
    assert ended.returncode == -signal.SIGKILL
    assert (folder / "kubelet-sim" / "lock").is_file()

    with Root.open(folder) as root:
        assert root.layout.lock.read_text() == f"{os.getpid()}\n"


def test_a_kubelet_answers(folder: Path) -> None:
    """A root whose registration socket answers is refused, marker or not."""
    with Root.open(folder) as root:
        path = root.layout.registration_socket
    with socket.socket(socket.AF_UNIX) as kubelet:
        kubelet.bind(str(path))
        kubelet.listen()

        assert "a kubelet or another node answers on" in _refusal(folder, folder)
        (folder / "kubelet-sim" / "marker").unlink()
        assert "a kubelet or another node answers on" in _refusal(folder, folder)


def test_a_kubelet_that_is_too_busy_to_answer(folder: Path) -> None:
    """A registration socket whose queue is full belongs to somebody, too."""
    (folder / "device-plugins").mkdir()
    path = str(folder / "device-plugins" / "kubelet.sock")
    with socket.socket(socket.AF_UNIX) as kubelet, socket.socket(socket.AF_UNIX) as first:
        kubelet.bind(path)
        kubelet.listen(0)
        first.connect(path)

        assert "a kubelet or another node answers on" in _refusal(folder, folder)


def test_a_stale_registration_socket_is_no_obstacle(folder: Path) -> None:
    """A socket file that a dead node left behind is no obstacle, and stays for the cleaning. Rules: DM-8, DM-16"""
    (folder / "device-plugins").mkdir()
    with socket.socket(socket.AF_UNIX) as kubelet:
        kubelet.bind(str(folder / "device-plugins" / "kubelet.sock"))

    with Root.open(folder) as root:
        assert root.layout.registration_socket.is_socket()


def test_a_checkpoint_without_our_marker_is_refused(folder: Path) -> None:
    """A checkpoint without our marker may be a real node's: refused, and nothing is touched."""
    (folder / "device-plugins").mkdir()
    (folder / "device-plugins" / "kubelet_internal_checkpoint").write_text("{}")

    assert "may belong to a real node" in _refusal(folder, folder)


@pytest.mark.parametrize(
    "name", ["pki", "cpu_manager_state", "memory_manager_state", "plugins_registry", "pod-resources"]
)
def test_the_root_of_a_real_kubelet_is_refused(folder: Path, name: str) -> None:
    """What only a kubelet makes says whose root it is, checkpoint or not; under our marker it is ours."""
    (folder / name).mkdir()
    assert f"holds {name}, so it may belong to a real node" in _refusal(folder, folder)

    (folder / "kubelet-sim").mkdir(mode=0o700)
    (folder / "kubelet-sim" / "marker").touch()
    with Root.open(folder):
        pass


@pytest.mark.parametrize("name", ["kubelet.sock", "kubelet_internal_checkpoint"])
def test_a_device_plugin_directory_is_refused_as_root(folder: Path, name: str) -> None:
    """Who names the device-plugin directory itself is told so."""
    (folder / name).touch()

    assert "is a device-plugin directory itself" in _refusal(folder, folder)


@pytest.mark.parametrize("name", ["device-plugins", "kubelet-sim"])
def test_a_link_out_of_the_root_is_refused(folder: Path, name: str) -> None:
    """A directory of the root that is a link could be a real node's."""
    (folder / "elsewhere").mkdir()
    (folder / "root").mkdir()
    (folder / "root" / name).symlink_to("../elsewhere")

    assert "is a symbolic link" in _refusal(folder, folder / "root")


@pytest.mark.parametrize("name", ["root", "root/device-plugins", "root/kubelet-sim"])
def test_a_file_in_the_place_of_a_directory_is_refused(folder: Path, name: str) -> None:
    """A file where a directory belongs is refused by its name."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.touch()

    assert f"{path} is not a directory" in _refusal(folder, folder / "root")


def test_a_root_below_a_file_is_refused(folder: Path) -> None:
    """A root cannot be made below a file."""
    (folder / "file").touch()

    assert f"{folder}/file is not a directory" in _refusal(folder, folder / "file" / "a" / "root")


def test_a_path_that_leads_nowhere_is_refused(folder: Path) -> None:
    """A path that leads nowhere is refused."""
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")

    assert str(folder) in _refusal(folder, folder / "a" / "root")


@pytest.mark.parametrize("excess", [0, 1, 30])
def test_a_path_too_long_for_sockets_is_refused(folder: Path, excess: int) -> None:
    """Socket paths may have 107 bytes, not characters; the refusal says how long they are."""
    rest = len("/device-plugins/kubelet.sock")
    letters = 107 + excess - rest - len(os.fsencode(folder)) - len("/")
    root = folder / ("é" * (letters // 2) + "x" * (letters % 2))
    if not excess:
        Root.open(root).close()
        return

    text = _refusal(folder, root)

    assert f"would have {107 + excess} bytes, the system allows 107" in text
    assert f"at least {excess} bytes shorter" in text


@pytest.mark.parametrize("name", ["", "device-plugins", "kubelet-sim"])
def test_a_directory_that_may_not_be_written_to_is_refused(folder: Path, name: str) -> None:
    """A directory that may not be written to is refused by its name."""
    root = folder / "root"
    root.mkdir()
    path = root / name
    path.mkdir(exist_ok=True)
    user_id = os.geteuid()
    if user_id == 0:  # modes do not bind root
        os.chown(root, 65534, 65534)
        os.chown(path, 65534, 65534)
        os.seteuid(65534)
    path.chmod(0o555)
    try:
        text = _refusal(folder, root)
    finally:
        path.chmod(0o755)
        os.seteuid(user_id)

    assert f"no permission to write to {path}" in text


def test_what_was_made_is_removed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fails in the middle, everything that was made until then is taken away."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)

    assert "no space left on device" in _refusal(folder, folder / "deep" / "root")


def test_a_refused_root_can_be_opened_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed opening holds no lock."""
    Root.open(folder).close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(5, "")))
        assert "input/output error" in _refusal(folder, folder)

    Root.open(folder).close()


def test_the_default_root_of_a_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a session the default root lies in its run directory, and is not made before a node starts."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))

    assert default_root() == folder / "kubelet-sim"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("run_directory", ["", "relative", "/nowhere/at/all"])
def test_the_default_root_without_a_session(folder: Path, monkeypatch: pytest.MonkeyPatch, run_directory: str) -> None:
    """Without a usable run directory it is a directory of the user's own, closed to others."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", run_directory)
    monkeypatch.setattr(root_module, "_SHARED", folder)

    root = default_root()

    assert root == default_root() == folder / f"kubelet-sim-{os.geteuid()}"
    assert _mode(root) == 0o700


@pytest.mark.parametrize("kind", ["link", "file", "open"])
def test_a_default_root_that_is_not_ours(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What somebody else may have put in the default root's place is refused."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(root_module, "_SHARED", folder)
    path = folder / f"kubelet-sim-{os.geteuid()}"
    match kind:
        case "link":
            path.symlink_to("/")
        case "file":
            path.touch()
        case _:
            path.mkdir()
            path.chmod(0o777)

    with pytest.raises(UsageError, match="--root"):
        default_root()


def test_a_default_root_of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of the right name that belongs to another user is refused."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(root_module, "_SHARED", folder)
    path = folder / "kubelet-sim-12345"
    path.mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)

    with pytest.raises(UsageError, match="not a directory of yours alone"):
        default_root()


def test_a_read_only_file_system_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another mode or owner would not help."""
    real = os.statvfs

    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda path: ReadOnly if path == folder else real(path))
    assert f"{folder} is on a read-only file system" in _refusal(folder, folder / "root")
