"""The gRPC library, imported such that it keeps its own log to itself: import it from here.

That log goes to stderr, past Python, and holds what peers sent, escape sequences included: the text of a GOAWAY is
enough. What matters of it reaches us as the status of a call. `GRPC_VERBOSITY` in the environment, or an earlier import of
the library by somebody else, keeps the log as it is.
"""

from __future__ import annotations

import os
import sys

__all__ = ["grpc"]

_VERBOSITY = "GRPC_VERBOSITY"

if _VERBOSITY in os.environ or "grpc" in sys.modules:
    import grpc
else:
    # Read once, by the import. Plugins that we start later inherit our environment, and their log is none of our business.
    os.environ[_VERBOSITY] = "NONE"
    try:
        import grpc
    finally:
        del os.environ[_VERBOSITY]
