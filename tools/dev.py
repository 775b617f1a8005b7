"""The project's own commands, on a machine with only Python and pip.

    python3 tools/dev.py demo        a node, an example plugin, a pod, and the merged container spec
    python3 tools/dev.py test        the tests, side by side (`-n0`: one by one); further arguments go to pytest, `-m whole`
                                     for what the sample of slow ones leaves out
    python3 tools/dev.py lint        ruff, mypy, import-linter
    python3 tools/dev.py generated   whether every generated file is fresh
    python3 tools/dev.py pip ...     a pip that is new enough, for .venv or for another `--python`

Each makes `.venv` in the project where it is missing, and installs the project into it where `pyproject.toml` or
`requirements.lock`, which says in what versions, has changed since. Only the standard library is used here, and nothing newer than Python 3.7, so that an older one gets a clear line.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
STAMP = VENV / "kubelet-sim-installed.json"
LOG = VENV / "kubelet-sim-install.log"
OLDEST_PYTHON = (3, 11)
OLDEST_PIP = (22, 3)  # the first with `--python`
EXTRA_OF = {"demo": "", "test": "test", "lint": "dev", "generated": "dev", "pip": ""}
CONTAINED = {"": {""}, "test": {"", "test"}, "dev": {"", "test", "dev"}}


class Failed(Exception):
    """Something that the user has to know; the text is one line."""


def main(arguments: list[str]) -> int:
    """Carry out one verb; returns the exit code if it has not become another program."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0 if arguments else 2
    verb, rest = arguments[0], arguments[1:]
    if verb not in EXTRA_OF:
        say(f"no verb {verb!r}; there are: {', '.join(EXTRA_OF)}")
        return 2
    check_python()
    environment = make_environment()
    set_up(EXTRA_OF[verb], environment)
    sys.stdout.flush()
    if verb == "pip":
        target = [] if "--python" in rest else ["--python", str(PYTHON)]
        become([*find_pip(environment), *target, *rest], environment)
    if verb == "demo":
        # Where it was called from: a user's own files are named from there. On the caller's path, which is what the
        # demo's last lines look at.
        path = os.environ.get("PATH", os.defpath)
        become([str(VENV / "bin" / "kubelet-sim"), "demo", *rest], {**environment, "PATH": path})
    os.chdir(ROOT)
    if verb == "test":
        # Most of the time of many tests is waiting for a plugin: more workers than cores, and nobody idle beside a queue.
        workers = str((os.cpu_count() or 1) + 4)
        become(
            [str(PYTHON), "-m", "pytest", "-n", workers, "--dist", "worksteal", *rest], environment
        )  # a later -n counts
    return run_all(lint_commands() if verb == "lint" else generated_commands(), rest, environment)


def check_python() -> None:
    """Refuse a Python that the project does not know, and name one that it does if there is one."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    newer = next((name for minor in range(20, 10, -1) for name in [f"python3.{minor}"] if shutil.which(name)), None)
    advice = f"; try: {newer} {sys.argv[0]}" if newer else ""
    raise Failed("Python 3.11 or later is needed, this is {}.{}{}".format(*sys.version_info[:2], advice))


def make_environment() -> dict[str, str]:
    """The environment of everything that is started: our venv, and nothing that leads Python or pip elsewhere."""
    leading_elsewhere = {
        "PYTHONHOME",
        "PYTHONPATH",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_REQUIRE_VIRTUALENV",
        "PIP_PYTHON",
    }
    environment = {name: value for name, value in os.environ.items() if name not in leading_elsewhere}
    environment["PIP_USER"] = "0"
    environment["PIP_ROOT_USER_ACTION"] = "ignore"
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    environment["VIRTUAL_ENV"] = str(VENV)
    environment["PATH"] = os.pathsep.join([str(VENV / "bin"), os.environ.get("PATH", os.defpath)])
    return environment


# --------------------------------------------------------------------------------------------------------- the set-up


def set_up(extra: str, environment: dict[str, str]) -> None:
    """Bring `.venv` to where `extra` of the project as it is now is installed. Two at once wait for each other."""
    with alone():
        if not venv_works():
            make_venv()
        digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + LOCK.read_bytes()).hexdigest()
        wanted = {"pyproject": digest, "root": str(ROOT)}
        stamp = read_stamp()
        before: set[str] = set(stamp.get("extras", []))
        fresh = {name: stamp.get(name) for name in wanted} == wanted
        if fresh and any(extra in CONTAINED.get(had, ()) for had in before):
            return
        extras = before | {extra}
        install(sorted(extras - {""}), environment)
        STAMP.write_text(json.dumps({**wanted, "extras": sorted(extras)}), encoding="utf-8")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hold the project's lock: one set-up at a time."""
    descriptor = os.open(str(ROOT), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_stamp() -> dict[str, Any]:
    """What was installed, as the last set-up that came to its end wrote it; empty if none did."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def venv_works() -> bool:
    """Whether there is a venv with a Python that runs and is new enough."""
    test = f"import sys; sys.exit(sys.prefix == sys.base_prefix or sys.version_info < {OLDEST_PYTHON})"
    try:
        return subprocess.run([str(PYTHON), "-I", "-c", test], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def make_venv() -> None:
    """Make `.venv` without pip in it: Debian's Python has no ensurepip, and a pip outside serves as well."""
    if VENV.exists() and not STAMP.exists() and any(VENV.iterdir()):
        raise Failed(f"{VENV} is there, was not made by this script, and has no working Python >= 3.11: remove it")
    say(f"making {VENV}")
    command = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"`python3 -m venv` failed: {telling_line(done.stderr + done.stdout)}")
    STAMP.write_text("{}", encoding="utf-8")


def install(extras: list[str], environment: dict[str, str]) -> None:
    """Install the project, editable, with these extras and the locked versions of all that it needs."""
    what = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    say(
        f"installing kubelet-sim{f' [{chr(44).join(extras)}]' if extras else ''} (again only when what it needs changes)"
    )
    pip = [*find_pip(environment), "--python", str(PYTHON)]
    command = [*pip, "install", "--quiet", "--constraint", str(LOCK), "--editable", what]
    STAMP.write_text("{}", encoding="utf-8")
    with LOG.open("wb") as log:
        done = subprocess.run(command, check=False, stdout=log, stderr=subprocess.STDOUT, env=environment)
    if done.returncode:
        text = LOG.read_text(encoding="utf-8", errors="replace")
        raise Failed(f"pip could not install the project: {telling_line(text)} (whole output: {LOG})")


def find_pip(environment: dict[str, str]) -> list[str]:
    """The command line of a pip that can be told by `--python` where to install.

    First one outside; then one that ensurepip puts into the venv.
    """
    base = getattr(sys, "_base_executable", None) or sys.executable
    inside = [str(PYTHON), "-m", "pip"]
    path = os.environ.get("PATH", os.defpath)  # without the venv's own bin
    for command in ([sys.executable, "-m", "pip"], [base, "-m", "pip"], ["pip3"], ["pip"], inside):
        if pip_version(command, {**environment, "PATH": path}) >= OLDEST_PIP:
            return [shutil.which(command[0], path=path) or command[0], *command[1:]]
    subprocess.run([str(PYTHON), "-m", "ensurepip"], check=False, capture_output=True, env=environment)
    if pip_version(inside, environment) >= OLDEST_PIP:
        return inside
    raise Failed(
        "pip 22.3 or later is needed (Debian: apt install python3-pip), or a Python with ensurepip (Debian: python3-venv)"
    )


def pip_version(command: list[str], environment: dict[str, str]) -> tuple[int, ...]:
    """Major and minor number of that pip; empty if there is none."""
    try:
        done = subprocess.run([*command, "--version"], check=False, capture_output=True, text=True, env=environment)
    except OSError:
        return ()
    match = re.match(r"pip (\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match and not done.returncode else ()


# ----------------------------------------------------------------------------------------------------------- the verbs


def lint_commands() -> list[list[str]]:
    """What `lint` runs, in order."""
    return [
        [str(VENV / "bin" / "ruff"), "check", "."],
        [str(VENV / "bin" / "ruff"), "format", "--check", "."],
        [str(PYTHON), "-m", "mypy"],
        [str(VENV / "bin" / "lint-imports")],
    ]


def generated_commands() -> list[list[str]]:
    """The `--check` of every generator there is, by name."""
    return [[str(PYTHON), str(path), "--check"] for path in sorted((ROOT / "tools").glob("generate_*.py"))]


def run_all(commands: list[list[str]], rest: list[str], environment: dict[str, str]) -> int:
    """Run all of them, whatever the earlier ones said; 1 if any failed. `rest` is added to each."""
    failed = []
    for command in commands:
        shown = " ".join([Path(command[0]).name, *(part.replace(f"{ROOT}/", "") for part in command[1:]), *rest])
        say(shown)
        if subprocess.run([*command, *rest], check=False, env=environment).returncode:
            failed.append(shown)
    for shown in failed:
        say(f"failed: {shown}")
    return 1 if failed else 0


def become(command: list[str], environment: dict[str, str]) -> None:
    """Turn into that program: signals, terminal and exit code are its own."""
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise Failed(f"cannot start {command[0]}: {error.strerror}; remove {VENV} and try again") from error


def telling_line(text: str) -> str:
    """The line that says most: the first error that pip names, else the last line there is."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"error: (?!subprocess-exited)", line, re.IGNORECASE)]
    return (errors or lines[-1:] or ["no output"])[0]


def say(text: str) -> None:
    """One line to people; what the started programs print stays alone on stdout."""
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as error:
        say(str(error))
        sys.exit(3)
    except OSError as error:
        say(f"{error.filename or ROOT}: {error.strerror or error}")
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
