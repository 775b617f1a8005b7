"""The names of CDI: `vendor/class=device`, and the kind `vendor/class` of a spec file."""

from __future__ import annotations

import re

from attrs import frozen

from kubelet_sim.errors import KubeletSimError

_VENDOR_OR_CLASS = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_CLASS_WITHOUT_DOTS = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
_DEVICE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")


class BadName(KubeletSimError):
    """A text that is no name of CDI, or no annotation that carries such names."""


@frozen
class QualifiedName:
    """The full name of a device."""

    vendor: str
    device_class: str
    device: str

    def __str__(self) -> str:
        return f"{self.vendor}/{self.device_class}={self.device}"

    @property
    def kind(self) -> str:
        """What a spec file is about."""
        return f"{self.vendor}/{self.device_class}"


def parse_name(text: str, *, dotted_class: bool = True) -> QualifiedName:
    """The parts of a full name.

    Args:
        text: what a plugin sent.
        dotted_class: whether the class may have dots, as it may for CDI from 0.6.0 on; the kubelet's own check of
            1.28–1.31 did not know that.

    Raises:
        BadName: for anything that is no full name; a path is none either.
    """
    qualifier, equals, device = text.partition("=")
    vendor, slash, device_class = qualifier.partition("/")
    if not (equals and slash and vendor and device_class and device):
        raise BadName(f"{text!r} is no CDI name: expected vendor/class=device")
    check_kind(vendor, device_class, dotted_class=dotted_class)
    check_device(device)
    return QualifiedName(vendor, device_class, device)


def check_kind(vendor: str, device_class: str, *, dotted_class: bool = True) -> None:
    """Raises `BadName` unless both parts of a kind are well formed."""
    pattern = _VENDOR_OR_CLASS if dotted_class else _CLASS_WITHOUT_DOTS
    for what, text, wanted in (("vendor", vendor, _VENDOR_OR_CLASS), ("class", device_class, pattern)):
        if not wanted.fullmatch(text):
            letters = "letters, digits, _, -" + (" and ." if wanted is _VENDOR_OR_CLASS else "")
            hint = f"expected {letters}, a letter first, a letter or digit last"
            raise BadName(f"{text!r} is no {what} of CDI: {hint}" if text else f"the {what} is empty")


def check_device(name: str) -> None:
    """Raises `BadName` unless the last part of a name is well formed."""
    if not _DEVICE.fullmatch(name):
        hint = "expected letters, digits, _, -, . and :, a letter or digit at both ends"
        raise BadName(f"{name!r} is no device name of CDI: {hint}" if name else "the device name is empty")
