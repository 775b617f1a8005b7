"""Where a node shows metrics and health, as users write it."""

from __future__ import annotations

import pytest

from kubelet_sim.errors import UsageError
from kubelet_sim.node.services.http_address import HttpAddress


@pytest.mark.parametrize(
    "text, address, is_local",
    [
        ("127.0.0.1:10248", HttpAddress("127.0.0.1", 10248), True),
        ("localhost:0", HttpAddress("127.0.0.1", 0), True),
        (":80", HttpAddress("127.0.0.1", 80), True),
        ("10248", HttpAddress("127.0.0.1", 10248), True),
        ("[::1]:1", HttpAddress("::1", 1), True),
        ("0.0.0.0:1", HttpAddress("0.0.0.0", 1), False),  # noqa: S104 - looked at, not listened on
        ("node.example:1", HttpAddress("node.example", 1), False),
    ],
)
def test_an_address_without_a_host_is_this_machines(text: str, address: HttpAddress, is_local: bool) -> None:
    """Without a host it is this machine, which nobody else reaches."""
    assert HttpAddress.parse(text) == address
    assert address.is_local == is_local
    assert HttpAddress.parse(str(address)) == address


@pytest.mark.parametrize("text", ["", "host", "1.2.3.4:", "h:65536", "h:-1", "h:1x", "::1:1", "h:٣", "h:" + "0" * 5000])
def test_a_text_that_is_no_address_is_refused(text: str) -> None:
    """Rules of writing are told."""
    with pytest.raises(UsageError, match="HOST:PORT"):
        HttpAddress.parse(text)
