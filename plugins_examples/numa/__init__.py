"""A device plugin that knows its devices' NUMA nodes. See README.md beside this file."""
