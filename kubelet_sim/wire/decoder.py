"""Bytes to messages, with the reason of a failure in the words of the kubelet's protobuf library.

A kubelet tells a string that is not UTF-8 from bytes that are no message at all, and a pod's status shows which. The
Python library says it in some of its versions only, so we look ourselves, after a failure.
"""

from __future__ import annotations

import functools
from typing import TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import DecodeError, Message

M = TypeVar("M", bound=Message)

_BAD_TEXT = "string field contains invalid UTF-8"
_BAD_BYTES = "proto: cannot parse invalid wire-format data"


def parse(message_type: type[M], data: bytes) -> M:
    """Return the message. Raises `ValueError` whose text is the cause in Go's words. Rules: DM-125"""
    try:
        return message_type.FromString(data)
    except (DecodeError, ValueError) as error:  # `ValueError`: the pure Python implementation, for UTF-8
        raise ValueError(_cause(message_type, data)) from error


def _cause(message_type: type[Message], data: bytes) -> str:
    descriptor = message_type.DESCRIPTOR
    twin = _twin_pool(descriptor.file).FindMessageTypeByName(descriptor.full_name)
    try:
        message_factory.GetMessageClass(twin).FromString(data)
    except (DecodeError, ValueError):
        return _BAD_BYTES
    return _BAD_TEXT


@functools.cache
def _twin_pool(file: FileDescriptor) -> descriptor_pool.DescriptorPool:
    """Return a pool with the same messages where every text is plain bytes: they fail only for malformed data."""
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    for message in proto.message_type:
        _texts_to_bytes(message)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    return pool


def _texts_to_bytes(message: descriptor_pb2.DescriptorProto) -> None:
    # A map cannot have keys of bytes; on the wire it is a list of its entries.
    message.options.ClearField("map_entry")
    for field in message.field:
        if field.type == descriptor_pb2.FieldDescriptorProto.TYPE_STRING:
            field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    for nested in message.nested_type:
        _texts_to_bytes(nested)
