"""The steps that a story can have."""

from __future__ import annotations
