"""How long a test waits for what has to happen.

Such a wait is there to end a hang and no part of any behaviour: a test that passes never comes to its end, however busy the
machine is. What is part of a behaviour runs on a node's manual clock, or is a number of its own beside the test.
"""

from __future__ import annotations

PATIENCE_S = 240.0
"""Long enough beside eight busy loops, and shorter than pytest's limit for a test, so that the wait says what did not come."""
