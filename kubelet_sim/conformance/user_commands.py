"""The commands of the user that change a plugin's surroundings: see `kubelet_sim.conformance.config.HOOKS`."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress

from kubelet_sim.errors import KubeletSimError

COMMAND_LIMIT_S = 30.0


class HookFailed(KubeletSimError):
    """A command of the user did not do what it is for."""


def filled_in(command: str, values: Mapping[str, str]) -> str:
    """The command with each `{name}` replaced by its value, quoted for a shell."""
    for name, value in values.items():
        command = command.replace(f"{{{name}}}", shlex.quote(value))
    return command


async def run_user_command(name: str, command: str, values: Mapping[str, str]) -> None:
    """Run a command of the user in a shell, the values in its environment as well.

    Raises:
        HookFailed: it does not end with 0 in time.
    """
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, **{f"KUBELET_SIM_{key.upper()}": value for key, value in values.items()}},
    )
    try:
        async with asyncio.timeout(COMMAND_LIMIT_S):
            said, _ = await process.communicate()
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if isinstance(error, TimeoutError):
            raise HookFailed(f"--{name} did not end within {COMMAND_LIMIT_S:g} s: {command}") from error
        raise
    if process.returncode:
        text = said.decode("utf-8", errors="backslashreplace").strip()[-500:]
        raise HookFailed(f"--{name} ended with {process.returncode}: {command}: {text}")
