"""Runs one command with directories of ours at those of `/var/lib/kubelet`, in a mount namespace of its own.

Most real plugins have `/var/lib/kubelet/device-plugins` compiled in. Nothing of the host is touched: whatever is mounted or made here is seen by
the command and its children only, and gone with the last of them.

This file is a program as well as a module. It is started by its path, with `python -I -S`, so that it comes up in a few
milliseconds, needs one thread only (a user namespace cannot be entered by more) and depends on nothing that the plugin's
environment may say about Python. Hence: the standard library alone, no import of ours.

Exit codes of the program: those of the command; 127 when it was not found, 126 when it could not be run (as env(1) has
it), 3 when there can be no namespace here, 2 for misuse. Every failure of its own is one line on stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

KUBELET_DIR = "/var/lib/kubelet"
DEVICE_PLUGIN_DIR = "/var/lib/kubelet/device-plugins"
FURTHER_DIRS = ("/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/pod-resources")
"""What else a plugin may look for. Each is shown if the node has it beside its device-plugin directory."""
LAUNCHER = (sys.executable, "-I", "-S", str(Path(__file__).resolve()))
"""What every command line made here begins with."""

NAME = "kubelet-sim"
EXIT_MISUSE, EXIT_NO_NAMESPACE, EXIT_CANNOT_RUN, EXIT_NOT_FOUND = 2, 3, 126, 127
PROBE_LIMIT_S = 10.0
ADVICE = (
    "run as root, allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns; "
    "in a container: CAP_SYS_ADMIN), or point the plugin itself at the node's directory"
)

CLONE_NEWNS, CLONE_NEWUSER = 0x0002_0000, 0x1000_0000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x4_0000
PR_SET_PDEATHSIG = 1
DIRECTORY = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_CLOEXEC
OPEN_TO_READERS = 0o755  # as the kubelet makes its directory, whatever the umask of a user


class LaunchFailed(Exception):
    """The command cannot be started; the text is for people, `code` is the exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


# ------------------------------------------------------------------------------------------------- for those who start it


def isolated_command(device_plugin_dir: Path, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` and shows it `device_plugin_dir`, and what lies beside it, at the kubelet's paths."""
    directory = device_plugin_dir.absolute()
    binds = ["--bind", str(directory), DEVICE_PLUGIN_DIR]
    for target in FURTHER_DIRS:
        beside = directory.with_name(Path(target).name)
        if beside.is_dir():
            binds += ["--bind", str(beside), target]
    return [*LAUNCHER, *binds, "--", *command]


def isolated_in_root(root: Path, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` and shows it the whole of `root` at the kubelet's, whatever comes and goes in it."""
    return [*LAUNCHER, "--bind", str(root.absolute()), KUBELET_DIR, "--", *command]


def supervised_command(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` and ends it with SIGKILL when this process dies, however it dies.

    "Dies" means the thread that started it: start it from the main thread. A command line of `isolated_command` stays one.
    """
    watch = ["--parent", str(os.getpid())]
    own = len(LAUNCHER)
    if tuple(command[:own]) == LAUNCHER:
        return [*LAUNCHER, *watch, *command[own:]]
    return [*LAUNCHER, *watch, "--", *command]


def namespaces_available() -> str | None:
    """Why no command can be isolated on this machine, in one line, or None if it can."""
    try:
        done = subprocess.run(  # noqa: S603 - our own file
            [*LAUNCHER, "--probe"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=PROBE_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()[-1:]  # its last line: before it there may be a traceback, or a warning
    return said[0].removeprefix(f"{NAME}: ") if said else f"the probe ended with {done.returncode}"


# --------------------------------------------------------------------------------------------------------- the namespace


def enter_namespace() -> None:
    """Put this process into a mount namespace whose changes nobody else sees. Raises `LaunchFailed`.

    Without the privilege, a user namespace grants it: there we are root (plugins expect to be), outside the same user.
    """
    if not sys.platform.startswith("linux"):
        raise LaunchFailed(
            "a private mount namespace needs Linux; point the plugin at the node's directory", EXIT_NO_NAMESPACE
        )
    try:
        try:
            _unshare(CLONE_NEWNS)
        except PermissionError:
            user, group = os.geteuid(), os.getegid()
            _unshare(CLONE_NEWUSER | CLONE_NEWNS)
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
        _mount(None, "/", None, MS_REC | MS_PRIVATE)
    except OSError as error:
        raise LaunchFailed(
            f"no private mount namespace here ({error.strerror}): {ADVICE}", EXIT_NO_NAMESPACE
        ) from error


def probe() -> None:
    """Find out whether mounting works, which some machines forbid only then. Raises `LaunchFailed`."""
    enter_namespace()
    try:
        _mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV)
    except OSError as error:
        raise LaunchFailed(f"mounting is not allowed here ({error.strerror}): {ADVICE}", EXIT_NO_NAMESPACE) from error


def bind(source: str, target: str) -> None:
    """Show the directory `source` at `target`, which is made, for this namespace only, if need be. Raises `LaunchFailed`."""
    try:
        # Opened first: the place where the target is made may hide the way to it.
        handle = os.open(source, DIRECTORY)
        place = Path(target).resolve()
        base, missing = _split(place)
        if missing:
            _make_inside(base, missing)
        _mount(f"/proc/self/fd/{handle}", str(place), None, MS_BIND | MS_REC)
        os.close(handle)
    except OSError as error:
        cause = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        raise LaunchFailed(f"cannot show {source!r} at {target!r}: {cause}", EXIT_NO_NAMESPACE) from error


def _split(target: Path) -> tuple[Path, list[str]]:
    """The directory that is there, and the names below it that have to be made (none: the target is there).

    A directory that we may not search or list (a real kubelet's is closed to users) counts as not there: it is made anew.
    """
    names = target.parts[1:]
    usable = [Path("/")]
    for name in names:
        path = usable[-1] / name
        if not os.path.lexists(path):
            break
        if path == target:
            return target, []
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
        if not os.access(path, os.X_OK, effective_ids=True):
            break
        usable.append(path)
    while len(usable) > 1 and not os.access(usable[-1], os.R_OK, effective_ids=True):
        usable.pop()
    return usable[-1], list(names[len(usable) - 1 :])


def _make_inside(base: Path, missing: Sequence[str]) -> None:
    """Cover `base` by a copy of itself in which the directories `missing`, one in another, exist.

    The copy is an empty file system that holds every entry of `base` again: links copied, the rest bound.
    """
    if base == Path("/"):
        # A mount over the root directory is not what absolute paths lead to.
        raise FileNotFoundError(errno.ENOENT, "no such directory; make it first", f"/{missing[0]}")
    handle = os.open(base, DIRECTORY)
    covered = Path(f"/proc/self/fd/{handle}")
    entries = [entry for entry in covered.iterdir() if entry.name != missing[0]]
    _mount("tmpfs", str(base), "tmpfs", MS_NOSUID | MS_NODEV, f"mode={stat.S_IMODE(covered.stat().st_mode):o}")
    for entry in entries:
        # What vanishes meanwhile is not there either way.
        with contextlib.suppress(FileNotFoundError):
            _show_again(entry, base / entry.name)
    os.close(handle)
    path = base
    for name in missing:
        path /= name
        path.mkdir()
        path.chmod(OPEN_TO_READERS)


def _show_again(old: Path, new: Path) -> None:
    mode = old.lstat().st_mode
    if stat.S_ISLNK(mode):
        new.symlink_to(old.readlink())
        return
    if stat.S_ISDIR(mode):
        new.mkdir()
    else:
        new.touch()
    _mount(str(old), str(new), None, MS_BIND | MS_REC)


# -------------------------------------------------------------------------------------------------------- the C library


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unshare(flags: int) -> None:
    # `os.unshare` came with Python 3.12.
    _check(_libc().unshare(ctypes.c_int(flags)))


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _check(_libc().mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]))


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, the process `parent`, dies; die now if it is dead already.

    Entering a user namespace forgets this, running a program does not.
    """
    if sys.platform.startswith("linux"):
        _check(_libc().prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


# ---------------------------------------------------------------------------------------------------------- the program


def execute(command: list[str]) -> NoReturn:
    """Replaces this process by the plugin's command. Raises `LaunchFailed`."""
    # Python ignores SIGPIPE, and what is ignored stays so in the program that follows.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    # The working directory may have been covered: enter it again by its name.
    with contextlib.suppress(OSError):
        os.chdir(Path.cwd())
    name = command[0]
    try:
        os.execvp(name, command)  # noqa: S606 - that is what this program is for
    except FileNotFoundError as error:
        # The file may be there and its interpreter not.
        missing = "its interpreter was not found" if "/" in name and Path(name).exists() else "command not found"
        raise LaunchFailed(f"{name!r}: {missing}", EXIT_NOT_FOUND) from error
    except (OSError, ValueError) as error:
        raise LaunchFailed(f"{name!r}: {getattr(error, 'strerror', None) or error}", EXIT_CANNOT_RUN) from error


def run(arguments: Sequence[str]) -> None:
    """Carry out `[--parent PID] [--bind SOURCE TARGET]… -- COMMAND…`, or `--probe`. Raises `LaunchFailed`."""
    binds: list[tuple[str, str]] = []
    parent = None
    rest = list(arguments)
    while rest and (option := rest.pop(0)) != "--":
        match option, rest:
            case "--probe", []:
                probe()
                return
            case "--parent", [number, *rest] if number.isdecimal():
                parent = int(number)
            case "--bind", [source, target, *rest] if target.startswith("/"):
                binds.append((source, target))
            case _:
                raise LaunchFailed(f"unexpected argument {option!r}", EXIT_MISUSE)
    if not rest:
        raise LaunchFailed("no command given; usage: [--bind SOURCE TARGET]… -- COMMAND…", EXIT_MISUSE)
    if binds:
        enter_namespace()
    for source, target in binds:
        bind(source, target)
    if parent is not None:
        die_with(parent)
    execute(rest)


def main() -> int:
    """The program. Returns only if it failed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        run(sys.argv[1:])
    except LaunchFailed as failure:
        sys.stderr.write(f"{NAME}: {failure}\n")
        return failure.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
