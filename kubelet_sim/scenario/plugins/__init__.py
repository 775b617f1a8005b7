"""The plugins of a story: those that follow a script, those that were recorded, and those that are commands."""

from __future__ import annotations
