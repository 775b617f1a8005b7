"""Generate the example plugins' own copy of the API, `plugins_examples/pb`; with `--check`, only say whether it is fresh.

The generators are those of `generate_protos.py`. What they write stays as it is: an outsider's messages live in
protobuf's default pool.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools.generate_protos import GenerationError, generators  # noqa: E402 - found only now

PROTOS = (Path("plugins_examples/pb/api.proto"), Path("plugins_examples/pb/registration.proto"))
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done or fresh, 1 stale (`--check`), 3 could not run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the committed files differ")
    parser.add_argument("--venv", type=Path, help="keep the generators' virtual environment here, and use it again")
    options = parser.parse_args(arguments)
    try:
        with generators(options.venv) as python:
            fresh = generate(python)
    except (GenerationError, subprocess.CalledProcessError) as error:
        print(f"generate_example_stubs: {error}", file=sys.stderr)
        return 3
    return report_stale(fresh) if options.check else write(fresh)


def generate(python: Path) -> dict[Path, str]:
    """The text of every generated file, by its path below the root of the project."""
    with tempfile.TemporaryDirectory(prefix="ks-stubs-") as stage:
        kinds = ("--python_out=", "--grpc_python_out=", "--mypy_out=quiet:", "--mypy_grpc_out=quiet:")
        subprocess.run(
            [python, "-m", "grpc_tools.protoc", "-I.", *(kind + stage for kind in kinds), *PROTOS],
            check=True,
            cwd=ROOT,
            env=os.environ | {"PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")])},
        )
        paths = [proto.with_name(proto.stem + suffix) for proto in PROTOS for suffix in SUFFIXES]
        return {path: (Path(stage) / path).read_text(encoding="utf-8") for path in paths}


def report_stale(fresh: Mapping[Path, str]) -> int:
    """Name the files that differ; 1 if there are any."""
    stale = [
        path for path, text in fresh.items() if not (ROOT / path).exists() or (ROOT / path).read_text("utf-8") != text
    ]
    for path in stale:
        print(f"{path} is stale: run tools/generate_example_stubs.py", file=sys.stderr)
    return 1 if stale else 0


def write(fresh: Mapping[Path, str]) -> int:
    """Write the files; 0."""
    for path, text in fresh.items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
