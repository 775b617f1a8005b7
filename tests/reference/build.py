"""Builds the reference harness for a release of Kubernetes: python tests/reference/build.py [1.36.2]

It takes Go, and a module proxy that has `k8s.io/kubernetes` of that release. The release of `go.mod` is built in place; for
another one a copy gets a `go.mod` of its own. Nothing is built anew if nothing has changed. Ends with 2 without Go.
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


def tags(version: str) -> str:
    """The build tags of a release: which signatures it has (`release*.go`)."""
    minor = int(version.split(".")[1])
    return ",".join(f"before1{later}" for later in (34, 35) if minor < later)


def go(*arguments: str, within: Path = HERE) -> str:
    """What the command prints. Raises `CalledProcessError`."""
    path = f"{os.environ.get('PATH', '')}:/usr/local/go/bin"
    done = subprocess.run(
        ["go", *arguments], cwd=within, env={**os.environ, "PATH": path}, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def module_for(version: str) -> Path:
    """A copy of the module that requires this release, with the staging modules that belong to it."""
    folder = BUILD / f"module-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    for source in HERE.glob("*.go"):
        shutil.copy(source, folder)
    if not (folder / "go.sum").exists():
        (folder / "go.mod").write_text(
            f"module kubelet-sim/tests/reference\n\ngo 1.22.0\n\nrequire k8s.io/kubernetes v{version}\n"
        )
        found = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{version}", within=folder))
        upstream = Path(found["GoMod"]).read_text(encoding="utf-8")
        staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging/", upstream, re.MULTILINE)
        released = "v0" + version[1:]
        go("mod", "edit", *(f"-replace={name}={name}@{released}" for name in staging), within=folder)
        go("mod", "tidy", "-e", within=folder)
    return folder


def main(arguments: Sequence[str]) -> int:
    """Build one release."""
    version = arguments[0] if arguments else PINNED
    if not (shutil.which("go") or Path("/usr/local/go/bin/go").exists()):
        sys.stderr.write("there is no go: the harness cannot be built\n")
        return 2
    folder = HERE if version == PINNED else module_for(version)
    BUILD.mkdir(exist_ok=True)
    target = BUILD / f"reference-{version}"
    chosen = tags(version)
    go("build", "-trimpath", *(["-tags", chosen] if chosen else []), "-o", str(target), ".", within=folder)
    sys.stdout.write(f"{target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
