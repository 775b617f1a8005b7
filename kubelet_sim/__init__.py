"""A kubelet's device manager without a cluster, for people who write device plugins.

What this package re-exports is promised to stay; everything below it may move. Importing it loads neither click, rich
nor grpc.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
