"""Where a node shows metrics and health over HTTP, as users write it."""

from __future__ import annotations

from ipaddress import ip_address

from attrs import frozen

from kubelet_sim.errors import UsageError

LAST_PORT = 65_535
LOCAL_HOST = "127.0.0.1"


@frozen
class HttpAddress:
    """A host and a port of TCP on which a node shows metrics and health."""

    host: str = LOCAL_HOST
    port: int = 0
    """0: any that is free."""

    @classmethod
    def parse(cls, text: str) -> HttpAddress:
        """`HOST:PORT`, `[IPV6]:PORT`, or `PORT` alone, which is that of this machine only.

        Raises:
            UsageError: it is none of these.
        """
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
        is_port = port.isascii() and port.isdecimal() and len(port) <= len(str(LAST_PORT)) and int(port) <= LAST_PORT
        if not is_port or (":" in host and not text.startswith("[")):
            raise UsageError(f"{text!r} is no address to listen on; write HOST:PORT, such as {LOCAL_HOST}:10248")
        return cls(LOCAL_HOST if host in ("", "localhost") else host, int(port))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
