"""A device plugin that grants by device nodes and mounts. See README.md beside this file."""
