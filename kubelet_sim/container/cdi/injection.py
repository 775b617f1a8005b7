"""Applies the edits of CDI devices to an OCI runtime configuration: kind after kind, in the order of the devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from kubelet_sim.container.cdi.decoder import BadSpec
from kubelet_sim.container.cdi.model import ContainerEdits, HookEdit, MountEdit, NetDeviceEdit, NodeEdit
from kubelet_sim.container.cdi.registry import Definition
from kubelet_sim.container.cdi.validation import NO_PERMISSIONS, check_edits
from kubelet_sim.container.host import FileKind, HostFile, HostFiles
from kubelet_sim.container.paths import depth
from kubelet_sim.errors import ContainerRefused

_IN_CGROUP = ("b", "c")


@frozen
class AppliedEdit:
    """One edit of a CDI spec file that was applied to the configuration."""

    part: str
    """`env`, `mount`, `device`, `hook`, `net device`, `intelRdt` or `additional gid`."""
    key: str
    value: str
    source: str
    """The device's full name, or the kind for what a file asks for any device; with the file's path."""
    replaced: str | None = None
    """What was there before under the same key, if it was something else."""
    host_path: str = ""
    """Of a device node: where the host has it."""


def inject(config: dict[str, Any], definitions: Sequence[Definition], host: HostFiles) -> tuple[AppliedEdit, ...]:
    """Change the configuration as these devices ask for; what a file asks for any device is done once, before its first one.

    Raises:
        ContainerRefused: the edits together are invalid, or a device node cannot be found on the host.
    """
    sources = list(_sources(definitions))
    together = _together([edits for _, edits in sources])
    try:
        check_edits(together)
    except BadSpec as error:
        raise ContainerRefused(f"failed to inject CDI devices: {error}") from error
    editor = _Editor(config, host)
    for apply in (editor.env, editor.nodes, editor.net_devices, editor.mounts, editor.hooks, editor.rdt, editor.gids):
        for source, edits in sources:
            apply(source, edits)
    if together.mounts:
        config["mounts"].sort(key=lambda mount: depth(mount["destination"]))
    return tuple(editor.applied)


def _sources(definitions: Sequence[Definition]) -> Iterator[tuple[str, ContainerEdits]]:
    seen: set[str] = set()
    for each in definitions:
        if each.file.path not in seen:
            seen.add(each.file.path)
            yield f"{each.spec.kind} ({each.file.path})", each.spec.edits
        yield f"{each.spec.kind}={each.device.name} ({each.file.path})", each.device.edits


def _together(edits: Sequence[ContainerEdits]) -> ContainerEdits:
    """One list of each kind; the last intelRdt counts."""
    return ContainerEdits(
        env=tuple(item for each in edits for item in each.env),
        device_nodes=tuple(item for each in edits for item in each.device_nodes),
        net_devices=tuple(item for each in edits for item in each.net_devices),
        hooks=tuple(item for each in edits for item in each.hooks),
        mounts=tuple(item for each in edits for item in each.mounts),
        intel_rdt=next((each.intel_rdt for each in reversed(edits) if each.intel_rdt is not None), None),
    )


@define
class _Editor:
    config: dict[str, Any]
    host: HostFiles
    applied: list[AppliedEdit] = field(factory=list)

    @property
    def process(self) -> dict[str, Any]:
        found: dict[str, Any] = self.config.setdefault("process", {})
        return found

    @property
    def linux(self) -> dict[str, Any]:
        found: dict[str, Any] = self.config.setdefault("linux", {})
        return found

    def env(self, source: str, edits: ContainerEdits) -> None:
        """A variable that is there already changes its value in its place; the last one, if it is there twice."""
        env: list[str] = self.process.setdefault("env", [])
        for variable in edits.env:
            name, _, value = variable.partition("=")
            places = [at for at, other in enumerate(env) if other.partition("=")[0] == name]
            before = None
            if places:
                before, env[places[-1]] = env[places[-1]].partition("=")[2], variable
            else:
                env.append(variable)
            self._note("env", name, value, source, before)

    def nodes(self, source: str, edits: ContainerEdits) -> None:
        """A device node takes the place of one with the same path."""
        devices: list[dict[str, Any]] = self.linux.setdefault("devices", [])
        for edit in edits.device_nodes:
            node = self._completed(edit)
            device = _device(node, self.process.get("user", {}))
            same = [at for at, other in enumerate(devices) if other["path"] == node.path]
            before = None
            if same:
                before = _numbers(devices.pop(same[0]))
            devices.append(device)
            self._note("device", node.path, _numbers(device), source, before)
            self.applied[-1] = evolve(self.applied[-1], host_path=node.host_path or node.path)
            if node.type in _IN_CGROUP:
                self._allow(node, edit.permissions)

    def _allow(self, node: NodeEdit, permissions: str) -> None:
        access = {"": "rwm", NO_PERMISSIONS: ""}.get(permissions, permissions)
        rule = {"allow": True, "type": node.type, "major": node.major, "minor": node.minor, "access": access}
        self.linux.setdefault("resources", {}).setdefault("devices", []).append(rule)

    def net_devices(self, source: str, edits: ContainerEdits) -> None:
        """By the name on the host."""
        for edit in edits.net_devices:
            self._set_net_device(source, edit)

    def _set_net_device(self, source: str, edit: NetDeviceEdit) -> None:
        self.linux.setdefault("netDevices", {})[edit.host_interface_name] = {"name": edit.name}
        self._note("net device", edit.host_interface_name, edit.name, source)

    def mounts(self, source: str, edits: ContainerEdits) -> None:
        """A mount takes the place of one with the same destination."""
        mounts: list[dict[str, Any]] = self.config.setdefault("mounts", [])
        for edit in edits.mounts:
            same = [at for at, other in enumerate(mounts) if other["destination"] == edit.container_path]
            before = mounts.pop(same[0]).get("source") if same else None
            mounts.append(_mount(edit, is_mapped=_has_id_mappings(self.config)))
            self._note("mount", edit.container_path, edit.host_path, source, before)

    def hooks(self, source: str, edits: ContainerEdits) -> None:
        """Adds the hooks behind those that are there."""
        for edit in edits.hooks:
            self.config.setdefault("hooks", {}).setdefault(edit.hook_name, []).append(_hook(edit))
            self._note("hook", edit.hook_name, " ".join((edit.path, *edit.args[1:])), source)

    def rdt(self, source: str, edits: ContainerEdits) -> None:
        """Sets the class of cache and memory bandwidth; of several devices the last one counts."""
        rdt = edits.intel_rdt
        if rdt is None:
            return
        fields = {
            "closID": rdt.clos_id,
            "l3CacheSchema": rdt.l3_cache_schema,
            "memBwSchema": rdt.mem_bw_schema,
            "schemata": list(rdt.schemata or ()),
            "enableMonitoring": rdt.enable_monitoring,
        }
        before = self.linux.get("intelRdt")
        self.linux["intelRdt"] = {name: value for name, value in fields.items() if value}
        self._note("intelRdt", "intelRdt", str(self.linux["intelRdt"]), source, None if before is None else str(before))

    def gids(self, source: str, edits: ContainerEdits) -> None:
        """Adds group ids to the process's, each once; 0 is ignored."""
        user = self.process.setdefault("user", {"uid": 0, "gid": 0})
        for gid in edits.additional_gids:
            if gid and gid not in user.setdefault("additionalGids", []):
                user["additionalGids"].append(gid)
                self._note("additional gid", str(gid), "", source)

    def _completed(self, node: NodeEdit) -> NodeEdit:
        """The node with what the file leaves to the host. Raises `ContainerRefused`."""
        path = node.host_path or node.path
        is_enough = bool(node.type) and (node.major != 0 or node.type == "p")
        try:
            found = self.host.look(path)
            problem = "no such file or directory" if found is None else "not a device node"
        except OSError as error:
            found, problem = None, error.strerror or str(error)
        if found is None or not found.kind.is_device:
            if is_enough:
                return node
            raise ContainerRefused(f"failed to stat CDI host device {path!r}: {problem}")
        return self._filled(node, found, path, is_enough=is_enough)

    def _filled(self, node: NodeEdit, found: HostFile, path: str, *, is_enough: bool) -> NodeEdit:
        if node.file_mode is None:
            node = evolve(node, file_mode=found.mode)
        if is_enough:
            return node
        kind = found.kind.value
        if node.type and node.type != kind:
            raise ContainerRefused(f"CDI device ({node.path!r}, {path!r}), host type mismatch ({node.type}, {kind})")
        node = evolve(node, type=kind)
        if found.kind is not FileKind.FIFO and node.major == 0:
            node = evolve(node, major=found.major, minor=found.minor)
        return node

    def _note(self, part: str, key: str, value: str, source: str, before: str | None = None) -> None:
        self.applied.append(AppliedEdit(part, key, value, source, None if before == value else before))


def _device(node: NodeEdit, user: dict[str, Any]) -> dict[str, Any]:
    device: dict[str, Any] = {"path": node.path, "type": node.type}
    if node.type != "p":
        device |= {"major": node.major, "minor": node.minor}
    uid = node.uid if node.uid is not None else user.get("uid") or None
    gid = node.gid if node.gid is not None else user.get("gid") or None
    optional = {"fileMode": node.file_mode, "uid": uid, "gid": gid}
    return device | {name: value for name, value in optional.items() if value is not None}


def _numbers(device: dict[str, Any]) -> str:
    return f"{device['type']} {device.get('major', 0)}:{device.get('minor', 0)}"


def _has_id_mappings(config: dict[str, Any]) -> bool:
    linux = config.get("linux", {})
    has_namespace = any(each["type"] == "user" for each in linux.get("namespaces", ()))
    return has_namespace and bool(linux.get("uidMappings")) and bool(linux.get("gidMappings"))


def _mount(edit: MountEdit, *, is_mapped: bool) -> dict[str, Any]:
    """In a user namespace a bind mount is an id-mapped one, unless the file says so itself."""
    options = list(edit.options)
    if is_mapped and not {"idmap", "ridmap"} & set(options):
        bound = [each for each in options if each in ("bind", "rbind")]
        if bound or edit.type == "bind":
            options.append("ridmap" if bound and bound[-1] == "rbind" else "idmap")
    optional: dict[str, Any] = {"type": edit.type, "options": options}
    filled = {name: value for name, value in optional.items() if value}
    return {"destination": edit.container_path, "source": edit.host_path, **filled}


def _hook(edit: HookEdit) -> dict[str, Any]:
    optional: dict[str, Any] = {"args": list(edit.args), "env": list(edit.env), "timeout": edit.timeout}
    return {"path": edit.path, **{name: value for name, value in optional.items() if value}}
