from __future__ import annotations

import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kubelet_sim.errors import TransportError
from kubelet_sim.model.plugin import CHECKPOINT_NAME
from kubelet_sim.node.root_directory.device_plugin_directory import clean_directory, make_directory


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose sockets have short paths."""
    path = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def directory(folder: Path) -> Path:
    """An empty device-plugin directory with a neighbour beside it."""
    (folder / "elsewhere").mkdir()
    path = folder / "device-plugins"
    path.mkdir()
    return path


def _socket(path: Path) -> None:
    """A socket file that nobody listens on any more."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.fsencode(path))


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Act as a user whom file modes bind, even if the tests run as root."""
    with ExitStack() as stack:
        if os.geteuid() == 0:
            os.seteuid(65534)
            stack.callback(os.seteuid, 0)
        yield


@pytest.mark.parametrize("name", ["kubelet.sock", "plugin.sock", ".hidden", "no-suffix", "\x1b[31m"])
def test_sockets_are_removed(directory: Path, name: str) -> None:
    """A socket is removed whatever its name, a stale `kubelet.sock` too. Rules: DM-8, DM-212"""
    _socket(directory / name)

    assert clean_directory(directory) == (name,)
    assert list(directory.iterdir()) == []


def test_a_socket_with_a_listener_is_removed(directory: Path) -> None:
    """A plugin that still listens loses its socket file, though not its listener. Rules: DM-8"""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "plugin.sock"))
        listener.listen()

        assert clean_directory(directory) == ("plugin.sock",)


@pytest.mark.parametrize("name", [CHECKPOINT_NAME, ".1234567", "config.json", "DEPRECATION"])
def test_regular_files_are_kept(directory: Path, name: str) -> None:
    """The checkpoint, its temporary files and every other regular file stay. Rules: DM-8, DM-15, CP-4"""
    (directory / name).write_text("text")

    assert clean_directory(directory) == ()
    assert (directory / name).read_text() == "text"


def test_a_socket_with_the_checkpoints_name_is_kept(directory: Path) -> None:
    """Nothing that has the checkpoint's name is removed, not even a socket. Rules: DM-8"""
    _socket(directory / CHECKPOINT_NAME)

    assert clean_directory(directory) == ()
    assert (directory / CHECKPOINT_NAME).is_socket()


def test_sockets_below_are_kept(directory: Path) -> None:
    """A sub-directory and the sockets in it stay. Rules: DM-8, DM-18"""
    (directory / "sub").mkdir()
    _socket(directory / "sub" / "x.sock")

    assert clean_directory(directory) == ()
    assert (directory / "sub" / "x.sock").is_socket()


def test_a_link_to_a_socket_elsewhere(directory: Path) -> None:
    """A link to a socket outside of the directory is removed, its target stays. Rules: DM-8"""
    target = directory.parent / "elsewhere" / "x.sock"
    _socket(target)
    (directory / "link").symlink_to(target)

    assert clean_directory(directory) == ("link",)
    assert list(directory.iterdir()) == []
    assert target.is_socket()


@pytest.mark.parametrize("link, removed, left", [("a", ("a", "b"), []), ("c", ("b",), ["c"])])
def test_a_link_to_a_socket_beside_it(directory: Path, link: str, removed: tuple[str, ...], left: list[str]) -> None:
    """A link to a socket of the directory goes if it is visited first, else it is left dangling. Rules: DM-8"""
    _socket(directory / "b")
    (directory / link).symlink_to("b")

    assert clean_directory(directory) == removed
    assert [path.name for path in directory.iterdir()] == left


@pytest.mark.parametrize("target", ["../elsewhere", "file", "nothing", "link"])
def test_other_links_are_kept(directory: Path, target: str) -> None:
    """Links to a directory, to a regular file, to nothing and to themselves stay. Rules: DM-8"""
    (directory / "file").touch()
    (directory / "link").symlink_to(target)

    assert clean_directory(directory) == ()
    assert (directory / "link").is_symlink()


def test_named_pipes_are_kept(directory: Path) -> None:
    """A FIFO stays. Rules: DM-8"""
    os.mkfifo(directory / "fifo")

    assert clean_directory(directory) == ()
    assert stat.S_ISFIFO((directory / "fifo").stat().st_mode)


def test_what_was_removed_is_sorted(directory: Path) -> None:
    """The names that were removed come sorted, whatever the file system's order. Rules: DM-8"""
    for name in ("c", "a", "b"):
        _socket(directory / name)

    assert clean_directory(directory) == ("a", "b", "c")


def test_a_directory_that_is_not_there(folder: Path) -> None:
    """A directory that cannot be opened ends the start, in the kubelet's words. Rules: DM-9"""
    with pytest.raises(TransportError) as caught:
        clean_directory(folder / "gone")

    assert str(caught.value) == f"open {folder}/gone: no such file or directory"


def test_a_directory_that_is_a_file(folder: Path) -> None:
    """A file in the directory's place can be opened, but not listed. Rules: DM-9"""
    (folder / "file").touch()

    with pytest.raises(TransportError) as caught:
        clean_directory(folder / "file")

    assert str(caught.value) == f"readdirent {folder}/file: not a directory"


@pytest.mark.parametrize("names, brackets", [(["a"], ("", "")), (["a", "b"], ("[", "]"))])
def test_removals_that_fail(directory: Path, names: list[str], brackets: tuple[str, str]) -> None:
    """Each removal that fails is told, several in one pair of brackets. Rules: DM-9"""
    for name in names:
        _socket(directory / name)
    directory.parent.chmod(0o755)
    directory.chmod(0o555)

    with unprivileged(), pytest.raises(TransportError) as caught:
        clean_directory(directory)
    directory.chmod(0o755)

    texts = ", ".join(f"unlinkat {directory}/{name}: permission denied" for name in names)
    assert str(caught.value) == texts.join(brackets)


def test_others_are_removed_after_a_failure(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One socket that cannot be removed does not save those that come after it. Rules: DM-9"""
    for name in ("a", "b"):
        _socket(directory / name)
    unlink = Path.unlink

    def failing(path: Path, missing_ok: bool = False) -> None:
        if path.name == "a":
            raise PermissionError(1, "Operation not permitted")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", failing)

    with pytest.raises(TransportError, match=r"unlinkat .*/a: operation not permitted"):
        clean_directory(directory)
    assert [path.name for path in directory.iterdir()] == ["a"]


def test_directories_are_made_with_their_parents(folder: Path) -> None:
    """Missing parents are made too, all with 0755 less the umask. Rules: DM-2, DM-218"""
    with _umask(0o027):
        made = make_directory(folder / "a" / "b")

    assert made == [folder / "a", folder / "a" / "b"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o750, 0o750]


def test_a_directory_that_is_there_keeps_its_mode(folder: Path) -> None:
    """A directory that exists is left as it is. Rules: DM-2"""
    folder.chmod(0o711)

    assert make_directory(folder) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o711


def test_a_directory_that_cannot_be_made(folder: Path) -> None:
    """A parent that is a file is told in the kubelet's words. Rules: DM-2, DM-9"""
    (folder / "file").touch()

    with pytest.raises(TransportError) as caught:
        make_directory(folder / "file" / "a" / "b")

    assert str(caught.value) == f"mkdir {folder}/file/a: not a directory"
