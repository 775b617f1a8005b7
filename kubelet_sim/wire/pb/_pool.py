"""The descriptor pool of our messages, and how a generated module gets its classes from it.

A process may hold a second copy of the same messages: a plugin author's tests import their own. protobuf's default pool
refuses the second copy of a name, so that whoever is imported last would break; ours stay out of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal import enum_type_wrapper

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor

POOL = DescriptorPool()


def publish(file: FileDescriptor, module: dict[str, Any]) -> None:
    """Put the classes of a file of our pool into the namespace of its generated module.

    Stands in for protobuf's own builder, which announces every class to the symbol database of the default pool as
    well; in protobuf's pure Python form that alone makes the second copy fail.
    """
    for name, descriptor in file.message_types_by_name.items():
        module[name] = message_factory.GetMessageClass(descriptor)
        module[name].__module__ = module["__name__"]
    for name, service in file.services_by_name.items():
        module["_" + name.upper()] = service
    for name, enum in file.enum_types_by_name.items():
        module["_" + name.upper()] = enum
        module[name] = enum_type_wrapper.EnumTypeWrapper(enum)
        module.update((value.name, value.number) for value in enum.values)
