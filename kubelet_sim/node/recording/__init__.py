"""The transcript as a file: everything that the core was told and what it answered, in JSON lines, and its replay."""
