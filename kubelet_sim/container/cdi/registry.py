"""Which spec file counts for a name: directories in order of precedence, the later the higher.

The same name in two directories is the higher one's. The same name twice in one directory is a conflict, and then nobody
has it: not even a higher directory mends that, as in the reference library.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from attrs import frozen

from kubelet_sim.container.cdi.decoder import BadSpec, decode
from kubelet_sim.container.cdi.model import CdiDevice, CdiSpec
from kubelet_sim.container.cdi.validation import validate
from kubelet_sim.container.host import FileKind, HostFiles
from kubelet_sim.errors import ContainerRefused

DEFAULT_DIRECTORIES = ("/etc/cdi", "/var/run/cdi")
"""For what is installed, and over it for what programs generate."""
_SUFFIXES = (".json", ".yaml")


@frozen
class SpecFile:
    """A spec file that was read, or could not be used."""

    path: str
    priority: int
    """The place of its directory in the order."""
    spec: CdiSpec | None
    problem: str = ""
    """Why it is not used; empty if it is."""


@frozen
class Definition:
    """A device, and the file that defines it."""

    file: SpecFile
    spec: CdiSpec
    device: CdiDevice


@frozen
class Registry:
    """All spec files of some directories, and what they define."""

    directories: tuple[str, ...] = ()
    files: tuple[SpecFile, ...] = ()
    """In order of reading: directories as given, names sorted."""
    devices: Mapping[str, Definition] = MappingProxyType({})
    conflicts: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Names that nobody has because of the paths of these files, sorted."""
    shadowed: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The files in lower directories whose definition of a name does not count."""
    problems: tuple[str, ...] = ()
    """Directories that could not be read; those after them were not looked at."""

    def find(self, names: Sequence[str]) -> tuple[Definition, ...]:
        """The definition of each name. Raises `CdiUnresolved` for those that have none, all at once."""
        missing = [name for name in names if name not in self.devices]
        if missing:
            raise CdiUnresolved(missing, self)
        return tuple(self.devices[name] for name in names)


NO_CDI = Registry()
"""Nobody defines anything."""


class CdiUnresolved(ContainerRefused):
    """Names that no spec file defines; a runtime does not create the container."""

    def __init__(self, names: Sequence[str], registry: Registry) -> None:
        self.names = tuple(names)
        self.registry = registry
        told = "; ".join(_told(name, registry) for name in names)
        super().__init__(f"unresolvable CDI devices {', '.join(names)}: {told}. {_what_was_read(registry)}")


def read_registry(host: HostFiles, directories: Sequence[str] = DEFAULT_DIRECTORIES) -> Registry:
    """All that the directories hold. A file that cannot be used is kept with its problem, and the others count."""
    files: list[SpecFile] = []
    problems: list[str] = []
    for priority, directory in enumerate(directories):
        try:
            names = host.entries(directory)
        except OSError as error:
            problems.append(f"{directory}: {error.strerror or error}")
            break
        for name in names or ():
            path = posixpath.join(directory, name)
            if name.endswith(_SUFFIXES) and not _is_directory(host, path):
                files.append(_read(host, path, priority))
    return _resolved(tuple(directories), tuple(files), tuple(problems))


def _is_directory(host: HostFiles, path: str) -> bool:
    found = host.look(path)
    return found is not None and found.kind is FileKind.DIRECTORY


def _read(host: HostFiles, path: str, priority: int) -> SpecFile:
    try:
        spec = decode(host.text(path))
        validate(spec)
    except OSError as error:
        return SpecFile(path, priority, None, error.strerror or str(error))
    except (BadSpec, ValueError) as error:
        return SpecFile(path, priority, None, str(error))
    return SpecFile(path, priority, spec)


def _resolved(directories: tuple[str, ...], files: tuple[SpecFile, ...], problems: tuple[str, ...]) -> Registry:
    devices: dict[str, Definition] = {}
    conflicts: dict[str, set[str]] = {}
    shadowed: dict[str, list[str]] = {}
    for file in files:
        if file.spec is None:
            continue
        for device in file.spec.devices:
            name = f"{file.spec.kind}={device.name}"
            other = devices.get(name)
            if other is not None and other.file.priority == file.priority:
                conflicts.setdefault(name, set()).update((other.file.path, file.path))
                continue
            if other is not None:
                shadowed.setdefault(name, []).append(other.file.path)
            devices[name] = Definition(file, file.spec, device)
    for name in conflicts:
        del devices[name]
    return Registry(
        directories,
        files,
        MappingProxyType(devices),
        MappingProxyType({name: tuple(sorted(paths)) for name, paths in conflicts.items()}),
        MappingProxyType({name: tuple(paths) for name, paths in shadowed.items()}),
        problems,
    )


def _told(name: str, registry: Registry) -> str:
    if name in registry.conflicts:
        return f"{name} is in {' and '.join(registry.conflicts[name])}, and so in neither"
    kind = name.partition("=")[0]
    there = sorted(each for each in registry.devices if each.partition("=")[0] == kind)
    if there:
        return f"{name} is not among the devices of its kind ({', '.join(there[:10])}{', …' if there[10:] else ''})"
    return f"no file defines the kind {kind}"


def _what_was_read(registry: Registry) -> str:
    used = [file.path for file in registry.files if not file.problem]
    failed = [f"{file.path}: {file.problem}" for file in registry.files if file.problem]
    told = f"Read: {', '.join(used) or 'no file'} (of {', '.join(registry.directories) or 'no directory'})"
    if failed:
        told += f". Not used: {'; '.join(failed)}"
    if registry.problems:
        told += f". Not readable: {'; '.join(registry.problems)}"
    return told
