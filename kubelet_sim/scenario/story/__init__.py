"""Stories as values: read from a file, with their line numbers; told in words; described to editors by a schema."""

from __future__ import annotations
