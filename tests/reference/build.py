"""Builds the reference harness for a release of Kubernetes: python tests/reference/build.py [1.36.2]

It takes Go, and a module proxy that has `k8s.io/kubernetes` of that release. The release of `go.mod` is built in place; for
another one a copy gets a `go.mod` of its own. Nothing is built anew if nothing has changed. Ends with 2 without Go, with
1 if it does not compile.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
PINNED = "1.36.2"
TIDIED = "tidied"
"""A file beside a `go.mod` that was resolved to its end: a `go.sum` may be what a failure left behind."""


def tags(version: str) -> str:
    """The build tags of a release: which signatures it has (`release*.go`)."""
    minor = int(version.split(".")[1])
    return ",".join(f"before1{later}" for later in (34, 35) if minor < later)


def go(*arguments: str, within: Path = HERE) -> str:
    """What the command prints. Raises `CalledProcessError`, with what it complained of."""
    path = f"{os.environ.get('PATH', '')}:/usr/local/go/bin"
    done = subprocess.run(
        ["go", *arguments], cwd=within, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return done.stdout


def module_for(version: str) -> Path:
    """A copy of the module that requires this release, with the staging modules that belong to it."""
    folder = BUILD / f"module-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    for source in HERE.glob("*.go"):
        shutil.copy(source, folder)
    if not (folder / TIDIED).exists():
        (folder / "go.sum").unlink(missing_ok=True)
        (folder / "go.mod").write_text(
            f"module kubelet-sim/tests/reference\n\ngo 1.22.0\n\nrequire k8s.io/kubernetes v{version}\n"
        )
        found = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{version}", within=folder))
        upstream = Path(found["GoMod"]).read_text(encoding="utf-8")
        staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging/", upstream, re.MULTILINE)
        released = "v0" + version[1:]
        go("mod", "edit", *(f"-replace={name}={name}@{released}" for name in staging), within=folder)
        _tidy(folder, staging, released)
        (folder / TIDIED).touch()
    return folder


def _tidy(folder: Path, staging: Sequence[str], released: str) -> None:
    """Resolve the module; a staging module that the proxy lacks at this patch release is had from the one before.

    Tags of all of them are made together, and what we use does not change within a minor release.
    """
    stood_in_for: set[str] = set()
    while True:
        try:
            go("mod", "tidy", within=folder)
        except subprocess.CalledProcessError as failure:
            missing = {name for name in staging if f"{name}@{released}: " in failure.stderr} - stood_in_for
            if not missing:
                raise
            for name in sorted(missing):
                instead = _patch_before(name, released, folder)
                sys.stderr.write(f"{name} {released} cannot be had: {instead} stands in for it\n")
                go("mod", "edit", f"-replace={name}={name}@{instead}", within=folder)
            stood_in_for |= missing
        else:
            return


def _patch_before(name: str, released: str, folder: Path) -> str:
    """The last release of the same minor that the proxy lists, at most that one."""
    minor, _, patch = released.rpartition(".")
    listed = go("list", "-m", "-versions", name, within=folder).split()[1:]
    patches = [int(each.rpartition(".")[2]) for each in listed if re.fullmatch(rf"{re.escape(minor)}\.\d+", each)]
    return f"{minor}.{max(each for each in patches if each < int(patch))}"


def main(arguments: Sequence[str]) -> int:
    """Build one release."""
    version = arguments[0] if arguments else PINNED
    if not (shutil.which("go") or Path("/usr/local/go/bin/go").exists()):
        sys.stderr.write("there is no go: the harness cannot be built\n")
        return 2
    BUILD.mkdir(exist_ok=True)
    target = BUILD / f"reference-{version}"
    chosen = tags(version)
    try:
        folder = HERE if version == PINNED else module_for(version)
        go("build", "-trimpath", *(["-tags", chosen] if chosen else []), "-o", str(target), ".", within=folder)
    except subprocess.CalledProcessError as failure:
        sys.stderr.write(f"{failure.stderr}\nthe harness for {version} could not be built\n")
        return 1
    sys.stdout.write(f"{target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
