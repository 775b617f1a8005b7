from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]


def test_help_needs_neither_grpc_nor_anything_else_heavy() -> None:
    """The help of every command is there before a library is loaded."""
    script = (
        "import sys\n"
        "from kubelet_sim.cli.main import cli\n"
        "found = {name: cli.get_command(None, name) for name in cli.list_commands(None)}\n"
        "inner = [[name, each] for name, group in found.items() for each in getattr(group, 'commands', ())]\n"
        "for names in [[], *([name] for name in found), *inner]:\n"
        "    try:\n"
        "        cli([*names, '--help'])\n"
        "    except SystemExit as end:\n"
        "        assert not end.code\n"
        "print(sorted({'aiohttp', 'grpc', 'google', 'psutil', 'yaml', 'rich', 'attrs', 'asyncio'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_command_loads_none_of_the_others() -> None:
    """Whoever waits for the answer of one command does not wait for the files of thirty."""
    script = (
        "import sys\n"
        "from kubelet_sim.cli.main import COMMANDS, cli\n"
        "try:\n"
        "    cli(['get', '--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "files = {name: 'kubelet_sim.cli.' + name.replace('-', '_') for name in COMMANDS}\n"
        "print([name for name, file in files.items() if file in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout.splitlines()[-1] == "['get']"


def test_the_page_of_the_documentation_is_fresh() -> None:
    """`docs/reference/cli.md` is made from the commands."""
    script = ROOT / "tools" / "generate_cli_page.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
