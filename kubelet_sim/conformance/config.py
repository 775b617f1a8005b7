"""What a run of the suite is to be: one object for the command line, the fixtures and the library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from attrs import field, frozen

from kubelet_sim.errors import UsageError

HOOKS = ("break", "mend", "add", "remove", "no-hardware", "monitor-down")
"""The commands of the user that do something to a plugin's surroundings; each is an option of the command line."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Mode(Enum):
    """How long is waited for what should not happen, and what is checked."""

    DEFAULT = "default"
    """Everything, with windows of 5 s."""
    QUICK = "quick"
    """Errors that can be seen from outside at once, with windows of 1 s."""
    FULL = "full"
    """Everything, for as long as the table of checks says."""


_MOUNT = re.compile(r"\{(dir|socket)\}[^:,\s]*:/|\b(src|source)=\{(dir|socket)\}")
"""What a container engine mounts: `-v {dir}:/var/lib/kubelet/device-plugins`, `--mount type=bind,source={dir},target=…`."""
_WINDOWS_S = {Mode.DEFAULT: 5.0, Mode.QUICK: 1.0}


class Isolation(Enum):
    """Whether the plugin finds the node at `/var/lib/kubelet`, in a mount namespace of its own."""

    AUTO = "auto"
    """Where the machine allows it; a plugin that is told the directory may do without."""
    NAMESPACE = "namespace"
    NONE = "none"


@frozen
class SuiteConfig:
    """The choices. `command`, `start`, `attach` or `consumer` says what is tested."""

    # What is tested
    command: tuple[str, ...] = ()
    """The plugin's; `{dir}` is the device-plugin directory, `{socket}` the kubelet's socket in it."""
    start: Callable[[Path], AbstractContextManager[object]] | None = None
    """A plugin in this process: given the device-plugin directory, it serves there for as long as it is entered."""
    attach: Path | None = None
    """A root directory that is served instead; a plugin that runs already registers there by itself."""
    env: Mapping[str, str] = field(default=_NOTHING, hash=False)
    """Added to ours; with the same placeholders."""
    cwd: Path | None = None
    start_timeout_s: float = 30.0
    """How long the plugin may take from its start to its first list."""
    isolate: Isolation = Isolation.AUTO
    expected_resources: tuple[str, ...] = ()
    """Resources that it has to register, even if it does not."""
    hooks: Mapping[str, str] = field(default=_NOTHING, hash=False)
    """Shell commands by the names in `HOOKS`; `{id}`, `{resource}` and `{dir}` are put in, quoted."""
    host_paths: Mapping[str, tuple[str, ...]] = field(default=MappingProxyType({}), hash=False)
    """Which host paths a device id stands for."""
    shared_nodes: tuple[str, ...] = ()
    """Device nodes that several devices share on purpose."""
    host_root: Path = Path("/")
    """Where host paths are looked for."""
    cdi_dirs: tuple[Path, ...] = (Path("/etc/cdi"), Path("/var/run/cdi"))
    numa_nodes: tuple[int, ...] = ()
    """The machine's; empty: those of this machine."""
    most_devices: int | None = None
    """How many devices the plugin is made for."""
    consumer: tuple[str, ...] = ()
    """A command that reads the pod resources API."""

    # Against what, and how
    kubelet_versions: tuple[str, ...] = ("1.36",)
    """One run for each, one after the other."""
    mode: Mode = Mode.DEFAULT
    is_strict: bool = False
    """Whether warnings count as failures."""
    is_beyond: bool = False
    """Whether what no kubelet does is tried as well."""
    select: tuple[str, ...] = ()
    """Checks by id, group, level or pattern; empty: all."""
    skip: tuple[str, ...] = ()
    known_failures: Path | None = None
    fail_fast: bool = False
    rerun_failed: bool = False
    seed: int | None = None
    """`None`: any; the report says which."""
    is_shuffled: bool = False
    """Whether the checks of a stage come in any order."""
    jobs: int | None = None
    """How many instances of the plugin may run side by side; `None`: several, if it turns out that they can."""

    patience: float = 1.0
    """Which part of its time is given to what should happen; less is for tests of the suite itself."""

    def window_s(self, table_s: float) -> float:
        """How long something is waited for that should not happen, where the table of checks says `table_s`."""
        return min(_WINDOWS_S.get(self.mode, table_s), table_s)

    @property
    def tells_directory(self) -> bool:
        """Whether the plugin itself is told where the kubelet's directory is, not only a container engine that mounts it."""
        words = [*self.command, *self.env.values()]
        return any(place in _MOUNT.sub("", each) for each in words for place in ("{dir}", "{socket}"))

    def check(self) -> None:
        """Raises `UsageError` for choices that do not go together."""
        given = [name for name in ("command", "start", "attach", "consumer") if getattr(self, name)]
        if not given:
            raise UsageError("there is nothing to test: give a command behind --, or --attach")
        if len(given) > 1 and "consumer" not in given:
            raise UsageError("a plugin is started from a command, in this process, or attached to: one of them")
        if unknown := [name for name in self.hooks if name not in HOOKS]:
            raise UsageError(f"there is no hook {unknown[0]!r}; there are: {', '.join(HOOKS)}")
        if not self.kubelet_versions:
            raise UsageError("there is no kubelet version to test against")
