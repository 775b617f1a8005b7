"""A device plugin that grants by CDI names. See README.md beside this file."""
