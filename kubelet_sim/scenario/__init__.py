"""Stories: plugins and steps, told in a file and played against a node over real sockets.

`story` reads a story as values, `steps` has an entry for each step there is, `plugins` the plugins that follow a script or are
commands, `play` plays and says whether what came is what was expected, `record` writes what came into the file. The format is
that of the recorded stories, see the documentation of scenarios.
"""

from __future__ import annotations
