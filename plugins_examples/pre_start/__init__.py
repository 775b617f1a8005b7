"""A device plugin that resets its devices before each start. See README.md beside this file."""
