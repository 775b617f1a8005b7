from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

SCRIPT = """
import asyncio, gc, sys
from pathlib import Path
import kubelet_sim.node.node
from tests.hostile.cases import CASES, in_a_call
from tests.hostile.peers import frame, hostile_ground

async def body():
    async with hostile_ground(Path(sys.argv[1])) as ground:
        goaway = frame(7, bytes(7) + b"\\x0b\\x1b[31mred\\n[/]\\x00\\xff")
        await in_a_call(goaway)(ground, "example.com/goaway")
        for name in ("options-odd-status", "garbage", "http-1", "kubelet-garbage", "options-hang"):
            await CASES[name].attack(ground, f"example.com/{name}")

asyncio.run(body())
gc.collect()
"""


@pytest.mark.parametrize("verbosity, is_silent", [(None, True), ("INFO", False)])
def test_nothing_of_a_plugin_reaches_stderr(short_root: Path, verbosity: str | None, is_silent: bool) -> None:
    """The library would print the text of a GOAWAY as it is, escape sequences and all; only who asks for its log gets it."""
    env = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}
    env |= {"GRPC_VERBOSITY": verbosity} if verbosity else {}
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(short_root)],
        cwd=root,
        env=env,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode(errors="backslashreplace")
    assert (ran.stderr == b"") is is_silent
    assert ran.stdout == b""
