"""What the name of a resource says about it, and what a DNS name is. Pure text; which resources a node has is not asked here."""

from __future__ import annotations

import re

_QUOTA_PREFIX = "requests."
"""A quota may name any extended resource with this prefix, so the prefixed name has to be valid as well."""
_NATIVE_DOMAIN = "kubernetes.io/"
_DOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
LONGEST_DOMAIN = 253
_LONGEST_NAME = 63


def is_extended_resource_name(name: str) -> bool:
    """Whether a device plugin may register this name, and a pod may ask for it as a countable thing.

    Rules: DM-24
    """
    if is_native_resource_name(name) or name.startswith(_QUOTA_PREFIX):
        return False
    return is_qualified_name(_QUOTA_PREFIX + name)


def is_native_resource_name(name: str) -> bool:
    """Whether the name belongs to Kubernetes itself; `kubernetes.io/` counts wherever it stands.

    Rules: DM-24
    """
    return "/" not in name or _NATIVE_DOMAIN in name


def is_qualified_name(name: str) -> bool:
    """Whether the text is a name of up to 63 characters, after a DNS domain and `/` or on its own.

    Rules: DM-24
    """
    domain, slash, rest = name.rpartition("/")
    if slash and not is_dns_subdomain(domain):
        return False
    return len(rest) <= _LONGEST_NAME and _NAME.fullmatch(rest) is not None


def is_dns_subdomain(name: str) -> bool:
    """Whether the text is a name that DNS can have, as pods and nodes need it: labels with dots in between."""
    return len(name) <= LONGEST_DOMAIN and _DOMAIN.fullmatch(name) is not None
