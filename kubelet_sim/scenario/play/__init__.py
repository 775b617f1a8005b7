"""Playing stories: the stage that each has, what came of its steps, and reports about it."""

from __future__ import annotations
