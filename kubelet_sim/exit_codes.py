"""The exit codes of the command line, which its help and the documentation promise.

`exec` ends with the code of the plugin that it runs.
"""

FINDINGS = 1
"""The command did its work, and what it found is not what was asked for."""
MISUSE = 2
COULD_NOT_RUN = 3
INTERRUPTED = 130
"""As a shell says of a command that Ctrl-C ended."""
UNREAD = 141
"""Nobody read the output to its end: as a shell says of a command that a broken pipe ended."""
