"""The faults, one module for each group of checks; to import this is to have all of them in `FAULTS`."""

from __future__ import annotations

from plugins_examples.faulty.faults import listing, names, options, registration
from plugins_examples.faulty.faults.table import FAULTS, Fault, fault

__all__ = ["FAULTS", "Fault", "fault", "listing", "names", "options", "registration"]
