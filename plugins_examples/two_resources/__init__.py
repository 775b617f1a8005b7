"""A device plugin with several resources in one process. See README.md beside this file."""
