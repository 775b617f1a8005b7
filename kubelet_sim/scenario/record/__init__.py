"""Recording stories: what came in a play is written into their file as what is expected."""

from __future__ import annotations
