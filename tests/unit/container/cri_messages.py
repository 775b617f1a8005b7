"""The messages of CRI that a container's configuration consists of, made from their field numbers in `runtime.v1`.

In a pool of their own. That they are the real ones is shown in `tests/interop`, with Kubernetes' own package. `KeyValue.value`
is a string here as it was up to 1.35; the bytes of 1.36 are the same on the wire, and crictl reads text either way.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

_PACKAGE = "runtime.v1"
_STRING, _BOOL, _INT64, _UINT32, _UINT64 = "string", "bool", "int64", "uint32", "uint64"
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "ContainerMetadata": {"name": (1, _STRING), "attempt": (2, _UINT32)},
    "ImageSpec": {"image": (1, _STRING), "user_specified_image": (18, _STRING), "runtime_handler": (19, _STRING)},
    "KeyValue": {"key": (1, _STRING), "value": (2, _STRING)},
    "IDMapping": {"host_id": (1, _UINT32), "container_id": (2, _UINT32), "length": (3, _UINT32)},
    "Mount": {
        "container_path": (1, _STRING),
        "host_path": (2, _STRING),
        "readonly": (3, _BOOL),
        "selinux_relabel": (4, _BOOL),
        "propagation": (5, "MountPropagation"),
        "uidMappings": (6, "IDMapping*"),
        "gidMappings": (7, "IDMapping*"),
        "recursive_read_only": (8, _BOOL),
        "image": (9, "ImageSpec"),
        "image_sub_path": (10, _STRING),
    },
    "Device": {"container_path": (1, _STRING), "host_path": (2, _STRING), "permissions": (3, _STRING)},
    "CDIDevice": {"name": (1, _STRING)},
    "Int64Value": {"value": (1, _INT64)},
    "Capability": {
        "add_capabilities": (1, "string*"),
        "drop_capabilities": (2, "string*"),
        "add_ambient_capabilities": (3, "string*"),
    },
    "NamespaceOption": {
        "network": (1, "NamespaceMode"),
        "pid": (2, "NamespaceMode"),
        "ipc": (3, "NamespaceMode"),
        "target_id": (4, _STRING),
        "userns_options": (5, "UserNamespace"),
    },
    "UserNamespace": {"mode": (1, "NamespaceMode"), "uids": (2, "IDMapping*"), "gids": (3, "IDMapping*")},
    "LinuxContainerResources": {
        "cpu_period": (1, _INT64),
        "cpu_quota": (2, _INT64),
        "cpu_shares": (3, _INT64),
        "memory_limit_in_bytes": (4, _INT64),
        "oom_score_adj": (5, _INT64),
        "cpuset_cpus": (6, _STRING),
        "cpuset_mems": (7, _STRING),
    },
    "LinuxContainerSecurityContext": {
        "capabilities": (1, "Capability"),
        "privileged": (2, _BOOL),
        "namespace_options": (3, "NamespaceOption"),
        "run_as_user": (5, "Int64Value"),
        "run_as_username": (6, _STRING),
        "readonly_rootfs": (7, _BOOL),
        "supplemental_groups": (8, "int64*"),
        "no_new_privs": (11, _BOOL),
        "run_as_group": (12, "Int64Value"),
        "masked_paths": (13, "string*"),
        "readonly_paths": (14, "string*"),
    },
    "LinuxContainerConfig": {
        "resources": (1, "LinuxContainerResources"),
        "security_context": (2, "LinuxContainerSecurityContext"),
    },
    "ContainerConfig": {
        "metadata": (1, "ContainerMetadata"),
        "image": (2, "ImageSpec"),
        "command": (3, "string*"),
        "args": (4, "string*"),
        "working_dir": (5, _STRING),
        "envs": (6, "KeyValue*"),
        "mounts": (7, "Mount*"),
        "devices": (8, "Device*"),
        "labels": (9, "map"),
        "annotations": (10, "map"),
        "log_path": (11, _STRING),
        "stdin": (12, _BOOL),
        "stdin_once": (13, _BOOL),
        "tty": (14, _BOOL),
        "linux": (15, "LinuxContainerConfig"),
        "CDI_devices": (17, "CDIDevice*"),
    },
}
_ENUMS = {
    "MountPropagation": ("PROPAGATION_PRIVATE", "PROPAGATION_HOST_TO_CONTAINER", "PROPAGATION_BIDIRECTIONAL"),
    "NamespaceMode": ("POD", "CONTAINER", "NODE", "TARGET"),
}
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    _STRING: _Field.TYPE_STRING,
    _BOOL: _Field.TYPE_BOOL,
    _INT64: _Field.TYPE_INT64,
    _UINT32: _Field.TYPE_UINT32,
    _UINT64: _Field.TYPE_UINT64,
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="cri.proto", package=_PACKAGE, syntax="proto3")
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add(message, field, number, kind)
    return file


def _add(message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind == "map":
        entry = message.nested_type.add(name=f"{name.title()}Entry")
        entry.options.map_entry = True
        for at, half in enumerate(("key", "value"), start=1):
            entry.field.add(name=half, number=at, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
        kind = f"{message.name}.{name.title()}Entry*"
    if kind.endswith("*"):
        field.label = _Field.LABEL_REPEATED
        kind = kind[:-1]
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _Field.TYPE_ENUM if kind in _ENUMS else _Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_file())
_ContainerConfig: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.ContainerConfig"))


def read(document: dict[str, Any]) -> Any:
    """The message of a `ContainerConfig` in JSON. Raises `json_format.ParseError` for anything that is none."""
    return json_format.ParseDict(document, _ContainerConfig())


def on_the_wire(message: bytes) -> Any:
    """The message of a `ContainerConfig` that was sent."""
    return _ContainerConfig.FromString(message)
