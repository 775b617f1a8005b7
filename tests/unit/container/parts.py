"""What tests of the room `container` are made of: a host of any files, pods, shares of plugins, the schemas."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from attrs import evolve
from referencing import Registry as Schemas
from referencing import Resource

from kubelet_sim.container.host import FileKind, HostFile
from kubelet_sim.manifests import pod_from_mapping
from kubelet_sim.model.pod import Pod
from kubelet_sim.model.response import ContainerSpec, DeviceNode, Mount, Provenance

GPU, NIC = "example.com/gpu", "example.com/nic"
UID = "0a1b2c3d-0000-4000-8000-0123456789ab"
NULL = HostFile(FileKind.CHARACTER, 1, 3, 0o666)
FUSE = HostFile(FileKind.CHARACTER, 10, 229, 0o600, 7, 8)
LOOP = HostFile(FileKind.BLOCK, 7, 0, 0o660, 0, 6)
FIFO = HostFile(FileKind.FIFO, mode=0o644)
FOLDER = HostFile(FileKind.DIRECTORY, mode=0o755)
FILE = HostFile(FileKind.FILE)


class FakeHost:
    """A host with these files: what lies at a path, a text, or the path that a link leads to (after `->`)."""

    def __init__(self, files: Mapping[str, HostFile | str] | None = None, *, refuses: str = "") -> None:
        self.files = dict(files or {})
        self.refuses = refuses

    def look(self, path: str) -> HostFile | None:
        found = self.files.get(path)
        if isinstance(found, str):
            return HostFile(FileKind.LINK) if found.startswith("->") else FILE
        if found is None and path and any(each.startswith(f"{path}/") for each in self.files):
            return FOLDER
        return found

    def resolved(self, path: str) -> str | None:
        found = self.files.get(path)
        if isinstance(found, str) and found.startswith("->"):
            return self.resolved(found[2:])
        return path if self.look(path) else None

    def entries(self, directory: str) -> tuple[str, ...] | None:
        if directory == self.refuses:
            raise PermissionError(13, "Permission denied", directory)
        below = {
            posixpath.relpath(each, directory).split("/")[0] for each in self.files if each.startswith(f"{directory}/")
        }
        return tuple(sorted(below)) if below else None

    def text(self, path: str) -> str:
        found = self.files[path]
        assert isinstance(found, str)
        return found


HOST = FakeHost({"/dev/null": NULL, "/dev/fuse": FUSE, "/dev/loop0": LOOP, "/etc/hosts": FILE, "/srv": FOLDER})


def pod(container: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None, **spec: Any) -> Pod:
    """A pod with one container, `main`."""
    return pod_from_mapping(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "uid": UID, **(metadata or {})},
            "spec": {"containers": [{"name": "main", "image": "busybox", **(container or {})}], **spec},
        }
    )


def share(resource: str = GPU, **parts: Any) -> ContainerSpec:
    """What one resource grants. `envs` and `annotations` are mappings."""
    spec = ContainerSpec(
        envs=tuple(parts.get("envs", {}).items()),
        mounts=tuple(Mount(*each) for each in parts.get("mounts", ())),
        devices=tuple(DeviceNode(*each) for each in parts.get("devices", ())),
        annotations=tuple(parts.get("annotations", {}).items()),
        cdi_devices=tuple(parts.get("cdi", ())),
    )
    names = ("envs", "mounts", "devices", "annotations", "cdi_devices")
    sources: dict[str, Any] = {name: (resource,) * len(getattr(spec, name)) for name in names}
    return evolve(spec, provenance=evolve(Provenance(), **sources))


@cache
def _validator(folder: str, name: str) -> jsonschema.Draft202012Validator:
    base = Path(__file__).parent / "schemas" / folder
    documents = {path.name: json.loads(path.read_text()) for path in base.glob("*.json")}
    for each in documents.values():
        each.setdefault("$schema", "http://json-schema.org/draft-07/schema#")
    schemas: Schemas[Any] = Schemas().with_resources(
        (name, Resource.from_contents(document)) for name, document in documents.items()
    )
    document = documents[name]
    validator: Any = jsonschema.validators.validator_for(document)(document, registry=schemas)
    found: jsonschema.Draft202012Validator = validator
    return found


def check_oci(config: Mapping[str, Any]) -> None:
    """Raises for a `config.json` that is not what the OCI runtime specification allows."""
    _validator("oci", "config-schema.json").validate(config)


def check_cdi(document: Mapping[str, Any]) -> None:
    """Raises for a spec file that the schema of CDI 1.1.0 does not allow."""
    _validator("cdi", "schema.json").validate(document)
