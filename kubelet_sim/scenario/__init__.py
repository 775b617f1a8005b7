"""Stories: plugins and steps, told in a file and played against a node over real sockets.

`model` reads a story, `plugin` is a plugin that follows a script, `player` plays, `compare` says whether what came is what
was expected, `report` tells what was wrong. The format is that of the recorded stories, see the documentation of scenarios.
"""

from __future__ import annotations
