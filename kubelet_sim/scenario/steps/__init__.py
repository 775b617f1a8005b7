"""The steps that a story can have, each an entry of its own in the module of its subject; `registry` knows them all."""

from __future__ import annotations
