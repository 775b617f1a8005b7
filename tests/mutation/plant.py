"""Plant faults in the core, one at a time, and see whether the tests find each of them.

    python tests/mutation/plant.py                    every fault of `faults.py`, two at a time
    python tests/mutation/plant.py reuse sidecar      those whose file or description has one of the words
    python tests/mutation/plant.py --jobs 1

Faults are planted in a copy of the tree, never in the tree. The tests are those of the core, the topology vectors, and, if
these find nothing, some recorded stories. Ends with 1 if a fault survives, with 2 if the table does not fit the code.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutation.faults import FAULTS, Fault  # noqa: E402 (found by the line above)

CORE = Path("kubelet_sim") / "core"
COPIED = ("kubelet_sim", "tests", "pyproject.toml")
STORIES = (
    "init or sidecar or preferred or prefer or prestart or topology or checks or late or restart or leak or policy"
)
ROUNDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tests of the core", ("tests/unit/core", "tests/vectors/test_topology.py")),
    ("stories", ("tests/vectors/test_stories.py", "-k", f"not random and ({STORIES})")),
)
TIMEOUT_S = 300
FOUND, PASSED = 1, 0
"""pytest's exit codes. Any other one is a fault in the faults."""


class Misfit(Exception):
    """The table, or the tree without any fault, is not as it has to be."""


def main(arguments: Sequence[str]) -> int:
    """Plant what was asked for, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args(arguments)
    faults = [fault for fault in FAULTS if _is_meant(fault, chosen.words)]
    try:
        for fault in FAULTS:
            planted(fault, (ROOT / CORE / fault.file).read_text(encoding="utf-8"))
        survivors = _plant_all(faults, chosen.jobs)
    except Misfit as misfit:
        print(misfit)
        return 2
    print(f"{len(faults)} faults planted, {len(survivors)} survived")
    for fault in survivors:
        print(f"    {fault.file}: {fault.what}")
    return 1 if survivors else 0


def planted(fault: Fault, text: str) -> str:
    """The file's text with the fault in it."""
    if text.count(fault.old) != 1:
        raise Misfit(f"{fault.file}: {fault.what}: its text is there {text.count(fault.old)} times: {fault.old!r}")
    return text.replace(fault.old, fault.new)


def _is_meant(fault: Fault, words: Sequence[str]) -> bool:
    return not words or any(word in f"{fault.file} {fault.what}" for word in words)


def _plant_all(faults: Sequence[Fault], jobs: int) -> list[Fault]:
    with _copies(jobs) as copies:
        first = copies.get()
        if (found_by := _found_by(first)) is not None:
            raise Misfit(f"without any fault the {found_by} fail")
        copies.put(first)

        def find(fault: Fault) -> bool:
            copy = copies.get()
            file = copy / CORE / fault.file
            sound = file.read_text(encoding="utf-8")
            started = time.monotonic()
            try:
                file.write_text(planted(fault, sound), encoding="utf-8")
                found_by = _found_by(copy)
            finally:
                file.write_text(sound, encoding="utf-8")
                copies.put(copy)
            outcome = f"found by the {found_by}" if found_by else "SURVIVED"
            print(f"{time.monotonic() - started:5.1f} s  {outcome:28}  {fault.file}: {fault.what}", flush=True)
            return found_by is not None

        with ThreadPoolExecutor(jobs) as pool:
            found = list(pool.map(find, faults))
    return [fault for fault, is_found in zip(faults, found, strict=True) if not is_found]


@contextmanager
def _copies(count: int) -> Iterator[queue.Queue[Path]]:
    """Copies of the tree, in a queue of those that are free."""
    with tempfile.TemporaryDirectory(prefix="ks-plant-") as folder:
        free: queue.Queue[Path] = queue.Queue()
        for number in range(count):
            copy = Path(folder) / str(number)
            copy.mkdir()
            for name in COPIED:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, copy / name)
            free.put(copy)
        yield free


def _found_by(copy: Path) -> str | None:
    """Which tests fail in the copy; `None` if all pass."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy)}
    for name, selection in ROUNDS:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *selection]
        try:
            ended = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return f"{name} (they hang)"
        if ended.returncode == FOUND:
            return name
        if ended.returncode != PASSED:
            raise Misfit(f"pytest ended with {ended.returncode}:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
